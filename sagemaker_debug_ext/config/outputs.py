"""Location of TensorBoard data: `TensorBoardOutputConfig`."""

from __future__ import annotations

from typing import Any, Final

import attrs

from sagemaker_debug_ext.config._fields import Text, is_local_path, is_s3_path, present
from sagemaker_debug_ext.errors import SMDebugValueError

RESERVED_LOCAL_PATHS: Final = ("/opt/ml", "/tmp", "/usr/local/nvidia")  # noqa: S108  # names, not files of ours
"""Folders that the service rejects as TensorBoard's local path, although its own default is in the first one."""

DEFAULT_LOCAL_PATH: Final = "/opt/ml/output/tensorboard"
"""The service's default; scripts often give it, so it is accepted, and left out of requests."""


def reserved_folder(local_path: str) -> str | None:
    """Return the reserved folder that contains `local_path`, or None."""
    return next((folder for folder in RESERVED_LOCAL_PATHS if f"{local_path}/".startswith(f"{folder}/")), None)


def _is_default(local_path: object) -> bool:
    return isinstance(local_path, str) and local_path.rstrip("/") == DEFAULT_LOCAL_PATH


def _is_allowed_local_path(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    is_local_path(instance, attribute, value)
    if isinstance(value, str) and not _is_default(value) and reserved_folder(value):
        raise SMDebugValueError(
            f"TensorBoardOutputConfig.{attribute.name} must not lie in {', '.join(RESERVED_LOCAL_PATHS)}: the service "
            f"refuses it; leave it out for the default (got {value!r})"
        )


@attrs.frozen
class TensorBoardOutputConfig:
    """Requests TensorBoard data from a job.

    Args:
        s3_output_path: S3 location for the data; the service appends ``<job name>/tensorboard-output``. The output path
            of the job by default.
        container_local_output_path: Folder inside the container; ``/opt/ml/output/tensorboard`` by default.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: A path is invalid, or is in a folder that the service reserves and not its default.
    """

    s3_output_path: Text | None = attrs.field(default=None, validator=is_s3_path)
    container_local_output_path: Text | None = attrs.field(default=None, validator=_is_allowed_local_path)

    def to_request_dict(self) -> dict[str, Any]:
        """Return the member ``TensorBoardOutputConfig``; unset paths and the default local path are left out."""
        path = self.container_local_output_path
        return present({"S3OutputPath": self.s3_output_path, "LocalPath": None if _is_default(path) else path})

    _to_request_dict = to_request_dict  # the SDK's name, which published code calls
