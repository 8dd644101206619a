"""The file with the result of a rule, ``rule-result.json``, and the exit code of programs that run rules."""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.errors import DebugExtError, SMDebugTypeError
from sagemaker_debug_ext.rules.evaluation.status import RuleStatus

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.issue import Issue
    from sagemaker_debug_ext.store.backends import Backend

LOG = logging.getLogger(__name__)

RESULT_FILE: Final = "rule-result.json"
"""Name of the file in a rule's output folder."""

MAX_KEPT_ISSUES: Final = 1000
"""Number of issues of a rule that are kept for its file, the first ones; all of them are counted."""

EXIT_NOTHING_FOUND: Final = 0
EXIT_ISSUES_FOUND: Final = 1
EXIT_ERROR: Final = 2

_COUNT: Final[JSONObject] = {"type": "integer", "minimum": 0}
_TEXT: Final[JSONObject] = {"type": "string"}
_OPTIONAL_STEP: Final[JSONObject] = {"type": ["integer", "null"], "minimum": 0}

_RESULT_MEMBERS: Final[JSONObject] = {
    "name": {**_TEXT, "description": "Name of the rule in the evaluation: RuleConfigurationName of a request."},
    "rule": {**_TEXT, "description": "Class of the rule."},
    "status": {"enum": ["NoIssuesFound", "IssuesFound", "Error", "Stopped"]},
    "details": {**_TEXT, "description": "Reason of the status; empty if there is none."},
    "first_issue_step": {**_OPTIONAL_STEP, "description": "Global step of the first issue."},
    "num_issues": {**_COUNT, "description": f"All issues, also those beyond the first {MAX_KEPT_ISSUES}."},
    "num_steps": {**_COUNT, "description": "Steps that the rule evaluated."},
    "num_skipped": {**_COUNT, "description": "Steps that lacked something that the rule needs."},
    "last_step": {**_OPTIONAL_STEP, "description": "Global step that the rule evaluated or skipped last."},
    "modified_at": {**_TEXT, "format": "date-time", "description": "Time of the last change, UTC, ISO 8601."},
    "issues": {
        "type": "array",
        "items": {"type": "object", "required": ["rule", "step", "message"]},
        "description": "The first issues, as Issue.to_json_dict describes them.",
    },
    "actions": {
        "type": "array",
        "items": {"type": "object", "required": ["name", "outcome"], "additionalProperties": _TEXT},
        "description": "Actions that a local training job ran, and their outcome; empty elsewhere.",
    },
}

RESULT_SCHEMA: Final[JSONObject] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Result of a rule",
    "type": "object",
    "additionalProperties": False,
    "required": list(_RESULT_MEMBERS),
    "properties": _RESULT_MEMBERS,
}
"""JSON Schema of ``rule-result.json``."""


def rule_result(status: RuleStatus, issues: Sequence[Issue], actions: Sequence[Mapping[str, str]] = ()) -> JSONObject:
    """Return the result of a rule as a JSON object; see `RESULT_SCHEMA`.

    Args:
        status: Its status, which has ended.
        issues: The first of its issues.
        actions: Name and outcome of the actions that were run, if the caller knows them.
    """
    return {
        **status.to_json_dict(),
        "modified_at": dt.datetime.fromtimestamp(status.modified_at, dt.timezone.utc).isoformat(),
        "issues": [issue.to_json_dict() for issue in issues],
        "actions": [dict(action) for action in actions],
    }


def write_result(
    backend: Backend, status: RuleStatus, issues: Sequence[Issue], actions: Sequence[Mapping[str, str]] = ()
) -> None:
    """Write ``rule-result.json`` into the output folder of a rule; see `rule_result` for the arguments.

    A failure is only logged, because the evaluation matters more than its file.
    """
    text = json.dumps(rule_result(status, issues, actions), indent=2, allow_nan=False) + "\n"
    try:
        backend.write(RESULT_FILE, [text.encode()])
    except (OSError, DebugExtError) as error:
        LOG.warning("the result of rule %s could not be written to %s: %s", status.name, backend.url, error)


def exit_code(statuses: Iterable[RuleStatus]) -> int:
    """Return the exit code of a program that ran rules: 2 if a rule failed, 1 if one found an issue, else 0.

    Raises:
        SMDebugTypeError: An element is no `RuleStatus`, as when an evaluation is passed, which yields issues.

    Example:
        >>> evaluation = evaluate(rules, trial)
        >>> evaluation.run()
        >>> sys.exit(exit_code(evaluation.statuses))
    """
    listed = [] if hasattr(statuses, "statuses") else list(statuses)
    if hasattr(statuses, "statuses") or not all(isinstance(status, RuleStatus) for status in listed):
        raise SMDebugTypeError(f"statuses must be those of an evaluation: evaluation.statuses (got {statuses!r})")
    found = {status.status for status in listed}
    if "Error" in found:
        return EXIT_ERROR
    return EXIT_ISSUES_FOUND if "IssuesFound" in found else EXIT_NOTHING_FOUND
