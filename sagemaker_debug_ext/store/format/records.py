"""Framing of one record: length, checksum of the length, payload, footer (store format, section 2.1)."""

from __future__ import annotations

import functools
import struct
from typing import TYPE_CHECKING, Final

import google_crc32c

from sagemaker_debug_ext.errors import CorruptRecordError

if TYPE_CHECKING:
    from sagemaker_debug_ext.store.backends.base import Buffer

_HEADER: Final = struct.Struct("<QI")
_LENGTH: Final = struct.Struct("<Q")
_FOOTER: Final = struct.Struct("<I")

HEADER_BYTES: Final = _HEADER.size
FOOTER_BYTES: Final = _FOOTER.size
FRAMING_BYTES: Final = HEADER_BYTES + FOOTER_BYTES
"""Size of the framing of a payload, in bytes."""

_MASK_DELTA: Final = 0xA282EAD8
_UINT32: Final = 0xFFFFFFFF


_CHUNK_BYTES: Final = 1 << 20


def masked_crc(data: Buffer) -> int:
    """Return the CRC32C of `data`, rotated right by 15 bits and shifted by a constant, as the format stores it."""
    crc: int = 0
    # In chunks, because the library only accepts bytes, which are a copy.
    for start in range(0, len(data), _CHUNK_BYTES):
        crc = google_crc32c.extend(crc, bytes(data[start : start + _CHUNK_BYTES]))
    rotated = (crc >> 15) | (crc << 17)
    return (rotated + _MASK_DELTA) & _UINT32


CONSTANT_FOOTER: Final = _FOOTER.pack(masked_crc(b"0x12345678"))
"""Footer of every record in ``events/``: the checksum of a fixed text, not of the payload."""


@functools.lru_cache(maxsize=4096)
def header(payload_bytes: int) -> bytes:
    """Return the framing that precedes a payload of that length."""
    return _HEADER.pack(payload_bytes, masked_crc(_LENGTH.pack(payload_bytes)))


def unframe(record: Buffer, where: str) -> memoryview:
    """Return the payload of one framed record, without a copy.

    The footer may be the constant of ``events/`` files or the true checksum of the payload.

    Args:
        record: The whole record and nothing else.
        where: Name of the record in errors.

    Raises:
        CorruptRecordError: The record is truncated, or a length or checksum does not match.
    """
    if len(record) < FRAMING_BYTES:
        raise CorruptRecordError(where, f"record of {len(record)} bytes is shorter than its framing")
    length, length_crc = _HEADER.unpack_from(record)
    expected_crc = masked_crc(record[: _LENGTH.size])
    if length_crc != expected_crc:
        raise CorruptRecordError(
            where, f"checksum of the record's length is {length_crc:#010x}, not {expected_crc:#010x}"
        )
    if length != len(record) - FRAMING_BYTES:
        raise CorruptRecordError(
            where, f"record says {length} bytes of payload, the index {len(record) - FRAMING_BYTES}"
        )
    payload = memoryview(record)[HEADER_BYTES:-FOOTER_BYTES]
    footer = bytes(record[-FOOTER_BYTES:])
    if footer != CONSTANT_FOOTER:
        payload_crc = masked_crc(payload)
        if footer != _FOOTER.pack(payload_crc):
            found = _FOOTER.unpack(footer)[0]
            raise CorruptRecordError(where, f"footer {found:#010x} is neither the constant nor {payload_crc:#010x}")
    return payload
