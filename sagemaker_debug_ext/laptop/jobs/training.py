"""The operations of the SageMaker API on training jobs, over the local runner."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.errors import DebugExtError, RequestValidationError, TrainingJobError
from sagemaker_debug_ext.laptop.api import APIError, Operation
from sagemaker_debug_ext.laptop.jobs.records import Listing, check, required_name
from sagemaker_debug_ext.local import Event, LocalTrainingJob, describe_training_job
from sagemaker_debug_ext.local.description import FINAL_STATUSES, job_folder
from sagemaker_debug_ext.local.plan import JobHost
from sagemaker_debug_ext.local.process import LineReader
from sagemaker_debug_ext.requests.checks import check_training_job_request

NAME: Final = "TrainingJobName"
STOP_SECONDS: Final = 10.0
"""Time that a job gets to shut down when the server ends."""

INTERRUPT: Final = "InterruptTrainingJob"
"""An operation that SageMaker has not: what happens to jobs on Spot instances."""

_CLOSED_MEMBERS: Final = ("DebugHookConfig", "DebugRuleConfigurations", "ProfilerRuleConfigurations")
"""Members that AWS refuses for accounts without access to the Debugger service."""

_UPDATABLE: Final = ("ProfilerConfig", "ResourceConfig", "RemoteDebugConfig")
_LISTING: Final = Listing(
    name=NAME,
    status="TrainingJobStatus",
    end="TrainingEndTime",
    arn="TrainingJobArn",
    others=("SecondaryStatus",),
    result="TrainingJobSummaries",
)


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
            INTERRUPT: self.interrupt,
            "UpdateTrainingJob": self.update,
            "DeleteTrainingJob": self.delete,
        }

    @property
    def names(self) -> list[str]:
        """The names of the jobs that this server has started, in order."""
        with self._lock:
            return list(self._jobs)

    def create(self, request: Mapping[str, Any], **members: Any) -> dict[str, Any]:
        """Start a training job.

        Args:
            request: The request.
            members: More members for its description.

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
            job.update(**members)
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
        name = required_name(request, NAME)
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
        return _LISTING.page(self._descriptions(), request)

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

    def interrupt(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Kill a training job, and start it again with its checkpoints.

        Raises:
            APIError: There is no such job, or it is not training.
        """
        status = self.describe(request)["SecondaryStatus"]
        with self._lock:
            job = self._jobs.get(request[NAME])
        if job is None or not job.interrupt():
            raise APIError("ValidationException", f"training job {request[NAME]!r} is not training: it is {status}")
        return {}

    def update(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Change a running training job: its profiler, its resources or its remote access.

        Raises:
            APIError: There is no such job, it has ended, or the request is not valid.
        """
        check(request, "UpdateTrainingJobRequest")
        description = self.describe(request)
        self._refuse_debugger(request)
        with self._lock:
            job = self._jobs.get(request[NAME])
        status = description["TrainingJobStatus"]
        if job is None or status != "InProgress":
            raise APIError("ValidationException", f"The request was rejected because the training job is {status}")
        if "ProfilerRuleConfigurations" in request:
            raise APIError(
                "ValidationException", "ProfilerRuleConfigurations: this server adds no rules to running jobs"
            )
        changes = {name: {**description.get(name, {}), **request[name]} for name in _UPDATABLE if name in request}
        job.update(**changes)
        return {"TrainingJobArn": description["TrainingJobArn"]}

    def delete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Delete a training job that has ended; its outputs on S3 are kept.

        Raises:
            APIError: There is no such job, or it runs.
        """
        status = self.describe(request)["TrainingJobStatus"]
        if status not in FINAL_STATUSES:
            raise APIError("ValidationException", f"The request was rejected because the training job is {status}")
        with self._lock:
            self._jobs.pop(request[NAME], None)
        shutil.rmtree(job_folder(request[NAME], self._work_dir).root)
        return {}

    def wait_for(self, name: str) -> dict[str, Any]:
        """Wait until a job of this server has ended, and return its description."""
        with contextlib.suppress(TrainingJobError):  # a failed job has ended, too
            self._jobs[name].wait()
        return self._jobs[name].describe()

    def printed_lines(self, name: str) -> Iterator[str]:
        """Yield the lines that a job has printed."""
        folder = job_folder(name, self._work_dir)
        for path in (folder.stdout, folder.stderr):
            yield from LineReader(path).read(last=True)

    def close(self) -> None:
        """Stop all jobs, and wait until they have ended."""
        for name in self.names:
            self._jobs[name].stop(STOP_SECONDS)
        for name in self.names:
            self.wait_for(name)

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
