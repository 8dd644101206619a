"""Encode and decode tensors and events as the protobuf messages of the format, without protobuf.

The five messages are wire-compatible with TensorFlow's of the same names (store format, sections 2.2 to 2.5). Tensor
bytes are never copied: encoding returns the array's own memory, and decoding returns a read-only view of the record.
"""

from __future__ import annotations

import functools
import math
import struct
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.errors import CorruptRecordError, SMDebugTypeError
from sagemaker_debug_ext.store.format import records
from sagemaker_debug_ext.vocabulary import ModeKeys

Array = npt.NDArray[Any]

_NUMBERS: Final = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
    "float8_e5m2": 24,
    "float8_e4m3fn": 25,
}
"""dtype → dtype number in the file (section 2.4)."""

_QUANTISED: Final = {11: "int8", 12: "uint8", 13: "int32", 15: "int16", 16: "uint16"}
_NAMES: Final = {number: name for name, number in _NUMBERS.items()} | _QUANTISED
EXTENSION_DTYPES: Final = ("bfloat16", "float8_e5m2", "float8_e4m3fn")
"""dtypes that neither NumPy itself nor smdebug supports."""

_TEXT_NUMBERS: Final = (0, 7)
"""Strings have no dtype number in this format, and DT_STRING in files written by TensorFlow itself."""

_VARINT: Final = 0
_BYTES: Final = 2
_FIXED_SIZES: Final = {1: 8, 5: 4}
"""Wire type → bytes, for numbers of fixed width."""

_DOUBLE: Final = struct.Struct("<d")
_MODES: Final = {str(mode.value): mode for mode in ModeKeys}


class DecodedTensor(NamedTuple):
    """Content of a record: a tensor's value, with its name, step and mode."""

    name: str
    value: Array
    step: int
    wall_time: float
    mode: ModeKeys
    mode_step: int


# --- values ----------------------------------------------------------------------------------------------------------


def to_array(value: object) -> Array:
    """Return a value that a user saves as the array to store (section 2.4).

    Arrays are returned as they are. A number, a boolean or a string becomes an array of shape (1,). Lists and tuples
    become arrays. Other byte orders are converted to the machine's.

    Raises:
        SMDebugTypeError: The format has no form for the value (None, bytes, multi-dimensional strings, dates).
    """
    if isinstance(value, (bool, int, float, complex, str, np.generic)):
        array = np.asarray([value])
    elif isinstance(value, (np.ndarray, list, tuple)):
        array = np.asarray(value)
    else:
        raise SMDebugTypeError(f"a tensor must be an array, a number, a text or a list of them (got {value!r})")
    if array.dtype == object and array.size and all(isinstance(item, str) for item in array.flat):
        array = array.astype(str)
    if array.dtype.kind == "U":
        if array.ndim > 1:
            raise SMDebugTypeError(f"texts can be saved in one dimension only (got shape {array.shape})")
        return array
    if array.dtype.name not in _NUMBERS:
        raise SMDebugTypeError(f"dtype must be a text or one of {', '.join(_NUMBERS)} (got {array.dtype})")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _numpy_dtype(number: int, where: str) -> np.dtype[Any]:
    name = _NAMES.get(number)
    if name is None:
        raise CorruptRecordError(where, f"dtype number {number} is none of {sorted(_NAMES)}")
    if name in EXTENSION_DTYPES:
        extension: np.dtype[Any] = np.dtype(getattr(import_optional("ml_dtypes", f"Reading dtype {name}"), name))
        return extension
    return np.dtype(name)


# --- encoding --------------------------------------------------------------------------------------------------------


def varint(number: int) -> bytes:
    """Encode an integer as a protobuf varint."""
    encoded = bytearray()
    number &= 0xFFFFFFFFFFFFFFFF
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _delimited(field: int, content: bytes) -> bytes:
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


