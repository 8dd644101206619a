"""Tuning jobs: training jobs with other hyperparameters each, and the best of them."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.laptop.api import APIError, Operation
from sagemaker_debug_ext.laptop.jobs.records import Listing, Records, check, page_of
from sagemaker_debug_ext.laptop.jobs.search import candidates, last_metric
from sagemaker_debug_ext.laptop.jobs.training import NAME as TRAINING_NAME
from sagemaker_debug_ext.laptop.jobs.training import TrainingJobs
from sagemaker_debug_ext.laptop.reports import TUNING, Change, Report
from sagemaker_debug_ext.local.description import job_arn

NAME: Final = "HyperParameterTuningJobName"
FINAL: Final = frozenset({"Completed", "Failed", "Stopped"})

_LOG: Final = logging.getLogger(__name__)
_STATUS: Final = "HyperParameterTuningJobStatus"
_OBJECTIVE: Final = "FinalHyperParameterTuningJobObjectiveMetric"
_OBJECTIVE_PARAMETER: Final = "_tuning_objective_metric"
_MAX_JOBS: Final = 100
_LISTING: Final = Listing(
    name=NAME,
    status=_STATUS,
    end="HyperParameterTuningEndTime",
    arn="HyperParameterTuningJobArn",
    others=("Strategy", "TrainingJobStatusCounters", "ObjectiveStatusCounters", "ResourceLimits"),
    result="HyperParameterTuningJobSummaries",
)
_COUNTERS: Final = {"Completed": "Completed", "Stopped": "Stopped", "Failed": "NonRetryableError"}
_RESOURCES: Final = "HyperParameterTuningResourceConfig"
_NOT_OF_JOBS: Final = ("DefinitionName", "TuningObjective", "HyperParameterRanges", "StaticHyperParameters")


class TuningJobs:
    """The tuning jobs of one server.

    Args:
        work_dir: The work folder; descriptions are kept in ``tuning``.
        training_jobs: The training jobs of the server.
        report: Takes the reports of the jobs.
    """

    def __init__(self, work_dir: Path, training_jobs: TrainingJobs, report: Callable[[Report], object]) -> None:
        self._training_jobs = training_jobs
        self._report = report
        self._records = Records(work_dir / "tuning", _LISTING, FINAL)
        self._runs: dict[str, _Run] = {}

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations of the API, by name."""
        return {
            "CreateHyperParameterTuningJob": self.create,
            "DescribeHyperParameterTuningJob": lambda request: _without_jobs(self._records.get(request)),
            "ListHyperParameterTuningJobs": self._records.page,
            "ListTrainingJobsForHyperParameterTuningJob": self.list_training_jobs,
            "StopHyperParameterTuningJob": self.stop,
        }

    @property
    def names(self) -> list[str]:
        """The names of the jobs that this server has started, in order."""
        return list(self._runs)

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Start a tuning job.

        Raises:
            APIError: The request is not valid, or the name is in use.
        """
        check(request, "CreateHyperParameterTuningJobRequest")
        name = str(request[NAME])
        config = request["HyperParameterTuningJobConfig"]
        definition = _definition(request)
        objective = definition.get("TuningObjective") or config.get("HyperParameterTuningJobObjective")
        if objective is None:
            raise APIError("ValidationException", "HyperParameterTuningJobObjective must be given")
        metrics = definition["AlgorithmSpecification"].get("MetricDefinitions", ())
        if objective["MetricName"] not in {metric["Name"] for metric in metrics}:
            raise APIError(
                "ValidationException",
                f"MetricDefinitions must define the objective {objective['MetricName']!r}, which is read from what "
                "jobs print",
            )
        ranges = definition.get("HyperParameterRanges") or config.get("ParameterRanges", {})
        try:
            values = candidates(config, ranges)
        except DebugExtError as error:
            raise APIError("ValidationException", str(error)) from error
        arn = job_arn(definition, "hyper-parameter-tuning-job", name)
        self._records.add(
            {
                **{key: value for key, value in request.items() if key != "Tags"},
                "HyperParameterTuningJobArn": arn,
                _STATUS: "InProgress",
                "Strategy": config["Strategy"],
                "ResourceLimits": config["ResourceLimits"],
                **_counters([]),
                "jobs": [],
            }
        )
        run = _Run(name, arn, request, definition, objective, values, self._training_jobs, self._update)
        self._runs[name] = run
        run.start()
        return {"HyperParameterTuningJobArn": arn}

    def describe(self, name: str) -> dict[str, Any]:
        """Describe a tuning job.

        Raises:
            APIError: There is no such job.
        """
        return _without_jobs(self._records.get({NAME: name}))

    def list_training_jobs(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """List the training jobs of a tuning job, the newest first unless asked otherwise.

        Raises:
            APIError: There is no such tuning job, or a parameter is not valid.
        """
        jobs = self._records.get(request)["jobs"]
        status = request.get("StatusEquals")
        found = [job for job in jobs if status in (None, job["TrainingJobStatus"])]
        order = request.get("SortBy", "Name")
        keys: dict[str, Callable[[dict[str, Any]], Any]] = {
            "Name": lambda job: job[TRAINING_NAME],
            "CreationTime": lambda job: job["CreationTime"],
            "Status": lambda job: job["TrainingJobStatus"],
            "FinalObjectiveMetricValue": lambda job: job.get(_OBJECTIVE, {}).get("Value", math.inf),
        }
        if order not in keys:
            raise APIError("ValidationException", f"SortBy must be one of {', '.join(keys)} (got {order!r})")
        found.sort(key=keys[order], reverse=request.get("SortOrder") == "Descending")
        return page_of(found, request, "TrainingJobSummaries")

    def stop(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Stop a tuning job and its running training jobs.

        Raises:
            APIError: There is no such job, or it has ended.
        """
        description = self._records.get(request)
        if description[_STATUS] in FINAL:
            raise APIError(
                "ValidationException", f"The request was rejected because the tuning job is {description[_STATUS]}"
            )
        self._records.update(description[NAME], **{_STATUS: "Stopping"})
        self._runs[description[NAME]].stop()
        return {}

    def wait_for(self, name: str) -> dict[str, Any]:
        """Wait until a job of this server has ended, and return its description."""
        self._runs[name].join()
        return self.describe(name)

    def close(self) -> None:
        """Stop all jobs, and wait until they have ended."""
        for run in self._runs.values():
            run.stop()
        for run in self._runs.values():
            run.join()

    def _update(self, name: str, **members: Any) -> None:
        self._records.update(name, **members)
        if _STATUS in members:
            self._report(Change(TUNING, name, members[_STATUS] in FINAL))


