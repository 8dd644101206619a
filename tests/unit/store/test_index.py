"""Index files: the text of the format, its inverse, and damaged or foreign files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import IndexReaderException
from sagemaker_debug_ext.store.index import IndexFile, Location, SavedShape
from sagemaker_debug_ext.testing import strategies
from sagemaker_debug_ext.vocabulary import ModeKeys

EVENT_FILE = "events/000000002999/000000002999_worker_3.tfevents"

index_files = st.builds(
    IndexFile,
    mode=strategies.modes,
    mode_step=strategies.steps,
    event_file=st.just(EVENT_FILE),
    tensors=st.dictionaries(
        strategies.tensor_names, st.builds(Location, st.integers(0, 2**40), st.integers(16, 2**40)), max_size=5
    ),
    shapes=st.dictionaries(
        strategies.tensor_names,
        st.builds(SavedShape, st.lists(st.integers(0, 9), max_size=4).map(tuple), strategies.tensor_names),
        max_size=3,
    ),
)


def test_text_is_that_of_the_format():
    """Keys come in the order of the format, with Python's default separators."""
    index = IndexFile(ModeKeys.EVAL, 7, None, {}, {"a/b:0": SavedShape((3, 4), "orig:0")})
    assert index.to_json() == (
        '{"meta": {"mode": "EVAL", "mode_step": 7}, "tensor_payload": [], '
        '"shape_payload": [{"tensorname": "a/b:0", "originalname": "orig:0", "shape": [3, 4]}]}'
    )


@given(index_files)
def test_from_json_is_the_inverse_of_to_json(index):
    """What is written is read back."""
    assert IndexFile.from_json(index.to_json(), "here") == index


def test_from_json_accepts_what_older_writers_left_out():
    """A missing shape_payload, unknown keys and blanks around the mode are fine; of equal names the last one counts."""
    content = {
        "meta": {"mode": " TRAIN ", "mode_step": 3, "event_file_name": EVENT_FILE, "new": 1},
        "tensor_payload": [
            {"tensorname": "x", "start_idx": 0, "length": 20},
            {"tensorname": "x", "start_idx": 20, "length": 30, "new": 1},
        ],
        "new": {},
    }
    index = IndexFile.from_json(json.dumps(content), "here")
    assert index.mode is ModeKeys.TRAIN
    assert index.tensors == {"x": Location(20, 30)}
    assert index.shapes == {}


META = {"mode": "TRAIN", "mode_step": 0, "event_file_name": EVENT_FILE}
ENTRY = {"tensorname": "x", "start_idx": 0, "length": 20}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"meta": {}}',
        "[" * 100_000,
        {"tensor_payload": []},
        {"meta": META},
        {"meta": {}, "tensor_payload": []},
        {"meta": {**META, "mode": "TEST"}, "tensor_payload": []},
        {"meta": {**META, "mode_step": "x"}, "tensor_payload": []},
        {"meta": META, "tensor_payload": [{**ENTRY, "start_idx": -1}]},
        {"meta": META, "tensor_payload": [{**ENTRY, "length": 1.5}]},
        {"meta": META, "tensor_payload": [{**ENTRY, "length": True}]},
        {"meta": META, "tensor_payload": [{**ENTRY, "tensorname": 1}]},
        {"meta": META, "tensor_payload": [7]},
        {"meta": {"mode": "TRAIN", "mode_step": 0}, "tensor_payload": [ENTRY]},
        {"meta": {**META, "event_file_name": "/etc/passwd"}, "tensor_payload": [ENTRY]},
        {"meta": {**META, "event_file_name": "events/../../secret"}, "tensor_payload": [ENTRY]},
        {"meta": META, "shape_payload": [{"tensorname": "x", "shape": [-1]}]},
    ],
    ids=lambda content: str(content)[:60],
)
def test_from_json_when_damaged_or_foreign_says_which_file(content):
    """Anything else ends in one kind of error that names the file."""
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(IndexReaderException, match=r"index/x\.json: not an index file"):
        IndexFile.from_json(text, "index/x.json")
