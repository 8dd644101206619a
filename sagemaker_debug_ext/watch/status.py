"""The status of a watched job, ``status.json``, and the statuses of rules that readers derive from it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends import Backend
from sagemaker_debug_ext.watch.evaluation import RuleRecord
from sagemaker_debug_ext.watch.profiler_rules import ProfilerRuleRecord

STATUS_KEY: Final = "status.json"
VERSION: Final = 1
HEARTBEAT_SECONDS: Final = 30.0

SILENT_SECONDS: Final = 150.0
"""Age of the heartbeat after which a watcher counts as silent: five heartbeats."""

START_SECONDS: Final = 600.0
"""Time after the start of training within which a first report is expected."""

FINAL_JOB_STATUSES: Final = frozenset({"Completed", "Failed", "Stopped"})

_OPEN: Final = frozenset({"InProgress", "Stopping"})
_STATUSES: Final = ["InProgress", "NoIssuesFound", "IssuesFound", "Error", "Stopping", "Stopped"]
_TEXT: Final[JSONObject] = {"type": "string"}
_TIME: Final[JSONObject] = {"type": "string", "format": "date-time"}
_COUNT: Final[JSONObject] = {"type": "integer", "minimum": 0}
_OPTIONAL_STEP: Final[JSONObject] = {"type": ["integer", "null"], "minimum": 0}

_RULE_MEMBERS: Final = ["RuleConfigurationName", "RuleEvaluationStatus", "LastModifiedTime"]
_RULE_PROPERTIES: Final[JSONObject] = {
    "RuleConfigurationName": _TEXT,
    "RuleEvaluationStatus": {"enum": _STATUSES},
    "StatusDetails": _TEXT,
    "LastModifiedTime": _TIME,
}

STATUS_SCHEMA: Final[JSONObject] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Status of a watched training job",
    "type": "object",
    "required": ["version", "training_job_name", "generation", "watcher", "trial", "rules"],
    "properties": {
        "version": {"const": VERSION},
        "sequence": {**_COUNT, "description": "Number of this writing of the file by its watcher."},
        "training_job_name": _TEXT,
        "generation": {"type": "integer", "minimum": 1, "description": "Number of the watcher of this job."},
        "watcher": {
            "type": "object",
            "required": ["place", "host", "pid", "phase", "heartbeat_at"],
            "properties": {
                "place": _TEXT,
                "host": _TEXT,
                "pid": _COUNT,
                "started_at": _TIME,
                "heartbeat_at": _TIME,
                "phase": {"enum": ["following", "draining", "handover", "done", "failed"]},
                "error": _TEXT,
            },
        },
        "trial": {
            "type": "object",
            "required": ["path"],
            "properties": {
                "path": _TEXT,
                "last_step": {**_OPTIONAL_STEP, "description": "Last complete global step that the watcher has seen."},
                "judged_step": {**_OPTIONAL_STEP, "description": "Last global step that the rules evaluated."},
                "lag_seconds": {
                    "type": ["number", "null"],
                    "minimum": 0,
                    "description": "All steps saved so many seconds before the heartbeat have been evaluated.",
                },
            },
        },
        "rules": {
            "type": "array",
            "items": {
                "type": "object",
                "required": _RULE_MEMBERS,
                "properties": {
                    **_RULE_PROPERTIES,
                    "first_issue_step": _OPTIONAL_STEP,
                    "num_issues": _COUNT,
                    "num_steps": _COUNT,
                    "num_skipped": _COUNT,
                    "last_step": _OPTIONAL_STEP,
                    "actions": {"type": "array", "items": {"type": "object", "required": ["name", "outcome"]}},
                },
            },
        },
        "profiler_rules": {
            "type": "array",
            "items": {
                "type": "object",
                "required": _RULE_MEMBERS,
                "properties": _RULE_PROPERTIES,
            },
        },
    },
}
"""JSON Schema of ``status.json``. Readers ignore members that they do not know."""


@attrs.frozen(kw_only=True)
class WatchStatus:
    """The content of ``status.json``.

    Args:
        document: The JSON object.
    """

    document: Mapping[str, Any]

    @property
    def heartbeat_at(self) -> dt.datetime:
        """Time of the last sign of life of the watcher, UTC."""
        return dt.datetime.fromisoformat(self.document["watcher"]["heartbeat_at"])

    @property
    def rules(self) -> Sequence[Mapping[str, Any]]:
        """The rules: the members of ``DebugRuleEvaluationStatuses``, and the package's own in lower case."""
        return tuple(self.document["rules"])

    @property
    def profiler_rules(self) -> Sequence[Mapping[str, Any]]:
        """The profiler rules: the members of ``ProfilerRuleEvaluationStatuses``."""
        return tuple(self.document.get("profiler_rules", ()))

    @property
    def is_final(self) -> bool:
        """Whether every rule has its last status."""
        return all(rule["RuleEvaluationStatus"] not in _OPEN for rule in (*self.rules, *self.profiler_rules))

    @classmethod
    def read(cls, backend: Backend) -> WatchStatus | None:
        """Read the status of a job; None if no watcher has reported yet.

        Raises:
            OSError: The back end failed.
            SMDebugValueError: The file is damaged.
        """
        content = backend.read(STATUS_KEY)
        if content is None:
            return None
        try:
            document = json.loads(bytes(content))
            status = cls(document=document)
            _ = status.heartbeat_at, status.is_final
        except (ValueError, KeyError, TypeError) as error:
            raise SMDebugValueError(f"{backend.url}/{STATUS_KEY} must be a status of a watcher ({error!r})") from error
        return status


