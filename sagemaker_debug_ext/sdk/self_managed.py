"""Descriptions of self-managed jobs in the form in which the service describes its own.

The settings of a self-managed job lie in its ``Environment``, and the statuses of its rules in ``status.json`` on S3.
`with_rule_statuses` merges both into a DescribeTrainingJob response, so that all code that reads such a response works
for both kinds of jobs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from sagemaker_debug_ext.config.job_spec import JobSpec, decode_job_spec

EVALUATOR_IMAGE: Final = "self-managed"
"""Shown as ``RuleEvaluatorImage``, because no image evaluates the rules."""


def with_rule_statuses(description: Mapping[str, Any], now: dt.datetime | None = None) -> dict[str, Any]:
    """Return a description with the Debugger members of a self-managed job; others are returned as they are.

    Reading the statuses takes one request to S3.

    Args:
        description: The DescribeTrainingJob response.
        now: The current time; by default that of this machine.

    Raises:
        JobSpecError: The environment of the job holds a damaged job spec.
        StorageError: The statuses cannot be read.
        SMDebugValueError: The file with the statuses is damaged.
    """
    spec = decode_job_spec(description.get("Environment") or {})
    if spec is None:
        return dict(description)
    return {**description, **_settings(spec), **_statuses(spec, description, now)}


def _settings(spec: JobSpec) -> dict[str, Any]:
    members: dict[str, Any] = {"DebugHookConfig": dict(spec.hook)}
    if spec.rules:
        members["DebugRuleConfigurations"] = [{**rule, "RuleEvaluatorImage": EVALUATOR_IMAGE} for rule in spec.rules]
    if spec.tensorboard is not None:
        members["TensorBoardOutputConfig"] = dict(spec.tensorboard)
    return members


def _statuses(spec: JobSpec, description: Mapping[str, Any], now: dt.datetime | None) -> dict[str, Any]:
    if not spec.rules:
        return {}
    from sagemaker_debug_ext.store.backends import open_backend  # noqa: PLC0415  # most jobs need neither
    from sagemaker_debug_ext.watch.status import WatchStatus, derive  # noqa: PLC0415

    status = WatchStatus.read(open_backend(spec.state_location(description["TrainingJobName"])))
    statuses = derive(
        [rule["RuleConfigurationName"] for rule in spec.rules],
        description["TrainingJobStatus"],
        status,
        now=now or dt.datetime.now(dt.timezone.utc),
        started_at=description.get("TrainingStartTime"),
        ended_at=description.get("TrainingEndTime"),
    )
    return {"DebugRuleEvaluationStatuses": statuses} if statuses else {}