class _Run:
    """A tuning job that runs."""

    def __init__(
        self,
        name: str,
        arn: str,
        request: Mapping[str, Any],
        definition: Mapping[str, Any],
        objective: Mapping[str, Any],
        values: Iterator[dict[str, str]],
        training_jobs: TrainingJobs,
        update: Callable[..., object],
    ) -> None:
        limits = request["HyperParameterTuningJobConfig"]["ResourceLimits"]
        self._name = name
        self._arn = arn
        self._definition = definition
        self._objective = objective
        self._values = itertools.islice(values, limits.get("MaxNumberOfTrainingJobs", _MAX_JOBS))
        self._num_parallel = limits["MaxParallelTrainingJobs"]
        self._training_jobs = training_jobs
        self._update = update
        self._lock = threading.Lock()  # guards the following dictionary and the order of updates
        self._jobs: dict[str, dict[str, Any]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"tuning-job-{name}")

    def start(self) -> None:
        """Start the job."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the running training jobs, and start no more."""
        self._stopped.set()
        with self._lock:
            names = list(self._jobs)
        for name in names:
            with contextlib.suppress(APIError):  # it has ended
                self._training_jobs.stop({TRAINING_NAME: name})

    def join(self) -> None:
        """Wait for the end of the job."""
        self._thread.join()

    def _run(self) -> None:
        self._update(self._name, HyperParameterTuningJobStatus="InProgress")
        with ThreadPoolExecutor(self._num_parallel) as pool:
            runs = [pool.submit(self._try, number, values) for number, values in enumerate(self._values, start=1)]
        problems = [run.exception() for run in runs]
        for problem in problems:
            if problem is not None:
                _LOG.error("a training job of tuning job %s could not be started", self._name, exc_info=problem)
        statuses = [job["TrainingJobStatus"] for job in self._jobs.values()]
        members: dict[str, Any] = {_STATUS: "Stopped" if self._stopped.is_set() else "Completed"}
        if members[_STATUS] == "Completed" and not {"Completed", "Stopped"} & set(statuses):
            reason = next((str(problem) for problem in problems if problem), "all training jobs failed")
            members = {_STATUS: "Failed", "FailureReason": reason}
        self._update(self._name, HyperParameterTuningEndTime=time.time(), **members)

    def _try(self, number: int, values: dict[str, str]) -> None:
        """Run a training job with some hyperparameters."""
        if self._stopped.is_set():
            return
        name = f"{self._name}-{number:03}-{secrets.token_hex(4)}"
        self._training_jobs.create(self._request(name, values), TuningJobArn=self._arn)
        self._describe(name, values, self._training_jobs.describe({TRAINING_NAME: name}))
        if self._stopped.is_set():
            self.stop()  # it may have been asked for while this job was started
        self._describe(name, values, self._training_jobs.wait_for(name))

    def _request(self, name: str, values: Mapping[str, str]) -> dict[str, Any]:
        definition = {key: value for key, value in self._definition.items() if key not in _NOT_OF_JOBS}
        if _RESOURCES in definition:
            definition["ResourceConfig"] = _resources(definition.pop(_RESOURCES))
        return {
            **definition,
            TRAINING_NAME: name,
            "HyperParameters": {
                **self._definition.get("StaticHyperParameters", {}),
                **values,
                _OBJECTIVE_PARAMETER: self._objective["MetricName"],
            },
        }

    def _describe(self, name: str, values: Mapping[str, str], description: Mapping[str, Any]) -> None:
        """Note the state of a training job."""
        summary = {
            TRAINING_NAME: name,
            "TrainingJobArn": description["TrainingJobArn"],
            "TunedHyperParameters": dict(values),
            "TrainingJobStatus": description["TrainingJobStatus"],
            "ObjectiveStatus": "Pending",
        }
        times = ("CreationTime", "TrainingStartTime", "TrainingEndTime")
        summary |= {key: description[key].timestamp() for key in times if key in description}
        summary |= {key: description[key] for key in ("FailureReason",) if key in description}
        if description["TrainingJobStatus"] in FINAL:
            definitions = self._definition["AlgorithmSpecification"]["MetricDefinitions"]
            lines = self._training_jobs.printed_lines(name)
            value = last_metric(definitions, self._objective["MetricName"], lines)
            is_known = value is not None and math.isfinite(value)
            summary["ObjectiveStatus"] = "Succeeded" if is_known else "Failed"
            if is_known:
                summary[_OBJECTIVE] = {"MetricName": self._objective["MetricName"], "Value": value}
        with self._lock:
            self._jobs[name] = summary
            jobs = list(self._jobs.values())
            best = self._best(jobs)
            self._update(
                self._name, jobs=jobs, **_counters(jobs), **({} if best is None else {"BestTrainingJob": best})
            )

    def _best(self, jobs: list[dict[str, Any]]) -> dict[str, Any] | None:
        sign = -1 if self._objective["Type"] == "Maximize" else 1
        rated = [job for job in jobs if _OBJECTIVE in job and job["TrainingJobStatus"] != "Failed"]
        return min(rated, key=lambda job: sign * job[_OBJECTIVE]["Value"], default=None)


