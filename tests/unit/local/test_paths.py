from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.local.paths import Locations, join_location, split_s3_uri
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.folder_sync import write_object

BUCKETS = st.text(string.ascii_lowercase + string.digits, min_size=3, max_size=20)
KEY_PARTS = st.text(string.printable, min_size=1, max_size=8).filter(
    lambda part: "/" not in part and part not in {".", ".."}
)


@given(BUCKETS, st.lists(KEY_PARTS, max_size=4))
def test_path_of_uri_and_back_is_the_same_uri(bucket: str, parts: list[str]) -> None:
    """An S3 URI and its folder stand for each other, and the folder is below the root."""
    locations = Locations("/somewhere")
    uri = "/".join([f"s3://{bucket}", *parts])
    path = locations.path(uri)
    assert path.is_relative_to(locations.s3_root / bucket)
    assert locations.uri(path) == uri


@given(st.text(max_size=30))
def test_path_of_any_key_never_leaves_the_bucket(key: str) -> None:
    """Whatever stands in a key, its file lies in the folder of its bucket, or the key is refused."""
    locations = Locations("/somewhere")
    try:
        path = locations.path(f"s3://bucket/{key}")
    except SMDebugValueError:
        return
    assert ".." not in path.parts
    assert path.is_relative_to(locations.s3_root / "bucket")


@pytest.mark.parametrize("key", ["..", "a/../b", "../other-bucket/key", "a/./b", "a\0b"])
def test_split_s3_uri_when_key_climbs_is_refused(key: str) -> None:
    """A key that would mean another folder is an error that shows the URI."""
    with pytest.raises(SMDebugValueError, match="must not hold"):
        split_s3_uri(f"s3://bucket/{key}")


@pytest.mark.parametrize("bucket", ["..", "UPPER", "a", "under_score", "-hyphen", "x" * 64])
def test_split_s3_uri_when_bucket_is_invalid_is_refused(bucket: str) -> None:
    """A bucket name that S3 does not allow is an error that shows it."""
    with pytest.raises(SMDebugValueError, match="the bucket of"):
        split_s3_uri(f"s3://{bucket}/key")


def test_split_s3_uri_without_a_bucket_is_refused() -> None:
    """A URI that names no bucket is an error that shows the form."""
    with pytest.raises(SMDebugValueError, match=r"must look like s3://bucket/key \(got 's3:///key'\)"):
        split_s3_uri("s3:///key")


def test_split_s3_uri_drops_repeated_and_closing_slashes() -> None:
    """Slashes separate; their number means nothing."""
    assert split_s3_uri("s3://bucket//a///b/") == ("bucket", "a/b")


def test_path_of_local_locations_is_that_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File URIs and plain paths name files of this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    locations = Locations("/somewhere")
    assert locations.path("file:///data/my%20set") == Path("/data/my set")
    assert locations.path("file://localhost/data") == Path("/data")
    assert locations.path("~/data") == Path("/home/me/data")
    assert locations.path("data/train.csv") == tmp_path / "data/train.csv"
    assert locations.uri(Path("/data")) == "/data"


@pytest.mark.parametrize("location", ["", "https://s3.amazonaws.com/bucket/key", "gs://bucket", "file://host/data"])
def test_path_of_other_locations_is_refused(location: str) -> None:
    """A location of another kind is an error that says which kinds there are."""
    with pytest.raises(SMDebugValueError, match="must"):
        Locations("/somewhere").path(location)


def test_join_location_uses_single_slashes() -> None:
    """Joined parts have exactly one slash between them, on every system."""
    assert join_location("s3://bucket/", "/job/", "debug-output") == "s3://bucket/job/debug-output"


def test_write_object_when_it_cannot_be_written_names_place_and_reason(tmp_path: Path) -> None:
    """A failure to write is one clear error, and leaves nothing half-written."""
    (tmp_path / "folder").write_text("a file where a folder must be")
    with pytest.raises(SMDebugRuntimeError, match=r"'folder/file' could not be written .*: a link or a file is in"):
        write_object(LocalBackend(tmp_path), "folder/file", [b"content"])
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
