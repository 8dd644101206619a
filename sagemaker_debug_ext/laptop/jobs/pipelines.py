"""Pipelines: training, tuning and processing jobs that depend on each other."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.laptop.api import APIError, Operation
from sagemaker_debug_ext.laptop.jobs.pipeline_execution import FINAL, PipelineExecution, StepType, order_of
from sagemaker_debug_ext.laptop.jobs.records import Listing, Records, check, page_of
from sagemaker_debug_ext.local.description import job_arn
from sagemaker_debug_ext.local.paths import Locations

_PIPELINE: Final = "PipelineName"
_EXECUTION: Final = "PipelineExecutionArn"
_DEFINITION: Final = "PipelineDefinition"
_PIPELINES: Final = Listing(
    name=_PIPELINE,
    status="PipelineStatus",
    end="LastExecutionTime",
    arn="PipelineArn",
    others=("PipelineDisplayName", "PipelineDescription", "RoleArn"),
    result="PipelineSummaries",
)
_EXECUTIONS: Final = Listing(
    name="id",
    status="PipelineExecutionStatus",
    end="StartTime",
    arn=_EXECUTION,
    others=("PipelineExecutionDisplayName", "PipelineExecutionDescription"),
    result="PipelineExecutionSummaries",
)


_KEPT: Final = (_PIPELINE, "PipelineDisplayName", "PipelineDescription", "RoleArn", "ParallelismConfiguration")
_SHOWN: Final = ("PipelineExecutionDisplayName", "PipelineExecutionDescription", "ParallelismConfiguration")


class Pipelines:
    """The pipelines of one server.

    Args:
        work_dir: The work folder; descriptions are kept in ``pipelines``.
        types: The types of steps, by name.
        locations: Reads definitions that lie on S3.
    """

    def __init__(self, work_dir: Path, types: Mapping[str, StepType], locations: Locations) -> None:
        self._types = types
        self._locations = locations
        self._pipelines = Records(work_dir / "pipelines", _PIPELINES, {"Active"})
        self._executions = Records(work_dir / "pipelines" / "executions", _EXECUTIONS, FINAL)
        self._runs: dict[str, PipelineExecution] = {}

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations of the API, by name."""
        return {
            "CreatePipeline": self.create,
            "UpdatePipeline": self.update,
            "DescribePipeline": lambda request: self._pipelines.get(_by_name(request)),
            "DeletePipeline": self.delete,
            "ListPipelines": lambda request: self._pipelines.page(
                {**request, "NameContains": request.get("PipelineNamePrefix", "")}
            ),
            "StartPipelineExecution": self.start,
            "StopPipelineExecution": self.stop,
            "DescribePipelineExecution": lambda request: _without_steps(self._execution(request)),
            "DescribePipelineDefinitionForExecution": self.describe_definition,
            "ListPipelineExecutions": self.list_executions,
            "ListPipelineExecutionSteps": self.list_steps,
            "ListPipelineParametersForExecution": lambda request: {
                "PipelineParameters": self._execution(request)["parameters"]
            },
        }

    @property
    def names(self) -> list[str]:
        """The identifiers of the executions that this server has started, in order."""
        return list(self._runs)

    def create(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Create a pipeline.

        Raises:
            APIError: The request is not valid, or the name is in use.
        """
        check(request, "CreatePipelineRequest")
        name = str(request[_PIPELINE])
        definition = self._read_definition(request)
        if any(record[_PIPELINE] == name for record in self._pipelines.all()):
            raise APIError(
                "ValidationException",
                f"Pipeline names must be unique within an AWS account and region: {name!r} already exists",
            )
        arn = job_arn(request, "pipeline", name)
        members = {key: value for key, value in request.items() if key in _KEPT}
        self._pipelines.add({**members, _DEFINITION: definition, "PipelineArn": arn, "PipelineStatus": "Active"})
        return {"PipelineArn": arn}

    def update(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Change a pipeline.

        Raises:
            APIError: There is no such pipeline, or the request is not valid.
        """
        check(request, "UpdatePipelineRequest")
        record = self._pipelines.get(request)
        members = {key: value for key, value in request.items() if key in _KEPT}
        if _DEFINITION in request or "PipelineDefinitionS3Location" in request:
            members[_DEFINITION] = self._read_definition(request)
        self._pipelines.update(record[_PIPELINE], **members)
        return {"PipelineArn": record["PipelineArn"]}

    def delete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Delete a pipeline; its executions are kept.

        Raises:
            APIError: There is no such pipeline.
        """
        record = self._pipelines.get(request)
        self._pipelines.remove(record[_PIPELINE])
        return {"PipelineArn": record["PipelineArn"]}

    def start(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Start an execution of a pipeline.

        Raises:
            APIError: There is no such pipeline, or a parameter is not valid.
        """
        check(request, "StartPipelineExecutionRequest")
        record = self._pipelines.get(_by_name(request))
        definition = json.loads(record[_DEFINITION])
        parameters = _parameters(definition, request.get("PipelineParameters", ()))
        identifier = secrets.token_hex(6)
        arn = f"{record['PipelineArn']}/execution/{identifier}"
        now = time.time()
        members = {key: request[key] for key in _SHOWN if key in request}
        self._executions.add(
            {
                **members,
                "id": identifier,
                "PipelineArn": record["PipelineArn"],
                _EXECUTION: arn,
                "PipelineExecutionStatus": "Executing",
                "StartTime": now,
                "definition": record[_DEFINITION],
                "parameters": [{"Name": name, "Value": str(value)} for name, value in parameters.items()],
                "steps": [],
            }
        )
        self._pipelines.update(record[_PIPELINE], LastRunTime=now, LastExecutionTime=now)
        roots = {
            "Parameters": parameters,
            "Execution": {
                "PipelineName": record[_PIPELINE],
                "PipelineArn": record["PipelineArn"],
                "PipelineExecutionArn": arn,
                "PipelineExecutionId": identifier,
                "StartDateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
                "CurrentDateTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
            },
            "Steps": {},
        }
        run = PipelineExecution(identifier, definition["Steps"], roots, self._types, self._executions.update)
        self._runs[identifier] = run
        run.start()
        return {_EXECUTION: arn}

    def stop(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Stop an execution and its running jobs.

        Raises:
            APIError: There is no such execution, or it has ended.
        """
        record = self._execution(request)
        status = record["PipelineExecutionStatus"]
        if status in FINAL:
            raise APIError("ValidationException", f"Only executing pipelines can be stopped; this one is {status}")
        self._executions.update(record["id"], PipelineExecutionStatus="Stopping")
        self._runs[record["id"]].stop()
        return {_EXECUTION: record[_EXECUTION]}

    def describe_definition(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the definition of an execution.

        Raises:
            APIError: There is no such execution.
        """
        record = self._execution(request)
        return {_DEFINITION: record["definition"], "CreationTime": record["CreationTime"]}

    def list_executions(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """List the executions of a pipeline.

        Raises:
            APIError: There is no such pipeline, or a parameter is not valid.
        """
        arn = self._pipelines.get(_by_name(request))["PipelineArn"]
        found = [record for record in self._executions.all() if record["PipelineArn"] == arn]
        order = "CreationTime" if request.get("SortBy") == "PipelineExecutionArn" else request.get("SortBy")
        return _EXECUTIONS.page(found, {**request, "SortBy": order or "CreationTime"})

    def list_steps(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """List the steps of an execution that have begun, the newest first unless asked otherwise.

        Raises:
            APIError: There is no such execution, or a parameter is not valid.
        """
        steps = self._execution(request)["steps"]
        if request.get("SortOrder") != "Ascending":
            steps.reverse()
        return page_of(steps, request, "PipelineExecutionSteps")

    def wait_for(self, identifier: str) -> dict[str, Any]:
        """Wait until an execution of this server has ended, and return its description."""
        self._runs[identifier].join()
        return _without_steps(self._executions.get({"id": identifier}))

    def close(self) -> None:
        """Stop all executions, and wait until they have ended."""
        for run in self._runs.values():
            run.stop()
        for run in self._runs.values():
            run.join()

    def _execution(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self._executions.get({"id": str(request.get(_EXECUTION, "")).rpartition("/")[2]})

    def _read_definition(self, request: Mapping[str, Any]) -> str:
        """Return the definition of a request, checked.

        Raises:
            APIError: It cannot run here.
        """
        text = request.get(_DEFINITION)
        if text is None:
            place = request["PipelineDefinitionS3Location"]
            content = self._locations.backend(f"s3://{place['Bucket']}").read(place["ObjectKey"])
            if content is None:
                key = place["ObjectKey"]
                raise APIError("ValidationException", f"PipelineDefinitionS3Location: there is no {key!r}")
            text = bytes(content).decode()
        try:
            steps = json.loads(text)["Steps"]
            types = {step["Name"]: step["Type"] for step in steps}
            list(order_of(steps))
        except (ValueError, KeyError, TypeError) as error:
            raise APIError(
                "ValidationException", f"{_DEFINITION} must be a pipeline definition in JSON ({error!r})"
            ) from error
        known = ", ".join(self._types)
        for name, kind in types.items():
            if kind not in self._types:
                raise APIError(
                    "ValidationException",
                    f"{_DEFINITION}: step {name!r} has the type {kind!r}; this server runs {known} only",
                )
        return str(text)


def _parameters(definition: Mapping[str, Any], given: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return the parameters of an execution.

    Raises:
        APIError: One is unknown, is missing, or has a wrong value.
    """
    declared = {item["Name"]: item for item in definition.get("Parameters", ())}
    values = {name: item["DefaultValue"] for name, item in declared.items() if "DefaultValue" in item}
    convert: dict[str, Callable[[str], Any]] = {
        "Integer": int,
        "Float": float,
        "Boolean": lambda text: text.lower() == "true",
    }
    for item in given:
        name, text = item["Name"], item["Value"]
        if name not in declared:
            raise APIError("ValidationException", f"PipelineParameters: {name!r} is no parameter of the pipeline")
        try:
            values[name] = convert.get(declared[name]["Type"], str)(text)
        except ValueError as error:
            problem = f"PipelineParameters: {name!r} has a wrong value ({error})"
            raise APIError("ValidationException", problem) from error
    missing = sorted(declared.keys() - values)
    if missing:
        raise APIError("ValidationException", f"PipelineParameters: {', '.join(missing)} must be given")
    return values


def _by_name(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request that names a pipeline, which may be given by its ARN."""
    return {**request, _PIPELINE: str(request.get(_PIPELINE, "")).rpartition("/")[2]}


def _without_steps(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in ("steps", "definition", "parameters", "id")}
