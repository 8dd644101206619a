"""Descriptions of jobs: the ``describe_training_job`` response, in memory and as a file for other processes."""

from __future__ import annotations

import copy
import datetime as dt
import fcntl
import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.local.layout import JobFolder
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.folder_sync import write_object
from sagemaker_debug_ext.watch.evaluation import now

MAX_REASON_LENGTH: Final = 1024
"""Maximum length of SageMaker's ``FailureReason`` and ``StatusDetails``."""

FINAL_STATUSES: Final = frozenset({"Completed", "Failed", "Stopped"})

_LOG: Final = logging.getLogger(__name__)
_ROOM_TO_GROW: Final = 64 << 10  # bytes for transitions, rule statuses and a reason that a description gains in a job
_NO_ACCOUNT: Final = "000000000000"
_JOB_NAME: Final = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
_TIMES: Final = frozenset(
    {"CreationTime", "LastModifiedTime", "TrainingStartTime", "TrainingEndTime", "StartTime", "EndTime"}
)
_TELLS: Final = {
    "Starting": "Preparing the job",
    "Downloading": "Linking the input data and unpacking the source",
    "Training": "The entry point is running",
    "Interrupted": "The machine of the training job was taken away",
    "Uploading": "Copying the outputs",
    "Stopping": "Stopping the training job",
    "Stopped": "The training job was stopped",
    "MaxRuntimeExceeded": "The training job ran longer than MaxRuntimeInSeconds and was stopped",
    "Completed": "The training job has completed",
    "Failed": "The training job has failed",
}


def shorten(text: str, length: int = MAX_REASON_LENGTH, keep_end: bool = False) -> str:
    """Truncate a string at its end, or at its start if `keep_end`; by default to SageMaker's length of a reason."""
    if len(text) <= length:
        return text
    return "…" + text[1 - length :] if keep_end else text[: length - 1] + "…"


def check_job_name(name: object) -> str:
    """Return the name of a job if it is valid.

    Raises:
        SMDebugValueError: SageMaker would reject the name.
    """
    if not isinstance(name, str) or not _JOB_NAME.fullmatch(name):
        raise SMDebugValueError(
            f"TrainingJobName must be 1 to 63 letters, digits or hyphens, with no hyphen at either end (got {name!r})"
        )
    return name


def rule_job_name(job: str, rule: str) -> str:
    """Name a rule's evaluation as SageMaker does: job, rule and some digits, in at most 63 characters."""
    digits = hashlib.sha256(f"{job}/{rule}".encode()).hexdigest()[:8]
    return f"{job[:26]}-{rule[:26]}-{digits}".lower()


def job_arn(request: Mapping[str, Any], kind: str = "training-job", name: str | None = None) -> str:
    """Return the ARN of a job of the request, with the account of its role if it has one."""
    role = str(request.get("RoleArn", "")).split(":")
    partition, account = (role[1], role[4]) if len(role) > 5 and role[4] else ("aws", _NO_ACCOUNT)
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    return f"arn:{partition}:sagemaker:{region}:{account}:{kind}/{name or request['TrainingJobName']}"


