"""Whatever bytes the parsers are given, they raise the documented errors, and take no more memory than makes sense."""

from __future__ import annotations

import contextlib
import json
import math
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import CorruptRecordError, IndexReaderException, SMDebugValueError
from sagemaker_debug_ext.store.format.index import IndexFile, IndexParser, Location, SavedShape
from sagemaker_debug_ext.store.format.manifest import CollectionsFile
from sagemaker_debug_ext.store.format.messages import decode_payload, encode_record, varint
from sagemaker_debug_ext.store.format.records import CONSTANT_FOOTER, header, unframe
from sagemaker_debug_ext.store.format.templates import RecordDecoder
from sagemaker_debug_ext.vocabulary import ModeKeys

many = settings(max_examples=150)

RECORDS = [
    b"".join(bytes(part) for part in encode_record("layer/w", value, 300, ModeKeys.EVAL, 70, 1.5))
    for value in (np.arange(6, dtype=np.float32).reshape(2, 3), np.array(["a", "bc"]), np.float64(3).reshape(()),
                  np.zeros((0, 2), np.int8))
]  # fmt: skip
INDEX = IndexFile(
    ModeKeys.TRAIN,
    3,
    "events/1/2_w.tfevents",
    {"a": Location(0, 90), "b": Location(90, 50)},
    {"c": SavedShape((2,), "c")},
).to_json()
COLLECTIONS = CollectionsFile({"losses": {"name": "losses", "include_regex": ["x"], "tensor_names": []}}, 2).to_json()

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def mutate(data, chosen):
    """Return the bytes with a few of them changed, removed, repeated or replaced by extreme numbers."""
    data = bytearray(data)
    for _ in range(chosen.randint(1, 4)):
        at = chosen.randrange(len(data) + 1)
        kind = chosen.randrange(4)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << chosen.randrange(8)
        elif kind == 1:
            del data[at : at + chosen.randint(1, 9)]
        elif kind == 2:
            data[at:at] = data[at : at + chosen.randint(1, 20)]
        else:
            data[at:at] = chosen.choice([varint(2**63), varint(2**32), b"\xff" * 11, b"\0" * 5, b"9" * 30, b"{", b"]"])
    return bytes(data)


