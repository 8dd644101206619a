"""`RuleStatus`: the status of the evaluation of a rule, in the terms of SageMaker."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import attrs

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.errors import RuleEvaluationConditionMet

EvaluationStatus: TypeAlias = Literal["InProgress", "NoIssuesFound", "IssuesFound", "Error", "Stopping", "Stopped"]
"""``RuleEvaluationStatus`` of SageMaker."""


MAX_DETAILS: Final = 1024
"""Longest ``StatusDetails`` that SageMaker describes."""


def condition_met_details(rule_name: str, step: int) -> str:
    """Return the details that SageMaker gives for a rule that fired."""
    return f"{RuleEvaluationConditionMet.__name__}: {RuleEvaluationConditionMet(rule_name, step)}"


def shortfall_details(num_steps: int, num_skipped: int, min_num_steps: int = 1) -> str:
    """Return the details for a rule that found nothing because it had too little to evaluate; else an empty string."""
    if num_steps >= min_num_steps:
        return ""
    if num_steps:
        return f"too little to evaluate: evaluated {num_steps} of at least {min_num_steps} steps"
    if num_skipped:
        return f"nothing to evaluate: none of {num_skipped} steps had what the rule needs"
    return "nothing to evaluate: there was no step"


def error_details(error: BaseException) -> str:
    """Return the details for a rule that failed: class and text of the error."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@attrs.frozen(kw_only=True)
class RuleStatus:
    """Status of the evaluation of a rule. `sdk` has another class of this name, for jobs on SageMaker.

    Args:
        name: The rule's name in the evaluation, unique in it.
        rule: Class name of the rule.
        status: ``InProgress`` until the trial has ended; ``IssuesFound`` from the first issue on.
        details: Reason of the status; empty if there is none.
        first_issue_step: Global step of the first issue; None while there is none.
        num_issues: Issues found so far.
        num_steps: Steps evaluated so far.
        num_skipped: Steps skipped because a tensor that the rule needs was not saved.
        last_step: Global step that was evaluated or skipped last; None while there is none.
        modified_at: Time of the last change, in seconds since the epoch.
    """

    name: str
    rule: str
    status: EvaluationStatus = "InProgress"
    details: str = ""
    first_issue_step: int | None = None
    num_issues: int = 0
    num_steps: int = 0
    num_skipped: int = 0
    last_step: int | None = None
    modified_at: float = 0.0

    @property
    def has_verdict(self) -> bool:
        """Whether the rule found issues, or ended after enough steps to find some."""
        return self.status == "IssuesFound" or (self.num_steps > 0 and not self.details)

    def to_json_dict(self) -> JSONObject:
        """Return the status as a JSON object."""
        return attrs.asdict(self)