@functools.lru_cache(maxsize=1024)
def _metadata(mode: ModeKeys, mode_step: int) -> bytes:
    """Encode the two plug-in entries with mode step and mode (section 2.5)."""
    entries = (("mode_step", str(mode_step)), ("mode", str(mode.value)))
    plugins = (_delimited(1, _delimited(1, name.encode()) + _delimited(2, text.encode())) for name, text in entries)
    return _delimited(9, b"".join(plugins))


@functools.lru_cache(maxsize=16384)
def _value_head(name: str, dtype_number: int, shape: tuple[int, ...], content_bytes: int, typed: bool) -> bytes:
    """Encode the bytes before the content of a tensor: tag, dtype, shape and the lengths (section 2.3)."""
    dims = b"".join(
        _delimited(2, (b"\x08" + varint(size) if size else b"") + _delimited(2, f"{name}_{size}".encode()))
        for size in shape
    )
    tensor_head = (b"\x08" + varint(dtype_number) if dtype_number else b"") + _delimited(2, dims)
    if content_bytes and not typed:
        tensor_head += b"\x22" + varint(content_bytes)
    return (
        _delimited(1, name.encode("utf-8", "surrogatepass"))
        + b"\x42"
        + varint(len(tensor_head) + content_bytes)
        + tensor_head
    )


def _content(array: Array) -> memoryview | bytes:
    """Return the bytes of an array in C order, without a copy if the array is C-contiguous."""
    contiguous = np.ascontiguousarray(array)
    return contiguous.reshape(-1).view(np.uint8).data if contiguous.size else b""


def encode_record(
    name: str, array: Array, step: int, mode: ModeKeys, mode_step: int, wall_time: float
) -> tuple[bytes, memoryview | bytes, bytes]:
    """Encode one tensor as a framed record.

    Args:
        name: The tensor's name.
        array: The value, as returned by `to_array`.
        step: Global step.
        mode: Mode of the step.
        mode_step: Step within the mode.
        wall_time: Seconds since the epoch.

    Returns:
        Three consecutive buffers; the middle one is the array's own memory.
    """
    if array.dtype.kind == "U":
        content: memoryview | bytes = b"".join(_delimited(8, text.encode()) for text in array.reshape(-1).tolist())
        head = _value_head(name, 0, array.shape, len(content), True)
    else:
        content = _content(array)
        head = _value_head(name, _NUMBERS[array.dtype.name], array.shape, array.nbytes, False)
    tail = _metadata(mode, mode_step)
    value_bytes = len(head) + array_bytes(content) + len(tail)
    value_prefix = b"\x0a" + varint(value_bytes)
    event_head = b"\x09" + _DOUBLE.pack(wall_time) + (b"\x10" + varint(step) if step else b"")
    event_head += b"\x2a" + varint(len(value_prefix) + value_bytes) + value_prefix
    framing = records.header(len(event_head) + value_bytes)
    return framing + event_head + head, content, tail + records.CONSTANT_FOOTER


def array_bytes(content: memoryview | bytes) -> int:
    """Return the length of a buffer in bytes."""
    return content.nbytes if isinstance(content, memoryview) else len(content)


# --- decoding --------------------------------------------------------------------------------------------------------


_MAX_FIELDS: Final = 512
"""Limit of fields per message, because a field of two bytes takes a hundred times as much memory; the format needs far
fewer."""

_MAX_PADDING: Final = 4
_FREE_PADDING: Final = 1 << 14
"""Limit of the size of an array of strings, relative to the total length of the strings."""


