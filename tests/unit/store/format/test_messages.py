"""Tensors ↔ bytes: the byte vectors of the format, every dtype, and damaged payloads."""

import contextlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import CorruptRecordError, MissingDependencyError, SMDebugTypeError
from sagemaker_debug_ext.store.format import messages, records
from sagemaker_debug_ext.testing import strategies
from sagemaker_debug_ext.vocabulary import ModeKeys

VECTOR_2999 = (
    "5d00000000000000615bbbb9090000200084d7d74110b7172a4f0a4d0a0177422808011212120708021203775f32120708021203775f3222"
    "100000803f0000004000004040000080404a1e0a110a096d6f64655f737465701204313530300a090a046d6f6465120131b3c02d06"
)
VECTOR_STEP_0 = (
    "46000000000000007235b9a50982738bd60cc0da412a3b0a390a0161421708011209120708021203615f32220800000000000000004a1b0a"
    "0e0a096d6f64655f737465701201300a090a046d6f6465120134b3c02d06"
)


def encode(name, array, step=0, mode=ModeKeys.GLOBAL, mode_step=0, wall_time=0.0) -> bytes:
    return b"".join(bytes(part) for part in messages.encode_record(name, array, step, mode, mode_step, wall_time))


def decode(record: bytes) -> messages.DecodedTensor:
    return messages.decode_payload(records.unframe(record, "here"), "here")


