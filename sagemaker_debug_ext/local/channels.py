"""The input data of a job: what lies at its channels' locations appears in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.local.layout import JobFolder
from sagemaker_debug_ext.local.paths import Locations


def check_channels(request: Mapping[str, Any], locations: Locations) -> list[str]:
    """Return a line for each input channel whose data this machine does not have or cannot provide."""
    problems = (_problem(channel, locations) for channel in request.get("InputDataConfig", ()))
    return [
        f"InputDataConfig[{number}]: channel {request['InputDataConfig'][number]['ChannelName']!r} {problem}"
        for number, problem in enumerate(problems)
        if problem
    ]


def _problem(channel: Mapping[str, Any], locations: Locations) -> str | None:
    source = channel["DataSource"].get("S3DataSource")
    if source is None:
        return f"must have an S3DataSource (got {', '.join(channel['DataSource']) or 'none'})"
    if source.get("S3DataType", "S3Prefix") != "S3Prefix":
        return f"must have the S3DataType 'S3Prefix' on this machine (got {source['S3DataType']!r})"
    if channel.get("InputMode") == "Pipe":
        return "must have the InputMode 'File' or 'FastFile' on this machine (got 'Pipe')"
    try:
        path = locations.path(source["S3Uri"])
    except SMDebugValueError as error:
        return f"cannot be read: {error}"
    return None if _matches(path) else f"has no data: nothing lies at {source['S3Uri']!r}, that is {str(path)!r}"


def _matches(prefix: Path) -> list[Path]:
    """Return what an S3 prefix selects: the folder or file of that name, else all whose names begin with it."""
    if prefix.exists():
        return [prefix]
    if not prefix.parent.is_dir():
        return []
    return sorted(path for path in prefix.parent.iterdir() if path.name.startswith(prefix.name))


def link_channels(request: Mapping[str, Any], folder: JobFolder, locations: Locations) -> None:
    """Give every input channel a folder with its data.

    The data are linked, not copied: a job can use a large data set at once, and a script that writes into its input
    writes into the original.
    """
    for channel in request.get("InputDataConfig", ()):
        source = locations.path(channel["DataSource"]["S3DataSource"]["S3Uri"])
        target = folder.data / channel["ChannelName"]
        if source.is_dir():
            target.symlink_to(source, target_is_directory=True)
            continue
        target.mkdir()
        for path in _matches(source):
            (target / path.name).symlink_to(path)
