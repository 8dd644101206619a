"""Framing: the byte vectors of the format, and every kind of damage."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import CorruptRecordError
from sagemaker_debug_ext.store.format import records


def framed(payload: bytes, footer: bytes = records.CONSTANT_FOOTER) -> bytes:
    return records.header(len(payload)) + payload + footer


def test_checksum_has_the_published_values():
    """The masked checksum agrees with the format's own examples."""
    assert struct.pack("<I", records.masked_crc(struct.pack("<Q", 93))) == bytes.fromhex("615bbbb9")
    assert bytes.fromhex("b3c02d06") == records.CONSTANT_FOOTER


@given(st.binary(max_size=200))
def test_unframe_is_the_inverse_of_framing(payload):
    """A payload comes back, under the constant footer and under its true checksum."""
    true_footer = struct.pack("<I", records.masked_crc(payload))
    assert records.unframe(framed(payload), "here") == payload
    assert records.unframe(framed(payload, true_footer), "here") == payload


def test_unframe_does_not_copy():
    """The payload is a view of the record's own bytes."""
    record = framed(b"payload")
    assert records.unframe(record, "here").obj is record


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("byte", range(records.HEADER_BYTES))
def test_unframe_when_the_header_is_damaged_raises(byte, bit):
    """No flipped bit of the length or its checksum goes unnoticed."""
    record = bytearray(framed(b"some payload"))
    record[byte] ^= 1 << bit
    with pytest.raises(CorruptRecordError, match="here"):
        records.unframe(bytes(record), "here")


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("byte", range(1, records.FOOTER_BYTES + 1))
def test_unframe_when_the_footer_is_damaged_raises(byte, bit):
    """A footer that is neither constant nor true checksum is refused."""
    record = bytearray(framed(b"some payload"))
    record[-byte] ^= 1 << bit
    with pytest.raises(CorruptRecordError, match="footer"):
        records.unframe(bytes(record), "here")


def test_unframe_when_the_payload_is_damaged_under_a_true_checksum_raises():
    """Where the true checksum is stored, a flipped bit of the payload is found."""
    payload = b"some payload"
    record = bytearray(framed(payload, struct.pack("<I", records.masked_crc(payload))))
    record[records.HEADER_BYTES + 3] ^= 4
    with pytest.raises(CorruptRecordError, match="footer"):
        records.unframe(bytes(record), "here")


@given(st.integers(0, 27))
def test_unframe_when_cut_off_raises(length):
    """A record that ends early is refused, wherever it ends."""
    record = framed(b"some payload")
    assert len(record) == 28
    with pytest.raises(CorruptRecordError):
        records.unframe(record[:length], "here")