class Description:
    """The state of a job, written to its folder as JSON after every change.

    It is not thread-safe; its owner holds a lock.

    Args:
        request: The CreateTrainingJob request, whose members the description repeats.
        folder: The job's folder.
        on_change: Called with status, secondary status and reason after every change of status.
    """

    def __init__(
        self, request: Mapping[str, Any], folder: JobFolder, on_change: Callable[[str, str, str], object]
    ) -> None:
        self._file = LocalBackend(folder.root)
        self._path = folder.description
        self._reserve = folder.reserve
        self._on_change = on_change
        created = now()
        self._content: dict[str, Any] = {
            "TrainingJobName": request["TrainingJobName"],
            "TrainingJobArn": job_arn(request),
            "TrainingJobStatus": "InProgress",
            "SecondaryStatus": "Starting",
            **{name: value for name, value in request.items() if name not in {"TrainingJobName", "Tags"}},
            "CreationTime": created,
            "LastModifiedTime": created,
            "SecondaryStatusTransitions": [],
            "ModelArtifacts": {"S3ModelArtifacts": ""},  # required of every description, and until there is a model
        }

    @property
    def status(self) -> str:
        """The ``TrainingJobStatus``."""
        return str(self._content["TrainingJobStatus"])

    @property
    def secondary_status(self) -> str:
        """The ``SecondaryStatus``."""
        return str(self._content["SecondaryStatus"])

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the description."""
        return copy.deepcopy(self._content)

    def move(self, status: str, secondary_status: str, reason: str = "", **members: Any) -> None:
        """Change the status.

        Args:
            status: The ``TrainingJobStatus``.
            secondary_status: The ``SecondaryStatus``.
            reason: Reason for the change; the ``FailureReason`` of a failed job.
            members: Additional members to set.
        """
        time = now()
        transitions = self._content["SecondaryStatusTransitions"]
        if transitions:
            transitions[-1]["EndTime"] = time
        message = reason or _TELLS[secondary_status]
        transitions.append({"Status": secondary_status, "StartTime": time, "StatusMessage": message})
        self._content |= {"TrainingJobStatus": status, "SecondaryStatus": secondary_status, **members}
        if status == "Failed":
            self._content["FailureReason"] = shorten(reason)
        if status in FINAL_STATUSES:
            transitions[-1]["EndTime"] = time
            self._content["TrainingEndTime"] = time
            started = self._content.get("TrainingStartTime", time)
            self._content["TrainingTimeInSeconds"] = round((time - started).total_seconds())
        self.update(time)
        self._on_change(status, secondary_status, reason)

    def update(self, time: dt.datetime | None = None, **members: Any) -> None:
        """Set members and write the file.

        A failure to write the file is logged and does not end the job, because the file is only for other readers. The
        description of an ended job is then written to the reserved space.
        """
        self._content |= {**members, "LastModifiedTime": time or now()}
        text = self._as_json()
        try:
            write_object(self._file, self._path.name, [text])
        except SMDebugRuntimeError:
            if self.status in FINAL_STATUSES and self._write_to_reserve(text):
                return
            _LOG.warning("could not write the description of job %s", self._content["TrainingJobName"], exc_info=True)

    def reserve(self) -> None:
        """Reserve space for the description, so that a disk that fills up cannot hide how the job ended.

        Raises:
            OSError: There is no space.
        """
        self._reserve.write_bytes(bytes(2 * len(self._as_json()) + _ROOM_TO_GROW))

    def release(self) -> None:
        """Release the reserved space."""
        self._reserve.unlink(missing_ok=True)

    def _write_to_reserve(self, text: bytes) -> bool:
        try:
            with self._reserve.open("r+b") as file:  # written in place, which needs no further space
                file.write(text)
                file.truncate()
            self._reserve.replace(self._path)
        except OSError:
            return False
        return True

    def _as_json(self) -> bytes:
        return json.dumps(self._content, indent=2, default=_as_iso).encode()


def _as_iso(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return value.isoformat()
    raise TypeError(f"a request holds JSON values only (got {value!r})")


def _read(text: str) -> dict[str, Any]:
    """Parse the file of a description, including its timestamps."""
    content: dict[str, Any] = json.loads(text)
    statuses = content.get("DebugRuleEvaluationStatuses", [])
    for part in (content, *content["SecondaryStatusTransitions"], *statuses):
        for name in _TIMES & part.keys():
            part[name] = dt.datetime.fromisoformat(part[name])
    return content


class JobLock:
    """A lock that marks a job as run by a live process; the kernel releases it when the process ends."""

    def __init__(self, folder: JobFolder) -> None:
        self._file = folder.lock.open("ab")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Release the lock."""
        self._file.close()


def _is_run(folder: JobFolder) -> bool:
    try:
        with folder.lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def job_folder(name: str, work_dir: str | os.PathLike[str]) -> JobFolder:
    """Return the folder of a job.

    Raises:
        SMDebugValueError: The name is not valid for a job.
    """
    return JobFolder(Path(work_dir).expanduser().absolute() / "jobs" / check_job_name(name))


def describe_training_job(name: str, work_dir: str | os.PathLike[str]) -> dict[str, Any]:
    """Describe a job of a work folder, even if another process runs or ran it.

    A job whose process has died is described as failed.

    Args:
        name: The job's name.
        work_dir: The work folder.

    Returns:
        The ``describe_training_job`` response of boto3, without ``ResponseMetadata``.

    Raises:
        SMDebugValueError: The name is not valid for a job.
        SMDebugRuntimeError: There is no such job.
    """
    folder = job_folder(name, work_dir)
    running = _is_run(folder)  # checked first, because a job writes its end before it releases the lock
    try:
        text = folder.description.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SMDebugRuntimeError(f"no training job {name!r} in {str(folder.root.parent)!r}") from error
    content = _read(text)
    if content["TrainingJobStatus"] not in FINAL_STATUSES and not running:
        content |= {
            "TrainingJobStatus": "Failed",
            "SecondaryStatus": "Failed",
            "FailureReason": "InternalServerError: the process that ran the job ended before the job did",
        }
    return content