def describe_rules(records: Iterable[RuleRecord]) -> list[JSONObject]:
    """Return the rules as they stand in ``status.json``."""
    return [
        {
            "RuleConfigurationName": record.name,
            "RuleEvaluationStatus": record.status.status,
            "StatusDetails": record.status.details,
            "LastModifiedTime": record.modified_at.astimezone(dt.timezone.utc).isoformat(),
            "first_issue_step": record.status.first_issue_step,
            "num_issues": record.status.num_issues,
            "num_steps": record.status.num_steps,
            "num_skipped": record.status.num_skipped,
            "last_step": record.status.last_step,
            "actions": [dict(action) for action in record.actions],
        }
        for record in records
    ]


def describe_profiler_rules(records: Iterable[ProfilerRuleRecord]) -> list[JSONObject]:
    """Return the profiler rules as they stand in ``status.json``."""
    return [
        {
            "RuleConfigurationName": record.name,
            "RuleEvaluationStatus": record.status,
            "StatusDetails": record.details,
            "LastModifiedTime": record.modified_at.astimezone(dt.timezone.utc).isoformat(),
        }
        for record in records
    ]


def derive(
    rules: Sequence[str],
    job_status: str,
    status: WatchStatus | None,
    *,
    now: dt.datetime,
    started_at: dt.datetime | None,
    ended_at: dt.datetime | None = None,
    of_profiler: bool = False,
    age_seconds: float | None = None,
) -> list[dict[str, Any]]:
    """Return ``DebugRuleEvaluationStatuses`` for a job whose watcher may be late, silent or gone.

    Args:
        rules: Names of the job's rules.
        job_status: The ``TrainingJobStatus``.
        status: The last report of the watcher; None without one.
        now: The current time.
        started_at: Start of training; None if it has not started.
        ended_at: End of training; None if it has not ended.
        of_profiler: Whether the rules are profiler rules, whose member is ``ProfilerRuleEvaluationStatuses``.
        age_seconds: Age of the last report by the clock of the storage; None for that by the clocks of the watcher and
            of this machine.
    """
    is_final = job_status in FINAL_JOB_STATUSES
    if status is None:
        return _without_report(rules, is_final, now, started_at, ended_at)
    age = (now - status.heartbeat_at).total_seconds() if age_seconds is None else age_seconds
    shown = [_as_service_describes(rule) for rule in (status.profiler_rules if of_profiler else status.rules)]
    if age <= SILENT_SECONDS:
        return shown
    for rule in shown:
        if rule["RuleEvaluationStatus"] in _OPEN:
            if is_final:
                rule["RuleEvaluationStatus"] = "Stopped"
                rule["StatusDetails"] = (
                    "the watcher ended before the rule; `sagemaker-debug self-managed resume JOB` evaluates the rest"
                )
            else:
                rule["StatusDetails"] = f"the watcher has been silent since {status.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC"
    return shown


def _without_report(
    rules: Sequence[str],
    is_final: bool,
    now: dt.datetime,
    started_at: dt.datetime | None,
    ended_at: dt.datetime | None,
) -> list[dict[str, Any]]:
    if started_at is None or (not is_final and (now - started_at).total_seconds() < START_SECONDS):
        return []
    if is_final and ended_at is not None and (now - ended_at).total_seconds() < START_SECONDS / 2:
        return []
    details = "no watcher has reported: is sagemaker_debug_ext installed in the image, and a hook in the script?"
    if is_final:
        details += " `sagemaker-debug self-managed resume JOB` evaluates the rules now"
    return [
        {
            "RuleConfigurationName": name,
            "RuleEvaluationStatus": "Error" if is_final else "InProgress",
            "StatusDetails": details,
            "LastModifiedTime": now,
        }
        for name in rules
    ]


def _as_service_describes(rule: Mapping[str, Any]) -> dict[str, Any]:
    described = {name: value for name, value in rule.items() if name[:1].isupper() and value not in ("", None)}
    return {**described, "LastModifiedTime": dt.datetime.fromisoformat(rule["LastModifiedTime"])}
