"""Service jobs of AWS Batch, which are training jobs; every queue runs them at once."""

from __future__ import annotations

import datetime as dt
import json
import threading
import uuid
from collections.abc import Mapping
from typing import Any, Final

from sagemaker_debug_ext.laptop.api import APIError, Operation
from sagemaker_debug_ext.laptop.jobs.training import NAME, TrainingJobs

PATHS: Final = {
    "/v1/submitservicejob": "SubmitServiceJob",
    "/v1/describeservicejob": "DescribeServiceJob",
    "/v1/listservicejobs": "ListServiceJobs",
    "/v1/terminateservicejob": "TerminateServiceJob",
}
"""The paths of the operations, which are HTTP with JSON."""

_STATUSES: Final = {"Completed": "SUCCEEDED", "Failed": "FAILED", "Stopped": "FAILED"}
_TIMES: Final = {"createdAt": "CreationTime", "startedAt": "TrainingStartTime", "stoppedAt": "TrainingEndTime"}
_KEPT: Final = (
    "jobName",
    "jobQueue",
    "serviceJobType",
    "serviceRequestPayload",
    "schedulingPriority",
    "shareIdentifier",
)
_IN_LISTS: Final = frozenset(
    {
        "jobArn",
        "jobId",
        "jobName",
        "latestAttempt",
        "serviceJobType",
        "shareIdentifier",
        "status",
        "statusReason",
        *_TIMES,
    }
)


class ServiceJobs:
    """The service jobs of one server.

    Args:
        training_jobs: The training jobs of the server.
    """

    def __init__(self, training_jobs: TrainingJobs) -> None:
        self._training_jobs = training_jobs
        self._lock = threading.Lock()  # guards the following dictionary
        self._jobs: dict[str, dict[str, Any]] = {}

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations of the API, by name."""
        return {
            "SubmitServiceJob": self.submit,
            "DescribeServiceJob": self.describe,
            "ListServiceJobs": self.list,
            "TerminateServiceJob": self.terminate,
        }

    def submit(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Start the training job of a request.

        Raises:
            APIError: The request is not valid.
        """
        if request.get("serviceJobType") != "SAGEMAKER_TRAINING":
            kind = request.get("serviceJobType")
            raise APIError("ClientException", f"serviceJobType must be SAGEMAKER_TRAINING (got {kind!r})")
        try:
            payload = json.loads(request["serviceRequestPayload"])
            name, queue = str(request["jobName"]), str(request["jobQueue"])
        except (KeyError, ValueError) as error:
            raise APIError("ClientException", f"serviceRequestPayload must be JSON ({error!r})") from error
        job = str(payload.get(NAME) or name)
        try:
            arn = self._training_jobs.create({**payload, NAME: job})["TrainingJobArn"]
        except APIError as error:
            raise APIError("ClientException", error.message) from error
        identifier = str(uuid.uuid4())
        prefix = arn.replace(":sagemaker:", ":batch:").partition(":training-job/")[0]
        record = {
            **{key: request[key] for key in _KEPT if key in request},
            "jobQueue": queue if queue.startswith("arn:") else f"{prefix}:job-queue/{queue}",
            "jobId": identifier,
            "jobArn": f"{prefix}:service-job/{identifier}",
            "latestAttempt": {"serviceResourceId": {"name": "TrainingJobArn", "value": arn}},
            "tags": dict(request.get("tags", {})),
        }
        with self._lock:
            self._jobs[identifier] = record
        return {key: record[key] for key in ("jobArn", "jobName", "jobId")}

    def describe(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Describe a job.

        Raises:
            APIError: There is no such job.
        """
        record = self._find(request)
        training = self._training_jobs.describe({NAME: _training_job(record)})
        times = {name: _milliseconds(training[member]) for name, member in _TIMES.items() if member in training}
        status = _STATUSES.get(training["TrainingJobStatus"], "RUNNING" if "startedAt" in times else "STARTING")
        reason = training.get("FailureReason") or (
            "the training job was stopped" if training["TrainingJobStatus"] == "Stopped" else ""
        )
        attempt = {**record["latestAttempt"], **{key: times[key] for key in ("startedAt", "stoppedAt") if key in times}}
        said = {"statusReason": reason} if reason else {}
        description = {"startedAt": 0, **record, **times, **said, "status": status, "isTerminated": False}
        return {**description, "attempts": [{**attempt, **said}] if status in _STATUSES.values() else []}

    def list(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """List the jobs with a status, by default those that run."""
        status = request.get("jobStatus", "RUNNING")
        queue = str(request.get("jobQueue", "")).rpartition("/")[2]
        with self._lock:
            identifiers = list(self._jobs)
        jobs = [self.describe({"jobId": identifier}) for identifier in identifiers]
        found = [job for job in jobs if job["status"] == status and queue in ("", job["jobQueue"].rpartition("/")[2])]
        return {"jobSummaryList": [{key: job[key] for key in job if key in _IN_LISTS} for job in found]}

    def terminate(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Stop the training job of a job, if it runs.

        Raises:
            APIError: There is no such job.
        """
        record = self._find(request)
        try:
            self._training_jobs.stop({NAME: _training_job(record)})
        except APIError:  # it has ended, which Batch takes for terminated
            return {}
        return {}

    def _find(self, request: Mapping[str, Any]) -> dict[str, Any]:
        identifier = str(request.get("jobId", "")).rpartition("/")[2]
        with self._lock:
            if identifier not in self._jobs:
                raise APIError("ClientException", f"jobId must be that of a service job (got {identifier!r})")
            return self._jobs[identifier]


def _training_job(record: Mapping[str, Any]) -> str:
    return str(record["latestAttempt"]["serviceResourceId"]["value"]).rpartition("/")[2]


def _milliseconds(time: dt.datetime) -> int:
    return round(time.timestamp() * 1000)
