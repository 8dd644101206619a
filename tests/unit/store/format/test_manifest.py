"""Collections files."""

import json

import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.store.format import manifest
from sagemaker_debug_ext.store.writer import TrialWriter


def test_collections_are_read_as_written():
    """Each worker has a file of its own, found by its name."""
    backend = MemoryBackend()
    for worker in ("worker_1", "worker_0"):
        TrialWriter(backend, worker).write_collections([{"name": "losses", "include_regex": ["loss"]}], 2)
    assert list(manifest.list_collections(backend)) == ["worker_0", "worker_1"]
    content = manifest.read_collections(backend, manifest.list_collections(backend)["worker_1"])
    assert content == manifest.CollectionsFile({"losses": {"name": "losses", "include_regex": ["loss"]}}, 2)


@pytest.mark.parametrize(
    ("meta", "expected"), [({}, 1), (None, 1), ({"num_workers": "4"}, 4), ({"num_workers": 2, "x": 1}, 2)]
)
def test_worker_count_may_be_missing_or_text(meta, expected):
    """Older files spell the count as text or leave it out."""
    text = json.dumps({"collections": {}, "_meta": meta})
    assert manifest.CollectionsFile.from_json(text, "here").num_workers == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"collections": []}',
        '{"collections": {"a": 1}}',
        '{"collections": {"a": {}}}',
        '{"collections": {"a": {"name": 5}}}',
        '{"collections": {}, "_meta": {"num_workers": 0}}',
    ],
)
def test_damaged_collections_file_is_named(text):
    """The error names the file."""
    with pytest.raises(SMDebugValueError, match="collections/x"):
        manifest.CollectionsFile.from_json(text, "collections/x")


def test_read_collections_when_gone_says_so():
    """A file that vanished after it was listed is an error of the same kind."""
    with pytest.raises(SMDebugValueError, match="is gone"):
        manifest.read_collections(MemoryBackend(), "collections/000000000/worker_0_collections.json")


def test_foreign_file_among_collections_is_passed_over():
    """Only files whose name ends as a collections file's are listed."""
    backend = MemoryBackend()
    backend.write("collections/000000000/readme.txt", (b"",))
    assert manifest.list_collections(backend) == {}


def test_list_collections_when_a_name_is_no_workers_then_passed_over():
    """A file that is named like the ending alone belongs to nobody."""
    backend = MemoryBackend()
    backend.write("collections/000000000/_collections.json", (b"{}",))
    backend.write("collections/000000000/worker_0_collections.json", (b"{}",))
    assert list(manifest.list_collections(backend)) == ["worker_0"]
