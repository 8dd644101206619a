"""Input channels of a job: the data at their locations are linked into the job's folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.local.layout import JobFolder
from sagemaker_debug_ext.local.paths import Locations


def check_channels(request: Mapping[str, Any], locations: Locations) -> list[str]:
    """Return a problem for each input channel whose data are missing or cannot be provided on this machine."""
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
        path = locations.input_path(source["S3Uri"])
        found = _matches(path)
    except (SMDebugValueError, OSError) as error:
        return f"cannot be read: {error}"
    return None if found else f"has no data: nothing exists at {source['S3Uri']!r}, that is {str(path)!r}"


def _matches(prefix: Path) -> list[Path]:
    """Return the paths that an S3 prefix selects: the folder or file of that name, else all that begin with it."""
    if prefix.exists():
        return [prefix]
    if not prefix.parent.is_dir():
        return []
    return sorted(path for path in prefix.parent.iterdir() if path.name.startswith(prefix.name))


def link_channels(request: Mapping[str, Any], folder: JobFolder, locations: Locations) -> None:
    """Create a folder with the data of each input channel.

    The data are linked, not copied, so a job can start at once with a large data set. A script that writes into its
    input therefore modifies the original.
    """
    for channel in request.get("InputDataConfig", ()):
        source = locations.input_path(channel["DataSource"]["S3DataSource"]["S3Uri"])
        target = folder.data / channel["ChannelName"]
        if source.is_dir():
            target.symlink_to(source, target_is_directory=True)
            continue
        target.mkdir()
        for path in _matches(source):
            (target / path.name).symlink_to(path)
