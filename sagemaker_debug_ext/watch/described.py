"""The settings of a self-managed job as its request or description holds them: in variables, or in an input channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sagemaker_debug_ext.config.job_channel import CHANNEL_NAME, SPEC_FILE
from sagemaker_debug_ext.config.job_spec import JobSpec, decode_job_spec
from sagemaker_debug_ext.errors import JobSpecError
from sagemaker_debug_ext.store.backends import open_backend


def spec_of_description(job: Mapping[str, Any]) -> JobSpec | None:
    """Return the settings of a self-managed job; None for other jobs. Those in a channel take one request to S3.

    Locations are those that are read outside the container.

    Args:
        job: A request or a description.

    Raises:
        JobSpecError: The environment of the job holds a damaged job spec, or the file of its channel is gone.
        StorageError: The file of its channel cannot be read.
    """
    spec = decode_job_spec(job.get("Environment") or {}, lambda: _read_channel(job))
    return None if spec is None else spec.seen_outside(job)


def _read_channel(job: Mapping[str, Any]) -> bytes:
    for channel in job.get("InputDataConfig") or ():
        if channel["ChannelName"] == CHANNEL_NAME:
            location = channel["DataSource"]["S3DataSource"]["S3Uri"].rstrip("/")
            content = open_backend(location).read(SPEC_FILE)
            if content is None:
                raise JobSpecError(f"the settings of the job must be in {location}/{SPEC_FILE}, which is gone")
            return bytes(content)
    raise JobSpecError(f"the settings of the job must be in the input channel {CHANNEL_NAME}, which it does not have")