def _definition(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the only definition of training jobs in a request."""
    definitions = [*request.get("TrainingJobDefinitions", ())]
    if "TrainingJobDefinition" in request:
        definitions.append(request["TrainingJobDefinition"])
    if len(definitions) != 1:
        raise APIError(
            "ValidationException",
            f"a tuning job must have one definition of training jobs on this server (got {len(definitions)})",
        )
    if "WarmStartConfig" in request:
        raise APIError("ValidationException", "WarmStartConfig: this server starts no tuning job from earlier ones")
    return dict(definitions[0])


def _resources(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the resources of a training job: those of the first choice, if the tuning job gives several."""
    first = {**config, **(config.get("InstanceConfigs") or [{}])[0]}
    return {key: first[key] for key in ("InstanceType", "InstanceCount", "VolumeSizeInGB") if key in first}


def _counters(jobs: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the counters of a description."""
    statuses = dict.fromkeys(("Completed", "InProgress", "RetryableError", "NonRetryableError", "Stopped"), 0)
    objectives = dict.fromkeys(("Succeeded", "Pending", "Failed"), 0)
    for job in jobs:
        statuses[_COUNTERS.get(job["TrainingJobStatus"], "InProgress")] += 1
        objectives[job["ObjectiveStatus"]] += 1
    return {"TrainingJobStatusCounters": statuses, "ObjectiveStatusCounters": objectives}


def _without_jobs(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in ("jobs", "Strategy", "ResourceLimits")}
