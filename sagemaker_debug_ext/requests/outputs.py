"""Paths of a job's artifacts: the ``TensorBoardOutputConfig`` member, and the paths that the service derives.

The service appends ``<job name>/<kind>-output`` to the paths in a request, so these must not contain it already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from sagemaker_debug_ext.config._fields import Text
from sagemaker_debug_ext.config.outputs import TensorBoardOutputConfig
from sagemaker_debug_ext.errors import RequestValidationError, SMDebugTypeError


def required_output_path(own: Text | None, output_path: Text | None) -> Text:
    """Return the path for one kind of artifact: its own, or that of the job.

    Raises:
        RequestValidationError: Neither is given.
    """
    path = output_path if own is None else own
    if path is None:
        raise RequestValidationError(
            ["S3OutputPath: a location on S3 must be given: s3_output_path here, or output_path for the job"]
        )
    return path


def build_tensorboard_output_config(config: TensorBoardOutputConfig, output_path: Text | None = None) -> dict[str, Any]:
    """Build the member.

    Raises:
        RequestValidationError: No S3 location is given.
    """
    return {"S3OutputPath": required_output_path(config.s3_output_path, output_path), **config.to_request_dict()}


def _below(s3_output_path: object, *parts: str) -> str | None:
    if s3_output_path is None:
        return None
    if not isinstance(s3_output_path, str):
        raise SMDebugTypeError(f"the path must be known, not a pipeline variable (got {s3_output_path!r})")
    return "/".join((s3_output_path.removesuffix("/"), *parts))


def debugger_artifacts_path(s3_output_path: Text | None, job_name: str) -> str | None:
    """Return the S3 path of a job's tensors; None if it saves none.

    Args:
        s3_output_path: Path in the request's hook configuration; None if there is no hook.
        job_name: Name of the job.

    Raises:
        SMDebugTypeError: The path is a pipeline variable.
    """
    return _below(s3_output_path, job_name, "debug-output")


def tensorboard_artifacts_path(s3_output_path: Text | None, job_name: str) -> str | None:
    """Return the S3 path of a job's TensorBoard data; see `debugger_artifacts_path`."""
    return _below(s3_output_path, job_name, "tensorboard-output")


def profiler_artifacts_path(s3_output_path: Text | None, job_name: str) -> str | None:
    """Return the S3 path of a job's profiler metrics; see `debugger_artifacts_path`."""
    return _below(s3_output_path, job_name, "profiler-output")


def rule_output_path(s3_output_path: Text | None, job_name: str, rule_name: str) -> str | None:
    """Return the S3 path of a rule's reports.

    Args:
        s3_output_path: Path given for the rule, or the path of the job.
        job_name: Name of the job.
        rule_name: Name of the rule within the job.
    """
    return _below(s3_output_path, job_name, "rule-output", rule_name)


@attrs.frozen(kw_only=True)
class ArtifactPaths:
    """S3 paths of the artifacts of one job; None if the job has no such artifacts.

    Args:
        debugger: Saved tensors.
        tensorboard: TensorBoard data.
        profiler: Profiler metrics.
        rules: Reports of each rule, by its name.
    """

    debugger: str | None
    tensorboard: str | None
    profiler: str | None
    rules: Mapping[str, str | None]


def artifact_paths(job: Mapping[str, Any]) -> ArtifactPaths:
    """Read the paths from a CreateTrainingJob request or a DescribeTrainingJob response.

    Args:
        job: Request or description.

    Raises:
        SMDebugTypeError: A path is a pipeline variable.
    """
    name = job["TrainingJobName"]
    output_path = job.get("OutputDataConfig", {}).get("S3OutputPath")
    profiler = job.get("ProfilerConfig", {})
    rules = [*job.get("DebugRuleConfigurations", ()), *job.get("ProfilerRuleConfigurations", ())]
    return ArtifactPaths(
        debugger=debugger_artifacts_path(job.get("DebugHookConfig", {}).get("S3OutputPath"), name),
        tensorboard=tensorboard_artifacts_path(job.get("TensorBoardOutputConfig", {}).get("S3OutputPath"), name),
        profiler=None
        if profiler.get("DisableProfiler")
        else profiler_artifacts_path(profiler.get("S3OutputPath"), name),
        rules={
            rule["RuleConfigurationName"]: rule_output_path(
                rule.get("S3OutputPath", output_path), name, rule["RuleConfigurationName"]
            )
            for rule in rules
        },
    )
