"""Output of ``sagemaker-debug rules run``: the tensors that rules read, their issues and their statuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sagemaker_debug_ext.cli import _output

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules import Explanation, Issue
    from sagemaker_debug_ext.rules.causes import LikelyCause
    from sagemaker_debug_ext.rules.evaluation.status import RuleStatus


def announce(explanations: dict[str, Explanation]) -> None:
    """Print the tensors that each rule reads, and why a rule cannot evaluate any."""
    for name, explanation in explanations.items():
        for need in explanation.needs:
            if need.tensors:
                example = ", ".join(need.tensors[:3]) + (", …" if len(need.tensors) > 3 else "")
                purpose = "" if need.purpose == "tensors" else f" as {need.purpose}"
                _output.say(f"{name}: looks at {_count(len(need.tensors), 'tensor')}{purpose} ({example})")
        for problem in explanation.problems:
            _output.say(f"{name}: gives no verdict as things stand: {problem}")


def summarise(explanations: Sequence[Explanation]) -> None:
    """Print a line about the tensors that rules read."""
    if not explanations:
        return
    needs = [need for explanation in explanations for need in explanation.needs]
    num_tensors = len({name for need in needs for name in need.tensors})
    groups = sorted({name for need in needs for name in need.collections})
    num_silent = sum(bool(explanation.problems) for explanation in explanations)
    _output.say(
        f"{_count(len(explanations), 'rule')} look{'s' * (len(explanations) == 1)} at {_count(num_tensors, 'tensor')}"
        + (f" ({', '.join(groups)})" if groups else "")
        + (f"; {num_silent} will give no verdict as things stand" if num_silent else "")
        + "; --verbose tells more"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def status_line(status: RuleStatus, num_shown: int) -> str:
    """Return a line about the status of a rule, of whose issues `num_shown` were shown."""
    parts = [f"{status.name}: {status.status}"]
    if status.first_issue_step is not None:
        shown = f" (the first {num_shown} are shown)" if num_shown < status.num_issues else ""
        parts.append(f"{_count(status.num_issues, 'issue')} from step {status.first_issue_step} on{shown}")
    parts += [f"{_count(status.num_steps, 'step')} evaluated", f"{status.num_skipped} without what the rule needs"]
    is_told = status.status == "IssuesFound" or (status.status == "NoIssuesFound" and not status.num_steps)
    if status.details and not is_told:
        parts.append(status.details)
    return ", ".join(parts)


def verdict(statuses: Sequence[RuleStatus]) -> str:
    """Return a line about the result of all rules."""
    found = [status for status in statuses if status.status == "IssuesFound"]
    failed = [status for status in statuses if status.status == "Error"]
    others = [status for status in statuses if status.status != "Error"]
    evaluated = [status for status in others if status.num_steps or status in found]
    num_idle = len(others) - len(evaluated)
    num_evaluated = sum(status.has_verdict for status in evaluated)
    steps = _count(max((status.num_steps + status.num_skipped for status in statuses), default=0), "step")
    if found:
        text = f"Issues found by {_count(len(found), 'rule')} of {num_evaluated} in {steps}"
    elif num_evaluated:
        text = f"No issues found by {_count(num_evaluated, 'rule')} in {steps}"
    elif evaluated:
        text = f"No verdict in {steps}"
    else:
        text = f"No verdict: nothing was evaluated in {steps}"
    if len(evaluated) > num_evaluated:
        text += f"; {_count(len(evaluated) - num_evaluated, 'rule')} had too few steps to evaluate"
    if num_idle and evaluated:
        text += f"; {_count(num_idle, 'rule')} had nothing to evaluate"
    return text + (f"; {_count(len(failed), 'rule')} failed" if failed else "")


def lacks_tensors(explanation: Explanation) -> bool:
    """Return whether a rule lacks certain tensors; a rule that reads any tensor lacks none."""
    from sagemaker_debug_ext.rules.reading.selection import ALL_TENSORS

    lacking = [need for need in explanation.needs if need.problem and not need.tensors]
    return bool(explanation.problems and lacking) and all(need.selection != str(ALL_TENSORS) for need in lacking)


def has_news(status: RuleStatus) -> bool:
    """Return whether a rule has evaluated a step, or has failed or been stopped with details."""
    return bool(status.num_steps or (status.details and status.status != "NoIssuesFound"))


def silent_line(names: Sequence[str]) -> str:
    """Return a line about rules that were not named and lack their tensors."""
    rules = "1 rule did" if len(names) == 1 else f"{len(names)} rules did"
    return f"{rules} not find the tensors to evaluate: {', '.join(names)}; one that is run by name says what it lacks"


def write_causes(causes: Sequence[LikelyCause]) -> None:
    """Print the likely causes of the issues, and apart from them what would look the same, and what may follow."""
    kinds: dict[str, list[LikelyCause]] = {
        "Likely causes, the likeliest first:": [],
        "What would look the same as the first:": [],
        "What may follow from them:": [],
    }
    likely, alike, following = kinds.values()
    for cause in causes:
        (alike if cause.looks_like else following if cause.may_follow else likely).append(cause)
    for title, chosen in kinds.items():
        if chosen:
            _output.write(title)
        for cause in chosen:
            _output.write(f"  {cause.name}: {cause.meaning} ({', '.join(cause.rules)})")


def write_json(
    statuses: Sequence[RuleStatus],
    issues: list[Issue],
    explanations: dict[str, Explanation],
    causes: Sequence[LikelyCause],
) -> None:
    """Print statuses, issues and explanations of the rules as JSON, in one form for any choice of rules.

    Args:
        statuses: Status of each rule.
        issues: The issues.
        explanations: What rules look at, by name; a rule that could not be made has none.
        causes: Likely causes of the issues, the likeliest first.
    """
    results = [
        {
            **status.to_json_dict(),
            "explanation": _explained(explanations.get(status.name), status).to_json_dict(),
            "issues": [issue.to_json_dict() for issue in issues if issue.rule == status.name],
        }
        for status in statuses
    ]
    _output.write_json({"rules": results, "likely_causes": [cause.to_json_dict() for cause in causes]})


def _explained(explanation: Explanation | None, status: RuleStatus) -> Explanation:
    from sagemaker_debug_ext.rules import Explanation

    return explanation or Explanation(rule=status.rule, problems=(status.details,))


def issue_line(issue: Issue, *, several: bool) -> str:
    """Return a line about an issue, with the name of its rule if it is one of several."""
    mode = f" ({issue.mode.name} {issue.mode_step})" if issue.mode else ""
    return f"step {issue.step}{mode}: {issue.rule + ': ' if several else ''}{issue.message}"
