"""UpdateTrainingJob requests for the profiler of a running job. The hook and its rules cannot be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sagemaker_debug_ext import config as configs  # loads the classes for the profiler on first use
from sagemaker_debug_ext.config._fields import Number, Text
from sagemaker_debug_ext.config.rules import ProfilerRule
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.requests._problems import Problems
from sagemaker_debug_ext.requests.from_sdk import framework_profile_from_sdk, rules_from_sdk
from sagemaker_debug_ext.requests.rules import RuleContext, build_rule_configurations


def profiler_update_request(
    *,
    job_name: str,
    region: str,
    rules: Iterable[ProfilerRule] | None = None,
    system_monitor_interval_millis: Number | None = None,
    s3_output_path: Text | None = None,
    framework_profile_params: configs.FrameworkProfile | None = None,
    disable_framework_metrics: bool = False,
    rule_image_account: str | None = None,
    source_uris: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return an UpdateTrainingJob request that switches a job's profiler on or changes its settings.

    Args:
        job_name: Name of the running job.
        region: Region of the job, which determines the images of rules.
        rules: Profiler rules to add; rules that are already running continue.
        system_monitor_interval_millis: See `ProfilerConfig`.
        s3_output_path: S3 location for the metrics; it cannot be changed once the profiler has been on.
        framework_profile_params: Framework metrics, for old containers only.
        disable_framework_metrics: Stop collecting framework metrics.
        rule_image_account: See `debugger_request`.
        source_uris: See `debugger_request`.

    Raises:
        SMDebugTypeError: An argument has the wrong type.
        SMDebugValueError: A rule is not a profiler rule, no change is requested, or framework metrics are both
            configured and disabled.
        RequestValidationError: A rule cannot be built.
    """
    chosen = rules_from_sdk(rules)
    profile = framework_profile_from_sdk(framework_profile_params)
    if not (chosen or system_monitor_interval_millis or s3_output_path or profile or disable_framework_metrics):
        raise SMDebugValueError(
            "Please provide profiler config or profiler rule to be updated. An update must change something: rules, "
            "system_monitor_interval_millis, s3_output_path, framework_profile_params or disable_framework_metrics"
        )
    if disable_framework_metrics and profile is not None:
        raise SMDebugValueError("framework_profile_params cannot be set when disable_framework_metrics is True")
    for rule in chosen:
        if not isinstance(rule, ProfilerRule):
            raise SMDebugValueError(
                f"Please provide ProfilerRule to be updated. Rules on tensors cannot be changed while a job runs "
                f"(got {rule.name!r} among them)"
            )
    # Only the checks and the warning of the constructor are needed: an update may omit members that a job requires.
    config = configs.ProfilerConfig(s3_output_path, system_monitor_interval_millis, profile)
    member: dict[str, Any] = {"DisableProfiler": False}
    if config.s3_output_path is not None:
        member["S3OutputPath"] = config.s3_output_path
    if config.system_monitor_interval_millis is not None:
        member["ProfilingIntervalInMilliseconds"] = config.system_monitor_interval_millis
    if profile is not None or disable_framework_metrics:
        member["ProfilingParameters"] = profile.profiling_parameters if profile else {}
    request: dict[str, Any] = {"TrainingJobName": job_name, "ProfilerConfig": member}
    problems = Problems()
    with problems.below("ProfilerRuleConfigurations"):
        surroundings = RuleContext(
            region=region, job_name=job_name, image_account=rule_image_account, source_uris=source_uris or {}
        )
        if chosen:
            request["ProfilerRuleConfigurations"] = build_rule_configurations(chosen, surroundings)
    problems.raise_if_any()
    return request


def profiler_off_request(job_name: str) -> dict[str, Any]:
    """Return an UpdateTrainingJob request that switches off a job's profiler and its rules."""
    return {"TrainingJobName": job_name, "ProfilerConfig": {"DisableProfiler": True}}


def profiler_on_request(job_name: str, s3_output_path: Text) -> dict[str, Any]:
    """Return an UpdateTrainingJob request that switches on system metrics only."""
    return {
        "TrainingJobName": job_name,
        "ProfilerConfig": {"DisableProfiler": False, "S3OutputPath": s3_output_path},
    }
