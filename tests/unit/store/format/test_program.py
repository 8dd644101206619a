"""Records of programs as files."""

from __future__ import annotations

import json
from importlib import resources

import jsonschema
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
    ReportRecord,
    read_program,
)

TEXT = st.text(max_size=8)
NUMBERS = st.dictionaries(st.text(max_size=8), st.booleans() | st.integers() | st.text(max_size=8), max_size=3)
LAYER = st.builds(LayerRecord, name=TEXT, type=TEXT, activation=st.none() | TEXT, units=st.none() | st.integers(0))
SIZE = st.none() | st.integers(0)
LAYERS = st.lists(LAYER, max_size=3).map(tuple)
LOSSES = st.lists(st.builds(LossRecord, name=TEXT, type=TEXT, arguments=NUMBERS, tail=LAYERS), max_size=2).map(tuple)
OPTIMIZERS = st.lists(st.builds(OptimizerRecord, type=TEXT, numbers=NUMBERS), max_size=2).map(tuple)
REPORTS = st.builds(
    ReportRecord, function=TEXT, num_samples=st.integers(0), num_right=st.integers(0),
    num_expected=st.floats(0, 1e9), num_moved=st.integers(0), deviation=st.floats(0, 1e9),
    shares=st.lists(st.floats(0, 1), max_size=3).map(tuple),
)  # fmt: skip
RECORDS = st.builds(
    ProgramRecord, framework=TEXT, layers=LAYERS, losses=LOSSES, optimizers=OPTIMIZERS, parameters=NUMBERS,
    input_dtypes=st.lists(TEXT, max_size=2).map(tuple), num_samples=SIZE, num_workers=SIZE,
    reports=st.lists(REPORTS, max_size=2).map(tuple),
)  # fmt: skip


def test_loss_when_it_is_a_layer_then_goes_by_its_class_where_that_is_the_only_one():
    """A loss that the model holds has its name there, and that of its class among the losses."""
    layers = (LayerRecord(name="criterion", type="MSELoss"), LayerRecord(name="other", type="L1Loss"))
    loss, further = LossRecord(name="MSELoss", type="MSELoss"), LossRecord(name="MSELoss_1", type="MSELoss")
    program = ProgramRecord(framework="PyTorch", layers=layers, losses=(loss,))
    assert program.loss("MSELoss") is program.loss("criterion") is loss
    assert program.loss("other") is program.loss("missing") is None
    two = ProgramRecord(framework="PyTorch", layers=layers, losses=(loss, further))
    assert (two.loss("MSELoss_1"), two.loss("criterion")) == (further, None)
    auxiliary = LayerRecord(name="auxiliary", type="MSELoss")
    assert ProgramRecord(framework="PyTorch", layers=(*layers, auxiliary), losses=(loss,)).loss("criterion") is None


@given(RECORDS)
def test_record_when_written_and_read_then_is_equal(record):
    """Text and record are inverse to each other."""
    assert ProgramRecord.from_json(record.to_json(), "here") == record


SCHEMA = json.loads(resources.files("sagemaker_debug_ext.store.format").joinpath("program.schema.json").read_text())


@given(RECORDS)
def test_record_when_written_then_fits_the_schema(record):
    """The schema that ships describes every record, with all its fields."""
    content = json.loads(record.to_json())
    jsonschema.validate(content, SCHEMA, jsonschema.Draft202012Validator)
    assert set(content) == set(SCHEMA["properties"])


@pytest.mark.parametrize("change", [{"version": 2}, {"layers": [{"name": 1}]}, {"num_samples": -1}, {"losses": None}])
def test_record_when_a_field_is_wrong_then_the_schema_refuses_it(change):
    """Types, required fields and bounds."""
    content = json.loads(ProgramRecord(framework="Keras").to_json()) | change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, SCHEMA, jsonschema.Draft202012Validator)


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
