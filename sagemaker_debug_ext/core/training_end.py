"""The end marker of a trial, as scripts that follow or write trials by hand use it."""

from __future__ import annotations

import os

from sagemaker_debug_ext.core.utils import is_s3, is_sagemaker_job
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.job_end import check_not_ended, has_ended, write_end

__all__ = ["check_dir_exists", "has_training_ended", "training_has_ended", "verify_and_get_out_dir"]


def has_training_ended(trial_prefix: str) -> bool:
    """Return whether the job that writes to a folder or S3 URL has ended."""
    return has_ended(open_backend(trial_prefix))


def training_has_ended(trial_prefix: str) -> None:
    """Mark the job as ended. Inside a SageMaker job this does nothing, because the service writes the marker."""
    if not is_sagemaker_job():
        write_end(open_backend(trial_prefix))


def check_dir_exists(path: str) -> bool:
    """Return whether a folder or S3 URL holds the output of a job that has ended."""
    return has_training_ended(path)


def verify_and_get_out_dir(out_dir: str) -> str:
    """Return the folder or S3 URL for a new trial; ``~`` is expanded.

    Raises:
        SMDebugRuntimeError: It holds a trial that has ended.
    """
    check_not_ended(open_backend(out_dir))
    return out_dir if is_s3(out_dir)[0] else os.path.expanduser(out_dir)
