"""Decode records by a template: an earlier record of the same name, dtype, shape and length.

Between two steps, the records of a tensor differ in four places only: wall time, global step, mode step and content.
After a record has been decoded field by field, its `RecordTemplate` holds these places. All other bytes of the next
record are compared with the template, and the content is read from its known place. Records that do not match are
decoded field by field, which detects and describes damage.

Records of different tensors whose names are equally long differ in their names as well, at known places. One
`SharedTemplate` therefore serves thousands of tensors of one step.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import CorruptRecordError
from sagemaker_debug_ext.store.backends.base import Buffer
from sagemaker_debug_ext.store.format.messages import Array, decode_payload, read_varint, varint
from sagemaker_debug_ext.store.format.records import CONSTANT_FOOTER, FOOTER_BYTES, HEADER_BYTES, unframe

_WALL_TIME_END: Final = HEADER_BYTES + 9
_MODE_STEP: Final = b"\x0a\x09mode_step\x12"
_MAX_TEMPLATES: Final = 16384
_COPIED_BYTES: Final = 1 << 16


@functools.lru_cache(maxsize=1024)
def _step_field(step: int) -> bytes:
    return b"\x10" + varint(step) if step else b""


def find_content(record: Buffer) -> int | None:
    """Return the offset of the tensor's bytes in a record; None if the record has an unknown layout.

    Args:
        record: The record or its first bytes.
    """
    data = memoryview(record)
    try:
        return _content_span(data)[1]
    except (IndexError, ValueError):
        return None


def _content_span(data: memoryview) -> tuple[int, int, int]:
    """Return the end of the step field, and start and end of the content (store format, section 2.3)."""
    at = _expect(data, HEADER_BYTES, 0x09) + 8
    if data[at] == 0x10:
        _, at = read_varint(data, at + 1)
    step_end = at
    for _ in range(2):  # summary, value
        _, at = read_varint(data, _expect(data, at, 0x2A if at == step_end else 0x0A))
    at = _skip(data, _expect(data, at, 0x0A))  # tag
    _, at = read_varint(data, _expect(data, at, 0x42))  # tensor
    _, at = read_varint(data, _expect(data, at, 0x08))  # dtype
    at = _skip(data, _expect(data, at, 0x12))  # shape
    size, at = read_varint(data, _expect(data, at, 0x22))
    return step_end, at, at + size


def _name_places(middle: memoryview, name: bytes) -> list[int]:
    """Return where a tensor's name stands between the step field and the content: in the tag and in named axes."""
    at = 0
    for _ in range(2):  # summary, value
        _, at = read_varint(middle, _expect(middle, at, 0x2A if at == 0 else 0x0A))
    length, at = read_varint(middle, _expect(middle, at, 0x0A))
    if middle[at : at + length] != name:
        raise ValueError
    places = [at]
    _, at = read_varint(middle, _expect(middle, at + length, 0x42))
    _, at = read_varint(middle, _expect(middle, at, 0x08))
    num_bytes, at = read_varint(middle, _expect(middle, at, 0x12))
    shape_end = at + num_bytes
    while at < shape_end:
        _, at = read_varint(middle, _expect(middle, at, 0x12))
        if middle[at] == 0x08:
            _, at = read_varint(middle, at + 1)
        length, at = read_varint(middle, _expect(middle, at, 0x12))
        if middle[at : at + len(name)] == name:
            places.append(at)
        at += length
    return places


def _expect(data: memoryview, at: int, byte: int) -> int:
    if data[at] != byte:
        raise ValueError
    return at + 1


def _skip(data: memoryview, at: int) -> int:
    size, at = read_varint(data, at)
    return at + size