def peak_of(call):
    """Return the most memory that a call takes at a time."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def decode_record(data):
    decoder = RecordDecoder()
    try:
        value = decoder.decode(data, "layer/w", "here")
    except CorruptRecordError:
        return
    assert value.nbytes <= len(data) or np.prod(value.strides, initial=1) == 0  # one number may stand for many


def parse_index(data):
    for parse in (IndexParser().parse, IndexFile.from_json):
        message = "here"
        try:
            parse(data, "here")
        except IndexReaderException as error:
            message = error.message
        assert "here" in message


def parse_collections(data):
    message = "here"
    try:
        CollectionsFile.from_json(data, "here")
    except SMDebugValueError as error:
        message = str(error)
    assert "here" in message


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e400", "true", "null", "[]", '"9"'])
def test_numbers_when_odd_then_the_documented_errors(number):
    """Numbers that JSON allows and counts do not are refused."""
    parse_index(INDEX.replace('"mode_step": 3', f'"mode_step": {number}').encode())
    parse_collections(COLLECTIONS.replace('"num_workers": 2', f'"num_workers": {number}').encode())


@many
@example(b"")
@example(b"{}")
@example(b"\x80" * 11)
@given(st.binary(max_size=300))
def test_parsers_when_given_any_bytes_then_the_documented_errors(data):
    """Nothing but the errors that callers expect comes out."""
    decode_record(data)
    parse_index(data)
    parse_collections(data)
    framed = header(len(data)) + data + CONSTANT_FOOTER
    assert bytes(unframe(framed, "here")) == data
    decode_record(framed)


@pytest.mark.parametrize("block", range(8))
def test_records_when_mutated_then_the_documented_errors_and_little_memory(block):
    """Thousands of damaged records: an error or a value, and never more memory than the bytes account for."""
    chosen = random.Random(block)
    for _ in range(500):
        record = chosen.choice(RECORDS)
        payload = mutate(record[12:-4], chosen)
        decode_record(header(len(payload)) + payload + CONSTANT_FOOTER)
        decode_record(mutate(record, chosen))
    payload = mutate(RECORDS[0][12:-4], chosen)
    assert peak_of(lambda: decode_record(header(len(payload)) + payload + CONSTANT_FOOTER)) < 100_000


@pytest.mark.parametrize("block", range(4))
def test_texts_when_mutated_then_the_documented_errors(block):
    """Thousands of damaged index and collections files: an error that names the file, or what is left of it."""
    chosen = random.Random(block)
    for _ in range(500):
        parse_index(mutate(INDEX.encode(), chosen))
        parse_collections(mutate(COLLECTIONS.encode(), chosen))


@many
@example({})
@example([{}])
@example(2**70)
@example(math.nan)
@given(json_values)
def test_index_when_of_odd_json_then_the_documented_errors(value):
    """Every part of an index file may be of any type."""
    for key in ("meta", "tensor_payload", "shape_payload"):
        parse_index(json.dumps({**json.loads(INDEX), key: value}).encode())
    parse_index(json.dumps({**json.loads(INDEX), "tensor_payload": [value]}).encode())
    meta = json.loads(INDEX)["meta"]
    for name in meta:
        parse_index(json.dumps({**json.loads(INDEX), "meta": {**meta, name: value}}).encode())


@many
@example({})
@example([{}])
@example(2**70)
@example(math.nan)
@given(json_values)
def test_collections_when_of_odd_json_then_the_documented_errors(value):
    """Every part of a collections file may be of any type."""
    for content in (value, {"collections": value}, {"collections": {"x": value}, "_meta": {"num_workers": value}}):
        parse_collections(json.dumps(content).encode())


@pytest.mark.parametrize("dims", [(2**62,), (2**31, 2**31), (2**40, 0), (2**20, 2**20, 2**20), (2**63 - 1, 2**63 - 1)])
@pytest.mark.parametrize("number", [1, 9, 0])
def test_shape_when_absurd_then_nothing_of_its_size_is_allocated(dims, number):
    """A shape of exabytes costs an error."""
    shape = b"".join(b"\x12" + varint(len(size)) + size for size in (b"\x08" + varint(dim) for dim in dims))
    tensor = b"\x08" + varint(number) + b"\x12" + varint(len(shape)) + shape
    value = b"\x0a\x07layer/w\x42" + varint(len(tensor)) + tensor
    summary = b"\x0a" + varint(len(value)) + value
    payload = b"\x2a" + varint(len(summary)) + summary

    def decode():
        try:
            found = decode_payload(memoryview(payload), "here").value
        except CorruptRecordError:
            return
        assert found.size == 0

    assert peak_of(decode) < 100_000


# --- memory -----------------------------------------------------------------------------------------------------------

OVERHEAD_BYTES = 64 << 10
"""What a call may take beside what grows with the file: an error and its text, match objects, numpy's arrays' heads."""

LARGE_INDEX = IndexFile(
    ModeKeys.TRAIN,
    3,
    "events/x",
    {f"some/layer{n}/weight": Location(100 * n, 100) for n in range(6_000)},
    {f"another/layer{n}/output_0": SavedShape((64, 3, 3), f"framework/{n}") for n in range(1_000)},
).to_json().encode()  # fmt: skip
LARGE_RECORD = b"".join(
    bytes(part) for part in encode_record("layer/w", np.arange(100_000, dtype=np.float32), 300, ModeKeys.EVAL, 70, 1.5)
)
LARGE_COLLECTIONS = CollectionsFile(
    {f"layer{n}": {"name": f"layer{n}", "include_regex": ["weight"], "tensor_names": [f"layer{n}/output_{m}" for m in
     range(50)], "save_config": None} for n in range(100)}, 2
).to_json().encode()  # fmt: skip


def assert_bounded(parse, data, times=2, per_value=0):
    """Assert that reading `data` takes no more memory than `times` its size, and some bytes for each JSON value."""
    values = sum(data.count(mark) for mark in b'[{,:"')
    assert peak_of(lambda: parse(data)) <= times * len(data) + OVERHEAD_BYTES + per_value * values


@pytest.mark.parametrize("block", range(4))
def test_record_when_large_and_mutated_then_no_more_memory_than_twice_its_size(block):
    """Numbers are stored as plain bytes: a value costs a copy of them, whatever has become of the rest."""
    chosen = random.Random(block)
    for _ in range(40):
        assert_bounded(decode_record, mutate(LARGE_RECORD, chosen))
        payload = mutate(LARGE_RECORD[12:-4], chosen)
        assert_bounded(decode_record, header(len(payload)) + payload + CONSTANT_FOOTER)


@pytest.mark.parametrize("repeated", ["4200", "4a00", "0a00", "3801", "2d00000000"])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_record_when_made_of_countless_fields_then_memory_grows_with_its_size_only(repeated, level):
    """A field of two bytes costs an object; that they are few is checked where the format has few."""
    payload = bytes.fromhex(repeated) * 20_000
    for field in [b"\x42", b"\x0a", b"\x2a"][3 - level :]:
        payload = field + varint(len(payload)) + payload
    framed = header(len(payload)) + payload + CONSTANT_FOOTER
    assert_bounded(decode_record, framed, times=2 if level < 3 else 150, per_value=0)


def test_texts_when_one_is_long_among_many_then_memory_does_not_multiply():
    """An array of texts that has room for the longest one in each place is not made of any texts."""
    texts = np.array(["x" * 100_000, *["" for _ in range(20_000)]], dtype=object)
    axis = b"\x08" + varint(len(texts))
    shape = b"\x12" + varint(len(axis)) + axis
    tensor = b"\x12" + varint(len(shape)) + shape
    tensor += b"".join(b"\x42" + varint(len(text)) + text.encode() for text in texts)
    value = b"\x0a\x07layer/w\x42" + varint(len(tensor)) + tensor
    summary = b"\x0a" + varint(len(value)) + value
    payload = b"\x2a" + varint(len(summary)) + summary
    found = decode_payload(memoryview(payload), "here").value
    assert found.tolist() == texts.tolist()
    assert_bounded(lambda data: decode_payload(memoryview(data), "here"), payload, times=50)


@pytest.mark.parametrize("block", range(4))
def test_index_when_large_and_mutated_then_no_more_memory_than_twice_its_size(block):
    """Files of the form of the known writers are read entry by entry; what no longer is of it costs JSON's objects."""
    chosen = random.Random(block)
    assert_bounded(parse_index_once, LARGE_INDEX)
    for _ in range(4):
        assert_bounded(parse_index_once, mutate(LARGE_INDEX, chosen), per_value=64)


