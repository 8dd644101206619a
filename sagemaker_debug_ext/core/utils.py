"""Helpers under the module path from which tests and rule containers for Debugger import them."""

from __future__ import annotations

import enum
import os

import numpy as np

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext._s3_urls import SCHEME
from sagemaker_debug_ext.errors import SMDebugNotImplementedError, SMDebugTypeError
from sagemaker_debug_ext.store.format.keys import COLLECTIONS_PREFIX, parse_event_key, parse_index_key
from sagemaker_debug_ext.store.format.messages import Array, to_array

__all__ = [
    "FRAMEWORK",
    "get_aws_region_from_processing_job_arn",
    "get_path_to_collections",
    "is_framework_version_supported",
    "is_s3",
    "is_sagemaker_job",
    "make_numpy_array",
    "parse_worker_name_from_file",
    "reset_config_validator",
]


class FRAMEWORK(enum.Enum):
    """The frameworks that have hooks."""

    PYTORCH = "pytorch"
    TENSORFLOW = "tensorflow"
    MXNET = "mxnet"
    XGBOOST = "xgboost"


def is_framework_version_supported(framework_type: object) -> bool:
    """Return True: hooks work with every release of a framework that this package installs with.

    Raises:
        SMDebugNotImplementedError: There is no hook for it.
    """
    if not isinstance(framework_type, FRAMEWORK):
        names = ", ".join(map(str, FRAMEWORK))
        raise SMDebugNotImplementedError(f"framework_type must be one of {names} (got {framework_type!r})")
    return True


def reset_config_validator() -> None:
    """Do nothing: no hook remembers whether a job was found to be supported."""


def is_s3(path: str) -> tuple[bool, str | None, str | None]:
    """Return whether a path is an S3 URL, its bucket and its key; bucket and key are None for other paths."""
    if not path.startswith(SCHEME):
        return False, None, None
    bucket, _, key = path.removeprefix(SCHEME).partition("/")
    return True, bucket, key


def is_sagemaker_job() -> bool:
    """Return whether this process belongs to a SageMaker training job."""
    return "TRAINING_JOB_NAME" in os.environ


def get_aws_region_from_processing_job_arn(processing_job_arn: str) -> str:
    """Return the region in the ARN of a job."""
    return processing_job_arn.split(":")[3]


def get_path_to_collections(directory: str) -> str:
    """Return the folder of a trial's collections files, with a slash at its end."""
    return f"{directory}/{COLLECTIONS_PREFIX}"


def parse_worker_name_from_file(filename: str) -> str:
    """Return the worker from the path of an index or event file.

    Raises:
        IndexReaderException: The path is not that of an index or event file.
    """
    parse = parse_event_key if filename.endswith(".tfevents") else parse_index_key
    return parse(filename).worker


def make_numpy_array(x: object) -> Array:
    """Return a value as an array; a number becomes an array of one element, and a dictionary an array of no dimension.

    Raises:
        SMDebugTypeError: The value is no array, number, string, list, tuple or dictionary.
    """
    if isinstance(x, dict):
        return np.array(x)  # of objects, which cannot be saved
    if x is None or isinstance(x, set):
        raise SMDebugTypeError(f"an array, number, string, list, tuple or dictionary was expected (got {x!r})")
    array = to_array(x)
    return array if array.ndim or hasattr(x, "ndim") else array.reshape(1)


__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
