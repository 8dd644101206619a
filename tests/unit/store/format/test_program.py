"""Records of programs as files."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.format.keys import program_key
from sagemaker_debug_ext.store.format.program import (
    LayerRecord,
    LossRecord,
    OptimizerRecord,
    ProgramRecord,
    read_program,
)

TEXT = st.text(max_size=8)
NUMBERS = st.dictionaries(st.text(max_size=8), st.booleans() | st.integers() | st.text(max_size=8), max_size=3)
LAYER = st.builds(LayerRecord, name=TEXT, type=TEXT, activation=st.none() | TEXT, units=st.none() | st.integers())
LAYERS = st.lists(LAYER, max_size=3).map(tuple)
LOSSES = st.lists(st.builds(LossRecord, name=TEXT, type=TEXT, arguments=NUMBERS, tail=LAYERS), max_size=2).map(tuple)
OPTIMIZERS = st.lists(st.builds(OptimizerRecord, type=TEXT, numbers=NUMBERS), max_size=2).map(tuple)
RECORDS = st.builds(
    ProgramRecord, framework=TEXT, layers=LAYERS, losses=LOSSES, optimizers=OPTIMIZERS, parameters=NUMBERS
)


@given(RECORDS)
def test_record_when_written_and_read_then_is_equal(record):
    """Text and record are inverse to each other."""
    assert ProgramRecord.from_json(record.to_json(), "here") == record


def test_record_when_it_has_unknown_fields_then_they_are_ignored():
    """A later version may add fields."""
    content = json.loads(ProgramRecord(framework="Keras").to_json()) | {"later": 1}
    assert ProgramRecord.from_json(json.dumps(content), "here") == ProgramRecord(framework="Keras")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"framework": "Keras", "layers": 1}', "\x00"])
def test_record_when_damaged_then_the_error_names_the_file(text):
    """A torn file is described."""
    with pytest.raises(SMDebugValueError, match=r"^there: not a program record"):
        ProgramRecord.from_json(text, "there")


def test_record_when_there_is_none_then_is_none(tmp_path):
    """Trials of `smdebug` have no record."""
    backend = open_backend(tmp_path)
    assert read_program(backend) is None
    backend.write(program_key("worker_0"), (ProgramRecord(framework="PyTorch").to_json().encode(),))
    assert read_program(backend) == ProgramRecord(framework="PyTorch")