class _WireError(ValueError):
    """The bytes are not a message of the format; converted into a `CorruptRecordError` that names the record."""


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """Decode a varint; return the number and the offset of its end."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift > 63:
            raise _WireError("a varint is longer than ten bytes")


class _Message:
    """The fields of one message: integers for varints, views of the bytes for other fields; repeated fields in order.

    Args:
        data: The bytes of the message.
        lists: Fields that may occur any number of times; the number of other fields is limited.
    """

    def __init__(self, data: memoryview, lists: frozenset[int] = frozenset()) -> None:
        self._fields: dict[int, list[int | memoryview]] = {}
        at, end = 0, len(data)
        num_fields = 0
        while at < end:
            key, at = read_varint(data, at)
            field, wire_type = key >> 3, key & 7
            num_fields += field not in lists
            if num_fields > _MAX_FIELDS:
                raise _WireError(f"more than {_MAX_FIELDS} fields in one message")
            value: int | memoryview
            if wire_type == _VARINT:
                value, at = read_varint(data, at)
            else:
                size, at = self._size(data, at, wire_type)
                if size > end - at:
                    raise _WireError(f"field {field} of {size} bytes is cut off")
                value = data[at : at + size]
                at += size
            self._fields.setdefault(field, []).append(value)

    @staticmethod
    def _size(data: memoryview, at: int, wire_type: int) -> tuple[int, int]:
        if wire_type == _BYTES:
            return read_varint(data, at)
        if wire_type in _FIXED_SIZES:
            return _FIXED_SIZES[wire_type], at
        raise _WireError(f"wire type {wire_type} is not used by the format")

    def number(self, field: int, default: int = 0) -> int:
        """Return a number; if the field is repeated, the last number counts."""
        value = self._fields.get(field, [default])[-1]
        if not isinstance(value, int):
            raise _WireError(f"field {field} must hold a number")
        return value

    def all_bytes(self, field: int) -> list[memoryview]:
        """Return all occurrences of a field of bytes."""
        values = [value for value in self._fields.get(field, ()) if isinstance(value, memoryview)]
        if len(values) != len(self._fields.get(field, ())):
            raise _WireError(f"field {field} must hold bytes")
        return values

    def view(self, field: int) -> memoryview | None:
        """Return the bytes of the last occurrence of a field; None if the field is missing."""
        values = self.all_bytes(field)
        return values[-1] if values else None

    def text(self, field: int) -> str:
        """Return a string; empty if the field is missing."""
        return bytes(self.view(field) or b"").decode("utf-8", "surrogatepass")

    def messages(self, field: int) -> list[_Message]:
        """Return all occurrences of a field that is a message."""
        return [_Message(value) for value in self.all_bytes(field)]

    def message(self, field: int, what: str, lists: frozenset[int] = frozenset()) -> _Message:
        """Return the first occurrence of a required field that is a message."""
        for value in self.all_bytes(field)[:1]:
            return _Message(value, lists)
        raise _WireError(f"{what} is missing")

    def numbers(self, field: int) -> list[int]:
        """Return a repeated number, written separately or packed."""
        numbers: list[int] = []
        for value in self._fields.get(field, ()):
            if isinstance(value, int):
                numbers.append(value)
                continue
            at = 0
            while at < len(value):
                number, at = read_varint(value, at)
                numbers.append(number)
        return numbers


_FLOAT_FIELDS: Final = {5: "<f4", 6: "<f8", 9: "<c8", 12: "<c16"}
"""float_val, double_val, scomplex_val, dcomplex_val: packed, of fixed width."""

_HALF_FIELD: Final = 13
_VARINT_FIELDS: Final = (7, 10, 11, _HALF_FIELD, 16, 17)
"""int_val, int64_val, bool_val, half_val, uint32_val, uint64_val."""

_TEXT_FIELD: Final = 8
_VALUE_FIELDS: Final = frozenset({_TEXT_FIELD, *_FLOAT_FIELDS, *_VARINT_FIELDS})
"""Fields that hold one entry per string or number."""


def _shape(tensor: _Message) -> tuple[int, ...]:
    dims = [dim for shape in tensor.messages(2) for dim in shape.messages(2)]
    sizes = tuple(dim.number(1) for dim in dims)
    if any(size >> 63 for size in sizes):
        raise _WireError("an axis has a negative length")
    for size, dim in zip(sizes, dims, strict=True):
        named = dim.text(2).rpartition("_")[2]  # writers of this format store every length twice
        if named.isdecimal() and int(named) != size:
            raise _WireError(f"an axis has the length {size} and is named after the length {named}")
    return sizes


def _typed_values(tensor: _Message, dtype: np.dtype[Any]) -> Array | None:
    """Return the values of the typed field in which TensorFlow stores small tensors; None if there is none."""
    for field, wire_dtype in _FLOAT_FIELDS.items():
        if parts := tensor.all_bytes(field):
            values = np.frombuffer(b"".join(parts), wire_dtype)
            if values.dtype.kind == "c" and dtype.kind != "c":
                raise _WireError(f"complex numbers are no values of {dtype}")
            return values.astype(dtype)
    for field in _VARINT_FIELDS:
        if numbers := tensor.numbers(field):
            bits = np.array(numbers, np.uint64)
            if field == _HALF_FIELD:  # holds the bits of 16-bit floats
                return bits.astype(np.uint16).view(dtype)
            return (bits.view(np.int64) if dtype.kind == "i" else bits).astype(dtype)
    return None


def _fill(values: Array, shape: tuple[int, ...]) -> Array:
    if values.size == math.prod(shape):
        return values.reshape(shape)
    if values.size == 1:  # a tensor of equal values; returned as a view, so that no length can exhaust memory
        return np.broadcast_to(values.reshape(()), shape)
    raise _WireError(f"{values.size} values do not fill the shape {shape}")


def _texts(tensor: _Message) -> Array:
    texts = [bytes(text).decode() for text in tensor.all_bytes(_TEXT_FIELD)]
    num_characters = sum(map(len, texts))
    # NumPy stores all strings with the length of the longest, so one long string among many could exhaust memory.
    is_even = len(texts) * max(map(len, texts), default=0) <= _MAX_PADDING * num_characters + _FREE_PADDING
    return np.array(texts, dtype=str if is_even else object)


def _array(tensor: _Message, where: str) -> Array:
    number, shape = tensor.number(1), _shape(tensor)
    if number in _TEXT_NUMBERS:
        return _fill(_texts(tensor), shape)
    dtype = _numpy_dtype(number, where)
    content = tensor.view(4)
    if content:
        if len(content) != math.prod(shape) * dtype.itemsize:
            raise _WireError(f"{len(content)} bytes of {dtype} do not fill the shape {shape}")
        return np.frombuffer(content, dtype).reshape(shape)
    values = _typed_values(tensor, dtype)
    if values is not None:
        return _fill(values, shape)
    if math.prod(shape):
        raise _WireError(f"a tensor of shape {shape} has no content")
    return np.empty(shape, dtype)


def _mode(value: _Message, step: int) -> tuple[ModeKeys, int]:
    """Decode the two plug-in entries; without them the mode is GLOBAL (section 2.5)."""
    entries = {entry.text(1): entry.text(2) for metadata in value.messages(9) for entry in metadata.messages(1)}
    return _MODES.get(entries.get("mode", ""), ModeKeys.GLOBAL), int(entries.get("mode_step", step))


def decode_payload(payload: memoryview, where: str) -> DecodedTensor:
    """Decode the payload of one record.

    Args:
        payload: The payload, as returned by `records.unframe`.
        where: Name of the record in errors.

    Returns:
        The tensor. Its value is read-only, and a view of `payload` if the content is stored as plain bytes.

    Raises:
        CorruptRecordError: The bytes are not an event with one tensor.
        MissingDependencyError: The dtype needs a package that is not installed.
    """
    try:
        event = _Message(payload)
        step, wall_time = event.number(2), event.view(1)
        value = event.message(5, "the summary").message(1, "the summary's value")
        array = _array(value.message(8, "the tensor", _VALUE_FIELDS), where)
        mode, mode_step = _mode(value, step)
        seconds = _DOUBLE.unpack(wall_time)[0] if wall_time else 0.0
        name = value.text(1)
    except (ValueError, IndexError, struct.error, OverflowError) as error:
        raise CorruptRecordError(where, f"payload is not a tensor event: {error}") from error
    array.flags.writeable = False
    return DecodedTensor(name, array, step, seconds, mode, mode_step)
