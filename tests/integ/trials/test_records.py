"""Every record of the golden trials, decoded and encoded again, is the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.messages import decode_payload, encode_record
from sagemaker_debug_ext.store.format.records import unframe
from sagemaker_debug_ext.store.reader import list_index, read_index

NAMES = sorted(path.name.removesuffix(".tar.gz") for path in (Path(__file__).parents[2] / "golden").glob("*.tar.gz"))


@pytest.mark.parametrize("name", NAMES)
def test_golden_records_when_encoded_again_then_byte_for_byte_the_same(unpack, name):
    """What the original wrote is what this package writes, framing, order of fields and footer included."""
    backend = LocalBackend(unpack(name).trial_path)
    num_records = 0
    for info in list_index(backend):
        index = read_index(backend, info.key)
        for tensor, location in index.tensors.items():
            record = backend.read(index.event_file, *location)
            assert record is not None
            found = decode_payload(unframe(record, tensor), tensor)
            again = encode_record(found.name, found.value, found.step, found.mode, found.mode_step, found.wall_time)
            assert b"".join(bytes(part) for part in again) == record, (info.key, tensor)
            num_records += 1
    assert num_records or name == "torch_shapes"


@pytest.mark.parametrize("name", NAMES)
def test_golden_index_files_when_encoded_again_then_byte_for_byte_the_same(unpack, name):
    """The same holds for what says where the records are."""
    backend = LocalBackend(unpack(name).trial_path)
    for info in list_index(backend):
        content = bytes(backend.read(info.key))
        index = read_index(backend, info.key)
        if content.count(b'"tensorname"') == len(index.tensors) + len(index.shapes):  # else a name occurs twice
            assert index.to_json().encode() == content
