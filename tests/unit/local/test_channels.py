from __future__ import annotations

from typing import Any

import pytest

from sagemaker_debug_ext.local.channels import check_channels, link_channels
from sagemaker_debug_ext.local.layout import JobFolder
from sagemaker_debug_ext.local.paths import Locations


def channel(uri: str = "s3://bucket/data", name: str = "train", **source: Any) -> dict[str, Any]:
    return {"ChannelName": name, "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri, **source}}}


@pytest.fixture(autouse=True)
def _data(locations: Locations, folder: JobFolder) -> None:
    data = locations.s3_root / "bucket" / "data"
    (data / "nested").mkdir(parents=True)
    (data / "part-1.csv").write_text("1")
    (data / "part-2.csv").write_text("2")
    (data / "nested" / "part-3.csv").write_text("3")
    folder.data.mkdir(parents=True)


@pytest.mark.parametrize(
    ("uri", "files"),
    [
        ("s3://bucket/data", {"part-1.csv", "part-2.csv", "nested"}),
        ("s3://bucket/data/", {"part-1.csv", "part-2.csv", "nested"}),
        ("s3://bucket/data/part-2.csv", {"part-2.csv"}),
        ("s3://bucket/data/part", {"part-1.csv", "part-2.csv"}),
        ("s3://bucket/data/n", {"nested"}),
    ],
)
def test_link_channels_selects_what_the_prefix_selects(
    uri: str, files: set[str], locations: Locations, folder: JobFolder
) -> None:
    """A location is a prefix: a folder, one file, or all names that begin so."""
    request = {"InputDataConfig": [channel(uri)]}
    assert check_channels(request, locations) == []
    link_channels(request, folder, locations)
    target = folder.data / "train"
    assert {path.name for path in target.iterdir()} == files
    assert all(path.exists() for path in target.iterdir())


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (channel("s3://bucket/nowhere"), "channel 'train' has no data: nothing exists at 's3://bucket/nowhere'"),
        (channel("s3://nowhere/data"), "nothing exists at 's3://nowhere/data'"),
        (channel("s3://bucket/../data"), "cannot be read"),
        (channel(S3DataType="ManifestFile"), "must have the S3DataType 'S3Prefix'"),
        ({**channel(), "InputMode": "Pipe"}, r"InputMode 'File' or 'FastFile'"),
        ({"ChannelName": "train", "DataSource": {"FileSystemDataSource": {}}}, r"got FileSystemDataSource"),
    ],
)
def test_check_channels_of_unreadable_channel_names_it(bad: dict[str, Any], problem: str, locations: Locations) -> None:
    """Each channel that cannot be provided is told by number, name and reason, and good ones are not."""
    (found,) = check_channels({"InputDataConfig": [channel(), bad]}, locations)
    assert found.startswith("InputDataConfig[1]: channel 'train' ")
    assert problem in found


def test_check_channels_without_channels_finds_nothing(locations: Locations) -> None:
    """A job needs no input."""
    assert check_channels({}, locations) == []
