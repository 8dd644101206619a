"""The input channel that carries the job spec of a self-managed job whose settings do not fit into its environment.

The channel is a folder on S3 with one file, the JSON text of the spec. Its location holds the checksum of the text, so
that equal settings result in equal requests. One environment variable says that the channel is to be read, and holds a
checksum, too.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.errors import JobSpecError

CHANNEL_NAME: Final = "sagemaker_debug_ext"
"""Name of the channel; without a hyphen, because SageMaker makes an environment variable of it."""

SPEC_FILE: Final = "job.json"
"""Name of the file in the channel."""

FOLDER_VARIABLE: Final = "SM_CHANNEL_SAGEMAKER_DEBUG_EXT"
DEFAULT_FOLDER: Final = f"/opt/ml/input/data/{CHANNEL_NAME}"

_FORM: Final = "1.0.{:08x}.channel"
_PATTERN: Final = re.compile(r"1\.0\.[0-9a-f]{8}\.channel")


def channel_location(prefix: str, text: bytes) -> str:
    """Return the S3 location of the channel for the JSON text of a spec.

    Args:
        prefix: The S3 location below which the hook writes.
        text: The JSON text, UTF-8.
    """
    return f"{prefix.rstrip('/')}/_specs/{hashlib.sha256(text).hexdigest()}"


def channel_input(location: str) -> dict[str, Any]:
    """Return the member of ``InputDataConfig`` for the channel at an S3 location."""
    source = {"S3DataType": "S3Prefix", "S3Uri": f"{location}/", "S3DataDistributionType": "FullyReplicated"}
    return {"ChannelName": CHANNEL_NAME, "InputMode": "File", "DataSource": {"S3DataSource": source}}


def channel_header(text: bytes) -> str:
    """Return the value of the first variable of a job whose spec is in a channel."""
    return _FORM.format(zlib.crc32(text))


def is_channel_header(value: str) -> bool:
    """Return whether the value of the first variable says that the spec is in a channel."""
    return _PATTERN.fullmatch(value) is not None


def read_channel(environ: Mapping[str, str]) -> bytes:
    """Return the content of the channel inside the container.

    Raises:
        JobSpecError: The file is missing or cannot be read.
    """
    path = Path(environ.get(FOLDER_VARIABLE) or DEFAULT_FOLDER, SPEC_FILE)
    try:
        return path.read_bytes()
    except OSError as error:
        raise JobSpecError(
            f"the job spec is in the input channel {CHANNEL_NAME}, but {path} cannot be read ({error.strerror}); "
            f"{FOLDER_VARIABLE} names another folder"
        ) from error


def check_channel(text: bytes, header: str) -> bytes:
    """Return the content of a channel that belongs to the value of the first variable.

    Raises:
        JobSpecError: The content differs from that which was submitted.
    """
    if channel_header(text) != header:
        raise JobSpecError(f"{SPEC_FILE} of the input channel {CHANNEL_NAME} has changed since the job was submitted")
    return text
