"""Many index files as one: the inverse of each other, and nothing but the documented errors."""

from __future__ import annotations

import json
from array import array

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.store.consolidated import table
from sagemaker_debug_ext.store.consolidated.table import DAMAGE, IndexedFile, decode_table, encode_table
from sagemaker_debug_ext.store.format.index import IndexContent, IndexEntry, SavedShape
from sagemaker_debug_ext.store.format.keys import event_key, index_key
from sagemaker_debug_ext.store.format.records import masked_crc
from sagemaker_debug_ext.testing import strategies

contents = st.builds(
    lambda places, shapes: IndexContent(
        tuple(places),
        array("Q", [number for place in places.values() for number in place]),
        tuple((name, SavedShape(tuple(shape), name)) for name, shape in shapes.items()),
    ),
    st.dictionaries(st.text(max_size=8), st.tuples(st.integers(0, 2**40), st.integers(1, 2**40)), max_size=4),
    st.dictionaries(st.text(max_size=8), st.lists(st.integers(0, 2**40), max_size=3), max_size=2),
)
files = st.builds(
    lambda version, step, worker, mode, mode_step, has_events, content: IndexedFile(
        version,
        step,
        worker,
        IndexEntry(mode, mode_step, event_key(step, worker) if has_events or content.names else None, content),
    ),
    st.text(min_size=1, max_size=8),
    strategies.steps,
    strategies.workers,
    strategies.modes,
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    contents,
)


def exact(file):
    *rest, content = file.entry
    return file[:3], rest, content.names, content.places, content.shapes, content.end


@settings(max_examples=60)
@example([], "")
@given(st.lists(files, max_size=6, unique_by=lambda file: index_key(file.step, file.worker)), st.text())
def test_table_when_decoded_then_what_was_encoded(drawn, label):
    """Every number, name and shape comes back."""
    found_label, found = decode_table(encode_table(drawn, label))
    assert found_label == label
    assert {key: exact(file) for key, file in found.items()} == {
        index_key(file.step, file.worker): exact(file) for file in drawn
    }


@settings(max_examples=150)
@example(b"")
@given(st.binary(max_size=400))
def test_table_when_made_of_anything_then_one_of_the_documented_errors(data):
    """Bytes with a right checksum and a senseless content are refused, too."""
    body = table._MAGIC + table.masked_crc(data).to_bytes(4, "little") + data
    for content in (data, body):
        with pytest.raises(DAMAGE):
            decode_table(content)


HEAD = {
    "label": "x",
    "num_files": 0,
    "names": [["a"]],
    "shapes": [[["b", [[2, 3], "b"]]]],
    "workers": ["worker_0"],
    "contents": [[0, 0, 2]],
    "versions": [],
}


def with_head(text):
    data = len(text).to_bytes(8, "little") + text + bytes(8) + (9).to_bytes(8, "little")
    return table._MAGIC + masked_crc(data).to_bytes(4, "little") + data


@pytest.mark.parametrize(
    "odd",
    [1, None, "abc", [1], [[1]], [[["b", [["x"], "b"]]]], [[["b", [[-1], "b"]]]], {"a": 1}, -1, 10**30, 1.5, True],
)
@pytest.mark.parametrize("key", ["num_files", "names", "shapes", "workers", "contents", "versions"])
def test_table_when_a_part_is_of_another_type_then_refused_or_harmless(key, odd):
    """What a reader takes for names is text, and for sizes are numbers, whoever wrote it."""
    assert decode_table(with_head(json.dumps(HEAD).encode())) == ("x", {})
    try:
        assert decode_table(with_head(json.dumps({**HEAD, key: odd}).encode())) == ("x", {})
    except DAMAGE:
        return


def test_table_when_nested_deeply_then_refused():
    """Brackets cost no stack."""
    with pytest.raises(DAMAGE):
        decode_table(with_head(b"[" * 100_000))


@settings(max_examples=80)
@given(st.lists(files, min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_table_when_changed_and_given_a_right_checksum_then_an_error_or_a_table(drawn, chosen):
    """A checksum keeps accidents out, not malice: whoever made it, it leads to nothing worse than to wrong entries."""
    data = bytearray(encode_table(drawn, "x"))
    start = len(table._MAGIC) + 4
    for _ in range(chosen.randint(1, 5)):
        data[chosen.randrange(start, len(data))] = chosen.randrange(256)
    data[start - 4 : start] = masked_crc(bytes(data[start:])).to_bytes(4, "little")
    try:
        _, found = decode_table(bytes(data))
    except DAMAGE:
        return
    assert all(key.startswith("index/") and ".." not in key.split("/") for key in found)
    for file in found.values():
        assert file.entry.event_file is None or file.entry.event_file.startswith("events/")