def same(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def test_encode_gives_the_published_bytes():
    """Both annotated records of the format come out byte for byte."""
    array = np.array([[1, 2], [3, 4]], np.float32)
    assert encode("w", array, 2999, ModeKeys.TRAIN, 1500, 1600000000.5).hex() == VECTOR_2999
    wall_time = decode(bytes.fromhex(VECTOR_STEP_0)).wall_time
    assert encode("a", np.zeros(2, np.float32), wall_time=wall_time).hex() == VECTOR_STEP_0


def test_decode_reads_the_published_bytes():
    """The annotated record of step 2999 gives the values printed beside it."""
    decoded = decode(bytes.fromhex(VECTOR_2999))
    assert decoded[0] == "w"
    assert decoded[2:] == (2999, 1600000000.5, ModeKeys.TRAIN, 1500)
    assert same(decoded.value, np.array([[1, 2], [3, 4]], np.float32))


@given(
    strategies.tensor_names,
    st.one_of(strategies.arrays(), strategies.text_arrays()),
    strategies.steps,
    strategies.modes,
    strategies.steps,
    st.floats(allow_nan=False),
)
@example("x", np.array([np.nan, np.inf, -0.0, 5e-324]), 0, ModeKeys.TRAIN, 0, 0.0)
def test_decode_is_the_inverse_of_encode(name, array, step, mode, mode_step, wall_time):
    """Name, value, dtype, shape, step and mode survive, whatever the array's layout."""
    decoded = decode(encode(name, array, step, mode, mode_step, wall_time))
    assert (decoded.name, *decoded[2:]) == (name, step, wall_time, mode, mode_step)
    if array.dtype.kind == "U":
        assert decoded.value.tolist() == array.tolist()
    else:
        assert same(decoded.value, array)


def test_encode_shares_the_arrays_memory():
    """No copy is made of an array in C order."""
    array = np.arange(12.0).reshape(3, 4)
    _, content, _ = messages.encode_record("x", array, 0, ModeKeys.TRAIN, 0, 0.0)
    assert np.shares_memory(np.frombuffer(content), array)


def test_decoded_value_is_read_only():
    """Nobody can change what a trial hands out."""
    value = decode(encode("x", np.zeros((2, 0)))).value
    assert not value.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        decode(encode("x", np.zeros(2))).value[0] = 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_extension_dtypes_survive(dtype):
    """The dtypes that NumPy does not know are kept through ml_dtypes."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([0.5, -2.0, 448.0], getattr(ml_dtypes, dtype))
    assert same(decode(encode("x", array)).value, array)


def test_extension_dtype_when_its_package_is_missing_says_so(monkeypatch):
    """The error names the package to install."""
    record = encode("x", np.zeros(2, np.uint16)).replace(b"\x08\x11\x12", b"\x08\x0e\x12")
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(MissingDependencyError, match="ml_dtypes"):
        decode(record)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, np.array([3])),
        (2.5, np.array([2.5])),
        (True, np.array([True])),
        ("text", np.array(["text"])),
        (np.float32(1.5), np.array([1.5], np.float32)),
        ([1, 2], np.array([1, 2])),
        ((1.0, 2.0), np.array([1.0, 2.0])),
        (np.array(7), np.array(7)),
        (np.array(["a", "b"], dtype=object), np.array(["a", "b"])),
        (np.array([1, 2], ">i4"), np.array([1, 2], "<i4")),
    ],
    ids=str,
)
def test_to_array_converts_what_users_save(value, expected):
    """Numbers and texts become arrays of one element, lists become arrays, foreign byte orders native."""
    assert same(messages.to_array(value), expected)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"bytes",
        {"a": 1},
        np.array([b"x"]),
        np.array([["a"]]),
        np.array(["2020"], "M8[D]"),
        np.zeros(2, "g"),
        np.zeros(1, "i4,f4"),
        [None],
    ],
    ids=repr,
)
def test_to_array_refuses_what_the_format_cannot_hold(value):
    """The error says what is allowed and what was given."""
    with pytest.raises(SMDebugTypeError, match=r"must be|one dimension"):
        messages.to_array(value)


def typed(dtype_number: int, field: int, content: bytes, wire_type: int = 2, dims: bytes = b"") -> bytes:
    """Build an event whose tensor keeps its values in a typed field, as TensorFlow writes small tensors."""
    body = bytes([field << 3 | wire_type]) + (bytes([len(content)]) if wire_type == 2 else b"") + content
    tensor = bytes([8, dtype_number]) + b"\x12" + bytes([len(dims)]) + dims + body
    value = b"\x0a\x01x" + b"\x42" + bytes([len(tensor)]) + tensor
    summary = b"\x0a" + bytes([len(value)]) + value
    payload = b"\x2a" + bytes([len(summary)]) + summary
    return records.header(len(payload)) + payload + records.CONSTANT_FOOTER


DIM_2 = b"\x12\x02\x08\x02"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (typed(1, 5, np.array([1.5, 2], "<f4").tobytes(), dims=DIM_2), np.array([1.5, 2], np.float32)),
        (typed(2, 6, np.array([1.5, 2], "<f8").tobytes(), dims=DIM_2), np.array([1.5, 2])),
        (typed(3, 7, b"\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", dims=DIM_2), np.array([5, -1], np.int32)),
        (typed(9, 10, b"\x05", wire_type=0), np.array(5)),
        (typed(10, 11, b"\x01\x00", dims=DIM_2), np.array([True, False])),
        (typed(19, 13, b"\x80\x78\x00", dims=DIM_2), np.array([1, 0], np.float16)),
        (typed(4, 7, b"\xc8\x01", dims=DIM_2), np.array([200, 200], np.uint8)),
        (typed(8, 9, np.array([1 + 2j], "<c8").tobytes()), np.array(1 + 2j, np.complex64)),
        (typed(7, 8, b"text", dims=b"\x12\x02\x08\x01"), np.array(["text"])),
    ],
    ids=[
        "float",
        "double",
        "int32 packed, negative",
        "int64 single",
        "bool",
        "half",
        "uint8, one for all",
        "complex",
        "text",
    ],
)
def test_decode_reads_typed_value_fields(record, expected):
    """Values outside tensor_content are read with their true dtype."""
    assert same(decode(record).value, expected)


def test_decode_when_one_value_fills_a_huge_shape_does_not_allocate():
    """A shape cannot exhaust memory: equal values are a view of one."""
    dims = b"\x12\x06\x08\x80\x80\x80\x80\x10" * 1
    value = decode(typed(1, 5, np.array([2.0], "<f4").tobytes(), dims=dims)).value
    assert value.shape == (2**32,)
    assert value.strides == (0,)
    assert value[-1] == 2.0


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x09\x00",
        b"\x2a\x00",
        b"\x2a\x02\x0a\x00",
        b"\x2b",
        b"\xff" * 12,
        b"\x2a\x7f",
        b"\x10\x01\x2a\x05\x0a\x03\x42\x01\x08",
        b"\x28\x01",
        b"\x2a\x0b\x0a\x09\x42\x07\x08\x63\x12\x00\x22\x01\x00",
    ],
    ids=[
        "empty",
        "cut double",
        "empty summary",
        "empty value",
        "group",
        "endless varint",
        "cut field",
        "cut tensor",
        "number for message",
        "unknown dtype",
    ],
)
def test_decode_when_damaged_says_where(payload):
    """Bytes that are no tensor event end in one kind of error that names the place."""
    with pytest.raises(CorruptRecordError, match="events/x at byte 7"):
        messages.decode_payload(memoryview(payload), "events/x at byte 7")


@given(st.binary(max_size=120))
def test_decode_of_any_bytes_raises_nothing_else(payload):
    """No bytes whatever make the decoder fail in another way."""
    with contextlib.suppress(CorruptRecordError, MissingDependencyError):
        messages.decode_payload(memoryview(payload), "here")


@given(st.data())
def test_decode_of_a_mutated_record_raises_nothing_else(data):
    """Neither does a real record with some bytes changed."""
    record = bytearray(bytes.fromhex(VECTOR_2999)[12:-4])
    for _ in range(data.draw(st.integers(1, 4))):
        record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CorruptRecordError, MissingDependencyError):
        messages.decode_payload(memoryview(bytes(record)), "here")


def test_decode_when_complex_values_are_to_be_real_raises():
    """One changed byte makes bytes of numbers a field of complex ones, of which no part may be dropped silently."""
    record = bytearray(bytes.fromhex(VECTOR_2999)[12:-4])
    record[43] = 98
    with pytest.raises(CorruptRecordError, match="complex numbers are no values of float32"):
        messages.decode_payload(memoryview(bytes(record)), "here")


def test_decode_when_content_does_not_fill_the_shape_raises():
    """A length that disagrees with the shape is damage, never a shorter value."""
    record = encode("x", np.zeros(4, np.float32)).replace(b"\x08\x04\x12", b"\x08\x05\x12")
    with pytest.raises(CorruptRecordError, match="named after the length 4"):
        decode(record)