class RecordTemplate:
    """The bytes that all records of one tensor and one length share, and the places of the others.

    Attributes:
        dtype: Dtype of the tensor.
        shape: Shape of the tensor.
        content: Start and end of the content.
        samples: The bytes before and after the content, each with a mask of the bits that all records share.
    """

    __slots__ = ("_after_mode_step", "_before_mode_step", "_head", "_middle", "content", "dtype", "samples", "shape")

    def __init__(self, record: memoryview, value: Array, step_end: int, content: tuple[int, int]) -> None:
        begin, end = content
        head, tail = bytes(record[:begin]), bytes(record[end:])
        mode_step = tail.index(_MODE_STEP) + len(_MODE_STEP) + 1
        mode_step_end = mode_step + tail[mode_step - 1]
        if mode_step_end > len(tail) - FOOTER_BYTES:
            raise ValueError
        self.dtype = value.dtype
        self.shape = value.shape
        self.content = content
        self._head = head[: HEADER_BYTES + 1]
        self._middle = head[step_end:]
        self._before_mode_step = (end + mode_step, tail[:mode_step])
        self._after_mode_step = (end + mode_step_end, tail[mode_step_end:])
        head_mask, tail_mask = np.full(begin, 0xFF, np.uint8), np.full(len(tail), 0xFF, np.uint8)
        head_mask[HEADER_BYTES + 1 : _WALL_TIME_END] = 0
        head_mask[_WALL_TIME_END + 1 : step_end] = 0x80  # the bits that hold the length of the number
        tail_mask[mode_step:mode_step_end] = 0
        self.samples = [(np.frombuffer(head, np.uint8), head_mask), (np.frombuffer(tail, np.uint8), tail_mask)]

    @classmethod
    def of(cls, record: Buffer, value: Array) -> RecordTemplate | None:
        """Return the template of a decoded record; None if the record has an unknown layout.

        A record with a true checksum has no template, because a checksum detects more damage than a comparison.
        """
        if not value.size or value.dtype.kind in "UO" or bytes(record[-FOOTER_BYTES:]) != CONSTANT_FOOTER:
            return None
        whole = memoryview(record)
        try:
            step_end, begin, end = _content_span(whole)
            if end - begin != value.nbytes:
                return None
            return cls(whole, value, step_end, (begin, end))
        except (IndexError, ValueError):
            return None

    def value(self, record: Buffer, step: int) -> Array | None:
        """Return the tensor of a record of the same length; None if the record does not match the template."""
        begin, end = self.content
        (mode_step, before), (after, rest) = self._before_mode_step, self._after_mode_step
        if (
            record[: HEADER_BYTES + 1] != self._head
            or record[_WALL_TIME_END:begin] != _step_field(step) + self._middle
            or record[end:mode_step] != before
            or record[after:] != rest
        ):
            return None
        if end - begin <= _COPIED_BYTES:  # a copy of the content is aligned and keeps no other bytes alive
            array: Array = np.frombuffer(bytes(record[begin:end]), self.dtype)
        else:
            array = np.frombuffer(record, np.uint8)[begin:end].view(self.dtype)
            if not array.flags.aligned:
                array = array.copy()
            array.flags.writeable = False
        return array if len(self.shape) == 1 else array.reshape(self.shape)

    def fits(self, heads: Array, tails: Array) -> npt.NDArray[np.bool_]:
        """Return which records of the same length match the template.

        Args:
            heads: ``(N, ...)``: bytes of the records before the content.
            tails: ``(N, ...)``: bytes of the records after the content.
        """
        (head, head_mask), (tail, tail_mask) = self.samples
        return _equals(heads, head, head_mask) & _equals(tails, tail, tail_mask)

    def shared(self, name: str) -> SharedTemplate | None:
        """Return the template for records that differ in the name as well; None if the name's places are unknown.

        Args:
            name: The name in the record of this template.
        """
        encoded = encode_name(name)
        try:
            places = _name_places(memoryview(self._middle), encoded)
        except (IndexError, ValueError):
            return None
        step_end = self.content[0] - len(self._middle)
        return SharedTemplate(self, [step_end + place for place in places])


