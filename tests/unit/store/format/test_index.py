"""Index files: the text of the format, its inverse, and damaged or foreign files."""

import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import IndexReaderException
from sagemaker_debug_ext.store.format.index import IndexEntry, IndexFile, IndexParser, Location, SavedShape
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
        {"meta": META, "tensor_payload": [{**ENTRY, "length": 0}]},
        {"meta": META, "tensor_payload": [ENTRY, {**ENTRY, "tensorname": "y", "start_idx": 2**63 - 20}]},
        {"meta": META, "tensor_payload": [{**ENTRY, "start_idx": 2**63}]},
        {"meta": META, "tensor_payload": [{**ENTRY, "start_idx": 2**64}]},
        {"meta": META, "tensor_payload": [{**ENTRY, "tensorname": 1}]},
        {"meta": META, "tensor_payload": [7]},
        {"meta": {"mode": "TRAIN", "mode_step": 0}, "tensor_payload": [ENTRY]},
        {"meta": {**META, "event_file_name": "/etc/passwd"}, "tensor_payload": [ENTRY]},
        {"meta": {**META, "event_file_name": "events/../../secret"}, "tensor_payload": [ENTRY]},
        {"meta": {**META, "event_file_name": "events/a\0b"}, "tensor_payload": [ENTRY]},
        {"meta": {**META, "event_file_name": "events/\ud800"}, "tensor_payload": [ENTRY]},
        {"meta": {**META, "event_file_name": "events/" + "a/" * 1100}, "tensor_payload": [ENTRY]},
        {"meta": META, "shape_payload": [{"tensorname": "x", "shape": [-1]}]},
    ],
    ids=lambda content: str(content)[:60],
)
def test_from_json_when_damaged_or_foreign_says_which_file(content):
    """Anything else ends in one kind of error that names the file."""
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(IndexReaderException, match=r"index/x\.json: not an index file"):
        IndexFile.from_json(text, "index/x.json")
    with pytest.raises(IndexReaderException, match=r"index/x\.json: not an index file"):
        IndexParser().parse(text.encode(), "index/x.json")


def plain(entry):
    content = entry.content
    return (*entry[:3], content.names, content.places.tolist(), content.shapes)


@given(st.lists(index_files, min_size=1, max_size=4), st.lists(st.integers(0, 3), max_size=8))
def test_parser_reads_what_from_json_reads(files, order):
    """Files that end alike are read as any others, whichever came first."""
    parser = IndexParser()
    for number in [*range(len(files)), *order]:
        for mode_step in (number, 10**6 + number):
            file = attrs.evolve(files[number % len(files)], mode_step=mode_step)
            assert plain(parser.parse(file.to_json().encode(), "here")) == plain(IndexEntry.of(file))


def test_parser_shares_what_files_have_in_common():
    """A thousand steps with the same tensors hold their names and places once."""
    parser = IndexParser()
    entries = [
        parser.parse(IndexFile(ModeKeys.TRAIN, step, EVENT_FILE, {"a": Location(0, 9)}).to_json().encode(), "here")
        for step in range(20)
    ]
    assert len({id(entry.content) for entry in entries}) == 1
    assert [entry.mode_step for entry in entries] == list(range(20))


@pytest.mark.parametrize("key", ["meta", "m\\u0065ta"])
def test_parser_when_the_end_says_another_step_then_believes_it_as_json_does(key):
    """What comes last in the text counts, in every file, also when the ends are alike."""
    end = f'"tensor_payload": [], "{key}": {{"mode": "EVAL", "mode_step": 7}}}}'
    parser = IndexParser()
    for step in (7, 8, 9):
        text = f'{{"meta": {{"mode": "TRAIN", "mode_step": {step}}}, {end}'
        assert parser.parse(text.encode(), "here")[:2] == (ModeKeys.EVAL, 7)


@pytest.mark.parametrize(
    "meta",
    [
        '"mode": "TRAIN", "mode_step": 1',
        '"mode": "TRAIN", "mode_step": 1, "event_file_name": "events/../x"',
        '"mode": "NONE", "mode_step": 1, "event_file_name": "events/x"',
        '"mode": "TRAIN", "mode_step": 1, "event_file_name": "/etc/passwd"',
    ],
)
def test_parser_when_a_known_end_follows_a_bad_beginning_then_refused(meta):
    """A known end does not make up for what is wrong before it."""
    parser = IndexParser()
    good = IndexFile(ModeKeys.TRAIN, 1, EVENT_FILE, {"a": Location(0, 9)}).to_json()
    parser.parse(good.encode(), "here")
    end = good[good.index('"tensor_payload"') :]
    with pytest.raises(IndexReaderException, match="here"):
        parser.parse(f'{{"meta": {{{meta}}}, {end}'.encode(), "here")


def test_parser_when_a_place_is_beyond_any_file_then_refused():
    """A number that no file could reach marks the index file as damaged."""
    text = IndexFile(ModeKeys.TRAIN, 1, EVENT_FILE, {"a": Location(2**64, 9)}).to_json().encode()
    with pytest.raises(IndexReaderException, match=r"2\^63"):
        IndexParser().parse(text, "here")
