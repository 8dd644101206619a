"""Records that look like an earlier one: the same values as field by field, or none, whatever is damaged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import CorruptRecordError
from sagemaker_debug_ext.store.format.messages import encode_record
from sagemaker_debug_ext.store.format.records import CONSTANT_FOOTER, masked_crc
from sagemaker_debug_ext.store.format.templates import RecordDecoder, find_content
from sagemaker_debug_ext.testing import strategies
from sagemaker_debug_ext.vocabulary import ModeKeys


def record(value, name="layer/weight", step=3, mode=ModeKeys.TRAIN, mode_step=5, wall_time=1.5):
    return b"".join(bytes(part) for part in encode_record(name, value, step, mode, mode_step, wall_time))


@given(
    strategies.arrays(), strategies.tensor_names, st.lists(st.tuples(strategies.steps, strategies.steps), min_size=1)
)
def test_records_when_alike_then_decoded_as_field_by_field(value, name, steps):
    """Whatever step and content a later record has, its value is that of the slow way, aligned and read-only."""
    decoder = RecordDecoder()
    for number, (step, mode_step) in enumerate(steps):
        content = np.roll(value, number)
        data = record(content, name, step, ModeKeys.EVAL, mode_step, float(number))
        expected = RecordDecoder().decode(data, name, "here")
        found = decoder.decode_with_template(data, name, step)
        if found is None:
            found = decoder.decode(data, name, "here")
        assert (found.dtype, found.shape, found.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())
        assert expected.tobytes() == np.ascontiguousarray(content).tobytes()
        assert found.flags.aligned
        assert not found.flags.writeable
        if number == 0 and value.size:
            assert decoder.decode_with_template(data, name, step) is not None


@pytest.mark.parametrize("name", ["w", "layer/weight"])
def test_record_when_any_bit_is_flipped_then_never_a_wrong_shape_or_name(name):
    """A damaged record gives nothing, or what the slow way gives."""
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    data = record(value, name)
    decoder = RecordDecoder()
    decoder.decode(data, name, "here")
    begin = find_content(data)
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            found = decoder.decode_with_template(bytes(damaged), name, 3)
            if found is None:
                continue
            assert (found.dtype, found.shape) == (value.dtype, value.shape)
            if not begin <= position < begin + value.nbytes:
                assert np.array_equal(found, value)


def test_record_with_a_true_checksum_when_damaged_then_found_out_every_time():
    """The checksum is looked at for each record; it is never spared by comparison."""
    payload = record(np.zeros(4))[12:-4]
    good = record(np.zeros(4))[:-4] + masked_crc(payload).to_bytes(4, "little")
    decoder = RecordDecoder()
    for _ in range(2):
        assert decoder.decode(good, "layer/weight", "here").tolist() == [0.0] * 4
        assert decoder.decode_with_template(good, "layer/weight", 3) is None
    damaged = bytearray(good)
    damaged[find_content(good)] ^= 1
    with pytest.raises(CorruptRecordError, match="footer"):
        decoder.decode(bytes(damaged), "layer/weight", "here")


@example(np.array(0, np.int8), "0\x80\x80\x80", 73, 4)  # zeros in a part of the name that was not read
@given(strategies.arrays(), strategies.tensor_names, st.integers(4, 400), st.integers(4, 400))
def test_learn_when_given_the_ends_of_a_record_then_the_template_of_all_of_it_or_none(value, name, num_head, num_tail):
    """Whatever of the content is among them, or of the rest is not."""
    data = record(value, name)
    head, tail = data[:num_head], data[-num_tail:]
    decoder = RecordDecoder()
    template = decoder.learn(head, tail, len(data), name, "here")
    begin = find_content(data)
    if begin is None:
        assert template is None
        return
    gap = range(num_head, len(data) - num_tail)
    found = None if template is None else template.value(data, 3)
    if not gap or (begin <= gap.start and gap.stop <= begin + value.nbytes):
        assert found is not None
        assert decoder.learn(b"", CONSTANT_FOOTER, len(data), name, "here") is template
    # With zeros for what was not read there may be a template, of this record or of none.
    assert found is None or found.tobytes() == np.ascontiguousarray(value).tobytes()


@pytest.mark.parametrize("position", [0, 8, 12, 30, -1, -5])
def test_learn_when_the_ends_are_damaged_or_of_another_tensor_then_nothing(position):
    """What is not sound is no pattern for others."""
    data = bytearray(record(np.zeros(1000), "w"))
    head, tail = data[:100], data[-100:]
    assert RecordDecoder().learn(head, tail, len(data), "v", "here") is None
    (head if position >= 0 else tail)[position] ^= 0xFF
    assert RecordDecoder().learn(head, tail, len(data), "w", "here") is None


def test_value_when_small_then_keeps_nothing_else_alive():
    """A number taken from a large block does not hold the block in memory."""
    data = record(np.float64(1.5).reshape(1))
    decoder = RecordDecoder()
    decoder.decode(data, "layer/weight", "here")
    value = decoder.decode_with_template(data, "layer/weight", 3)
    assert len(value.base) == value.nbytes


@given(strategies.arrays(), strategies.tensor_names)
def test_find_content_when_only_the_beginning_is_there_then_found_as_well(value, name):
    """The place of the content is known from what precedes it."""
    data = record(value, name)
    begin = find_content(data)
    if not value.size:
        assert begin is None
        return
    content = np.ascontiguousarray(value).tobytes()
    assert data[begin : begin + len(content)] == content
    assert find_content(data[:begin]) == begin
    assert find_content(data[: begin - 1]) is None


@given(st.binary(max_size=100))
def test_find_content_when_given_anything_then_no_error(data):
    """Bytes that are no record have no content."""
    find_content(data)
    find_content(b"\0" * 12 + data + CONSTANT_FOOTER)