class SharedTemplate:
    """A template for the records of many tensors: equally long, with equally long names, and of one dtype and shape.

    Args:
        template: The template of one of the tensors.
        name_places: The offsets of the name in a record.
    """

    __slots__ = ("_head", "_head_mask", "_name_places", "_tail", "_tail_mask", "template")

    def __init__(self, template: RecordTemplate, name_places: Sequence[int]) -> None:
        self.template = template
        self._name_places = name_places
        (self._head, self._head_mask), (self._tail, self._tail_mask) = template.samples

    def fits(self, records: Array, names: Array) -> npt.NDArray[np.bool_]:
        """Return which records match the template, as booleans of shape ``(R, N)``.

        Args:
            records: ``(R, N, bytes)``, uint8: R records of each of N tensors.
            names: ``(N, bytes)``, uint8: the encoded name of each tensor.
        """
        begin, end = self.template.content
        heads = np.tile(self._head, (len(names), 1))
        for place in self._name_places:
            heads[:, place : place + names.shape[1]] = names
        return _equals(records[..., :begin], heads, self._head_mask) & _equals(
            records[..., end:], self._tail, self._tail_mask
        )


def encode_name(name: str) -> bytes:
    """Return a name as records store it."""
    return name.encode("utf-8", "surrogatepass")


def _equals(data: Array, sample: Array, mask: Array) -> npt.NDArray[np.bool_]:
    """Return where the bits of the last axis that the mask selects are those of the sample."""
    differing = data ^ sample
    differing &= mask
    equals: npt.NDArray[np.bool_] = np.logical_not(differing.any(axis=-1))
    return equals


class RecordDecoder:
    """Decodes framed records. May be used from several threads."""

    def __init__(self) -> None:
        self._templates: dict[tuple[str, int], RecordTemplate] = {}
        self._lock = threading.Lock()

    def decode_with_template(self, record: Buffer, name: str, step: int) -> Array | None:
        """Return the value of a record that matches a template; None if none matches or the record is damaged.

        Args:
            record: The whole record, without other bytes.
            name: The stored name according to the index.
            step: The global step according to the index.
        """
        template = self.template(name, len(record))
        return None if template is None else template.value(record, step)

    def template(self, name: str, num_bytes: int) -> RecordTemplate | None:
        """Return the template for a name and a size; None if no such record has been decoded."""
        return self._templates.get((name, num_bytes))

    def learn(self, head: Buffer, tail: Buffer, num_bytes: int, name: str, where: str) -> RecordTemplate | None:
        """Return the template of a record from its first and last bytes; None if these do not suffice.

        Args:
            head: The first bytes.
            tail: The last bytes.
            num_bytes: Length of the record.
            name: The stored name according to the index.
            where: Name of the record in errors.
        """
        if bytes(tail[-FOOTER_BYTES:]) == CONSTANT_FOOTER:
            record = np.zeros(num_bytes, np.uint8).data  # the system allocates no memory for untouched pages
            record[: len(head)] = head
            record[num_bytes - len(tail) :] = tail
            with contextlib.suppress(CorruptRecordError):
                self._decode(record, name, where)
        return self.template(name, num_bytes)

    def decode(self, record: Buffer, name: str, where: str) -> Array:
        """Return the value of a record, decoded field by field.

        Args:
            record: The whole record, without other bytes.
            name: The stored name according to the index; the record must have the same.
            where: Name of the record in errors.

        Returns:
            A read-only, aligned array that shares no memory with other records.

        Raises:
            CorruptRecordError: The record does not match the index, or its bytes are damaged.
            MissingDependencyError: The dtype needs a package that is not installed.
        """
        value = self._decode(record, name, where)
        if not value.flags.aligned or (value.size and value.nbytes < len(record) // 2):
            value = _copy(value)
        return value

    def _decode(self, record: Buffer, name: str, where: str) -> Array:
        """Return the value as a view of the record, and keep the template of the record."""
        decoded = decode_payload(unframe(record, where), where)
        if decoded.name != name:
            raise CorruptRecordError(where, f"record holds tensor {decoded.name!r}, the index says {name!r}")
        value = decoded.value
        template = RecordTemplate.of(record, value)
        if template is not None:
            with self._lock:
                if len(self._templates) >= _MAX_TEMPLATES:
                    self._templates.clear()
                self._templates[name, len(record)] = template
        return value


def _copy(value: Array) -> Array:
    if math.prod(value.strides) == 0 and value.size > 1:
        return value  # a broadcast number takes no memory
    copy: np.ndarray[Any, Any] = value.copy()
    copy.flags.writeable = False
    return copy
