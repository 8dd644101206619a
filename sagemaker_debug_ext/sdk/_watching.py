"""The watcher of a self-managed job in the process of its submitter: `watch_here`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sagemaker_debug_ext._s3_urls import KMS_VARIABLE
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.sdk._job_output import unpack_trial
from sagemaker_debug_ext.sdk.self_managed import UNKNOWN_STATUS
from sagemaker_debug_ext.watch.program import EXIT_DONE, Watcher, follow_job, watch
from sagemaker_debug_ext.watch.status import FINAL_JOB_STATUSES

if TYPE_CHECKING:
    from sagemaker_debug_ext.config.job_spec import JobSpec


@attrs.frozen
class _DescribedJob:
    """A job that a function describes."""

    describe: Callable[[], Mapping[str, Any]]

    def has_ended(self) -> bool:
        return self.describe()["TrainingJobStatus"] in FINAL_JOB_STATUSES

    def stop(self) -> None:
        """Do nothing: the watcher stops jobs of SageMaker by their names."""


@contextlib.contextmanager
def _key_of(description: Mapping[str, Any]) -> Iterator[None]:
    """Within the block, encrypt everything that this process writes to S3 with the key that a job names."""
    key = (description.get("Environment") or {}).get(KMS_VARIABLE)
    before = os.environ.get(KMS_VARIABLE)
    if key:
        os.environ[KMS_VARIABLE] = key
    try:
        yield
    finally:
        if before is not None:
            os.environ[KMS_VARIABLE] = before
        elif key:
            del os.environ[KMS_VARIABLE]


def watch_here(
    spec: JobSpec,
    description: Mapping[str, Any],
    describe: Callable[[], Mapping[str, Any]] | None,
    *,
    has_ended: bool = False,
) -> None:
    """Evaluate the rules of a job in this process until they have ended, unless another watcher does.

    Args:
        spec: The settings of the job, with the locations that are read here.
        description: The description of the job.
        describe: Describes the job anew; None if nobody does.
        has_ended: Whether the job has ended, if its status is unknown. Its trial is marked as ended then.

    Raises:
        SMDebugRuntimeError: Another watcher has taken over.
        SMDebugValueError: The job ships its tensors at its end, which has not come.
    """
    name = str(description["TrainingJobName"])
    is_known = description["TrainingJobStatus"] != UNKNOWN_STATUS
    if is_known:
        has_ended = description["TrainingJobStatus"] in FINAL_JOB_STATUSES
    must_unpack = spec.ship == "end" and is_known
    if must_unpack and not has_ended:
        raise SMDebugValueError(f"job must have ended, because it ships its tensors then (got {name!r})")

    def follow(watcher: Watcher) -> None:
        if describe is not None and is_known and not has_ended:
            follow_job(_DescribedJob(describe), watcher)

    with _key_of(description):
        if must_unpack:
            unpack_trial(spec, description)
        exit_code = watch(spec, name, place="here", has_ended_training=has_ended, watch_parent=follow)
    if exit_code != EXIT_DONE:
        raise SMDebugRuntimeError(f"another watcher has taken over job {name!r}")
