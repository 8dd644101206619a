"""Self-managed jobs: the argument ``self_managed``, and descriptions in the form in which the service describes jobs.

The settings of a self-managed job lie in its ``Environment``, and the statuses of its rules in ``status.json`` on S3.
`with_rule_statuses` merges both into a DescribeTrainingJob response, so that all code that reads such a response works
for both kinds of jobs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from sagemaker_debug_ext.config.job_spec import JobSpec, decode_job_spec
from sagemaker_debug_ext.config.self_managed import SelfManaged
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.sdk._settings import DebuggerSettings

EVALUATOR_IMAGE: Final = "self-managed"
"""Shown as ``RuleEvaluatorImage``, because no image evaluates the rules."""


def to_self_managed(self_managed: Any, settings: DebuggerSettings) -> SelfManaged | None:
    """Return the meaning of an argument ``self_managed``: True is ``SelfManaged()``, False is None.

    Raises:
        SMDebugTypeError: The argument is neither a boolean nor a `SelfManaged`.
        SMDebugValueError: The settings ask for the profiler.
    """
    if self_managed is False or self_managed is None:
        return None
    if self_managed is not True and not isinstance(self_managed, SelfManaged):
        raise SMDebugTypeError(f"self_managed must be True, False or a SelfManaged (got {self_managed!r})")
    if settings.asks_for_profiler:
        raise SMDebugValueError("self-managed jobs have no profiler: leave out profiler_config and profiler rules")
    return SelfManaged() if self_managed is True else self_managed


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
    return {**description, **members_of_spec(spec), **_statuses(spec, description, now)}


def members_of_spec(spec: JobSpec) -> dict[str, Any]:
    """Return the settings of a self-managed job as members of a description."""
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