def parse_index_once(data):
    with contextlib.suppress(IndexReaderException):
        return IndexParser().parse(data, "here")


@pytest.mark.parametrize("value", ["[]", "{}", "1", '"ab"', "[[[]]]", '{"a": 1}', "1e5", "null"])
@pytest.mark.parametrize("parse", [parse_index_once, parse_collections])
def test_json_when_made_of_countless_values_then_memory_grows_with_their_number_only(parse, value):
    """What is no file of ours costs what its values cost as objects."""
    values = ",".join([value] * 20_000).encode()
    assert_bounded(parse, b'{"meta": {}, "tensor_payload": [' + values + b"]}", per_value=100)


def test_collections_when_large_and_mutated_then_memory_grows_with_the_number_of_names_only():
    """A name of a collection costs what a text costs."""
    chosen = random.Random(1)
    assert_bounded(parse_collections, LARGE_COLLECTIONS, per_value=64)
    for _ in range(20):
        assert_bounded(parse_collections, mutate(LARGE_COLLECTIONS, chosen), per_value=64)


def test_index_when_of_another_form_then_read_alike():
    """What is read entry by entry and what is read as JSON are the same."""
    plain = IndexParser().parse(LARGE_INDEX, "here")
    other = IndexParser().parse(json.dumps(json.loads(LARGE_INDEX), indent=1).encode(), "here")
    assert plain[:3] == other[:3]
    for slot in ("names", "places", "shapes", "end"):
        assert getattr(plain.content, slot) == getattr(other.content, slot)
