"""The operations of the SageMaker API on training jobs, over the local runner."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.errors import DebugExtError, RequestValidationError, TrainingJobError
from sagemaker_debug_ext.laptop.api import APIError, Operation
from sagemaker_debug_ext.local import Event, LocalTrainingJob, describe_training_job
from sagemaker_debug_ext.local.description import FINAL_STATUSES, job_folder
from sagemaker_debug_ext.local.plan import JobHost
from sagemaker_debug_ext.requests.checks import check_training_job_request

NAME: Final = "TrainingJobName"
MAX_RESULTS: Final = 100
STOP_SECONDS: Final = 10.0
"""Time that a job gets to shut down when the server ends."""

_CLOSED_MEMBERS: Final = ("DebugHookConfig", "DebugRuleConfigurations", "ProfilerRuleConfigurations")
"""Members that AWS refuses for accounts without access to the Debugger service."""

_SUMMARY: Final = (
    "TrainingJobName",
    "TrainingJobArn",
    "CreationTime",
    "TrainingEndTime",
    "LastModifiedTime",
    "TrainingJobStatus",
    "SecondaryStatus",
)
_SORT_KEYS: Final = {"Name": NAME, "CreationTime": "CreationTime", "Status": "TrainingJobStatus"}


class TrainingJobs:
    """The training jobs of one server.

    Args:
        work_dir: The work folder of the local runner.
        make_host: Returns what a job can use of this machine, by the name of the job.
        on_event: Called with every event of every job.
        has_debugger: Whether requests may have Debugger members, as in accounts with access to the service.
    """

    def __init__(
        self,
        work_dir: Path,
        make_host: Callable[[str], JobHost],
        on_event: Callable[[Event], object],
        has_debugger: bool = False,
    ) -> None:
        self._work_dir = work_dir
        self._make_host = make_host
        self._on_event = on_event
        self._has_debugger = has_debugger
        self._lock = threading.Lock()  # guards the following dictionary
        self._jobs: dict[str, LocalTrainingJob] = {}

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations of the API, by name."""
        return {
            "CreateTrainingJob": self.create,
            "DescribeTrainingJob": self.describe,
            "ListTrainingJobs": self.list,
            "StopTrainingJob": self.stop,
        }

    @property
    def names(self) -> list[str]:
        """The names of the jobs that this server has started, in order."""
        with self._lock:
            return list(self._jobs)

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Start a training job.

        Raises:
            APIError: The request is not valid, or the name is in use.
        """
        try:
            check_training_job_request(request)
        except RequestValidationError as error:
            raise APIError("ValidationException", str(error)) from error
        self._refuse_debugger(request)
        name = str(request[NAME])
        if job_folder(name, self._work_dir).root.exists():
            raise APIError("ResourceInUse", f"Training job names must be unique: {name!r} already exists")
        try:
            job = LocalTrainingJob(
                request, self._work_dir, on_event=self._on_event, host=self._make_host(name), check=False
            )
            job.start()
        except DebugExtError as error:
            raise APIError("ValidationException", str(error)) from error
        with self._lock:
            self._jobs[name] = job
        return {"TrainingJobArn": job.describe()["TrainingJobArn"]}

    def describe(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Describe a training job.

        Raises:
            APIError: There is no such job.
        """
        name = _required_name(request)
        with self._lock:
            job = self._jobs.get(name)
        if job is not None:
            return job.describe()
        try:
            return describe_training_job(name, self._work_dir)
        except DebugExtError as error:
            raise APIError("ValidationException", f"Requested resource not found: {error}") from error

    def list(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """List training jobs.

        Raises:
            APIError: A parameter is not valid.
        """
        order = request.get("SortBy", "CreationTime")
        if order not in _SORT_KEYS:
            raise APIError("ValidationException", f"SortBy must be one of {', '.join(_SORT_KEYS)} (got {order!r})")
        key = _SORT_KEYS[order]
        found = [description for description in self._descriptions() if _is_wanted(description, request)]
        found.sort(key=lambda description: description[key], reverse=request.get("SortOrder") != "Ascending")
        size = int(request.get("MaxResults", 10))
        if not 1 <= size <= MAX_RESULTS:
            raise APIError("ValidationException", f"MaxResults must be 1 to {MAX_RESULTS} (got {size})")
        start = _parse_token(request.get("NextToken", "0"))
        page = found[start : start + size]
        summaries = [{name: job[name] for name in _SUMMARY if name in job} for job in page]
        more = {"NextToken": str(start + size)} if start + size < len(found) else {}
        return {"TrainingJobSummaries": summaries, **more}

    def stop(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Stop a training job.

        Raises:
            APIError: There is no such job, or it has ended.
        """
        status = self.describe(request)["TrainingJobStatus"]
        with self._lock:
            job = self._jobs.get(request[NAME])
        if status in FINAL_STATUSES or job is None or not (job.stop() or status == "Stopping"):
            raise APIError("ValidationException", f"The request was rejected because the training job is {status}")
        return {}

    def wait(self) -> None:
        """Wait until all jobs of this server have ended."""
        for name in self.names:
            with contextlib.suppress(TrainingJobError):  # a failed job has ended, too
                self._jobs[name].wait()

    def close(self) -> None:
        """Stop all jobs, and wait until they have ended."""
        for name in self.names:
            self._jobs[name].stop(STOP_SECONDS)
        self.wait()

    def _refuse_debugger(self, request: Mapping[str, Any]) -> None:
        refused = [] if self._has_debugger else [member for member in _CLOSED_MEMBERS if member in request]
        if refused:
            raise APIError(
                "ValidationException",
                f"{', '.join(refused)}: this server has no Debugger, like accounts opened since July 2026; submit with "
                "self_managed=True, or start the server with --debugger",
            )

    def _descriptions(self) -> Iterator[dict[str, Any]]:
        folder = self._work_dir / "jobs"
        for path in folder.iterdir() if folder.is_dir() else ():
            with contextlib.suppress(APIError):  # of a job that is being created
                yield self.describe({NAME: path.name})


def _required_name(request: Mapping[str, Any]) -> str:
    name = request.get(NAME)
    if not isinstance(name, str) or not name:
        raise APIError("ValidationException", f"{NAME} must be the name of a training job (got {name!r})")
    return name


def _parse_token(token: object) -> int:
    if not (isinstance(token, str) and token.isdecimal()):
        raise APIError("ValidationException", f"NextToken must be that of an earlier response (got {token!r})")
    return int(token)


def _is_wanted(description: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
    """Return whether a job passes the filters of a ListTrainingJobs request."""
    times = {name: description[name] for name in ("CreationTime", "LastModifiedTime")}
    return (
        str(request.get("NameContains", "")).lower() in description[NAME].lower()
        and request.get("StatusEquals", description["TrainingJobStatus"]) == description["TrainingJobStatus"]
        and all(time >= _time(request[f"{name}After"]) for name, time in times.items() if f"{name}After" in request)
        and all(time <= _time(request[f"{name}Before"]) for name, time in times.items() if f"{name}Before" in request)
    )


def _time(value: object) -> dt.datetime:
    if not isinstance(value, (int, float)):
        raise APIError("ValidationException", f"times must be seconds since the epoch (got {value!r})")
    return dt.datetime.fromtimestamp(value, dt.timezone.utc)
