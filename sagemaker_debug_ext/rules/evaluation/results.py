"""What is left of an evaluation: a file for each rule, and an exit code for programs that run rules."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.rules.evaluation.status import RuleStatus

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.issue import Issue

LOG = logging.getLogger(__name__)

RESULT_FILE: Final = "rule-result.json"
"""Name of the file in a rule's output folder."""

MAX_KEPT_ISSUES: Final = 1000
"""How many issues of a rule are kept for its file, the first ones; all of them are counted."""

EXIT_NOTHING_FOUND: Final = 0
EXIT_ISSUES_FOUND: Final = 1
EXIT_ERROR: Final = 2


def rule_result(status: RuleStatus, issues: Sequence[Issue]) -> JSONObject:
    """Return the result of a rule as a JSON object: its status, and the issues that were kept."""
    return {**status.to_json_dict(), "issues": [issue.to_json_dict() for issue in issues]}


def write_result(folder: str, status: RuleStatus, issues: Sequence[Issue]) -> None:
    """Write the result of a rule into its output folder; if that fails it is logged, as the evaluation matters more."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        text = json.dumps(rule_result(status, issues), indent=2, allow_nan=False) + "\n"
        Path(folder, RESULT_FILE).write_text(text, encoding="utf-8")
    except OSError:
        LOG.warning("the result of rule %s could not be written to %s", status.name, folder, exc_info=True)


def exit_code(statuses: Iterable[RuleStatus]) -> int:
    """Return how a program should end: 2 if a rule failed, 1 if one found an issue, else 0.

    Raises:
        SMDebugTypeError: They are no statuses, such as an evaluation itself, which gives issues.

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
