"""`tell`: compose the story of trials from the issues of rules and the measures of layers."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.catalog.collection_needs import EVERYTHING, get_rule_feed
from sagemaker_debug_ext.looking.evidence import RuleEvidence, evidence_of
from sagemaker_debug_ext.looking.material import Material, Verdict
from sagemaker_debug_ext.looking.measures import MEASURES, Floats, LayerGrid
from sagemaker_debug_ext.looking.names import Labels, shared_path
from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.onset import find_onset
from sagemaker_debug_ext.looking.parting import find_parting
from sagemaker_debug_ext.looking.ranks import last_steps
from sagemaker_debug_ext.looking.story import (
    Coverage,
    Evidence,
    Finding,
    JobStateName,
    Onset,
    Part,
    RuleLine,
    RuleState,
    Sentence,
    Story,
    TrialFacts,
)
from sagemaker_debug_ext.rules.causes import LikelyCause, likely_causes
from sagemaker_debug_ext.rules.factory.creation import find_rule_class
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.trials.following import JobState
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
    from sagemaker_debug_ext.rules.explain import Explanation
    from sagemaker_debug_ext.rules.issue import Issue
    from sagemaker_debug_ext.trials import Trial

MAX_SHOWN: Final = 50
"""Number of issues and tensors of a finding that are listed; the rest is counted."""

_FEW_STEPS: Final = 8
"""Number of saved steps of which none can be told to be unusual, because too few are before it."""

_FIRST_TENSORS: Final = 4
"""Number of tensors that stand for a finding: of the first, such as the input of a layer, there may be no measure."""

_MAX_MESSAGE: Final = 600
"""Limit of the characters of a message of a rule; names in it may be long."""

_ALIKE: Final = 4.0
"""Largest factor between values that are told to be the same from the first step on."""

_SUDDEN: Final = frozenset(
    {"replicas", "not finite", "dead units", "initialisation", "learning rate too high", "exploding gradients"}
)
"""Causes that, after a sound beginning, something has brought about at one step."""

_USUAL_NAME: Final = "debug-output"

_BEHIND_SHARE: Final = 0.1
"""Share of the steps by which a worker's last step must be behind the others' for it to count as silent."""

JOB_STATES: Final[Mapping[JobState, JobStateName]] = {
    JobState.RUNNING: "running",
    JobState.ENDED: "ended",
    JobState.SILENT: "silent",
}
_OTHER: Final = "found by a rule that points at no cause"


def tell(materials: Sequence[Material], notes: Sequence[str] = ()) -> Story:
    """Return the story of one trial or several.

    Args:
        materials: What was read of each trial.
        notes: What was thinned or left out of what is shown, in sentences.
    """
    findings: list[Finding] = []
    rules: list[RuleLine] = []
    trials: list[TrialFacts] = []
    for number, material in enumerate(materials):
        found = _findings(number, material)
        lines = _rule_lines(number, material.verdict) if material.verdict else []
        findings += found
        rules += lines
        trials.append(_facts(material, found, lines))
    worst = max(range(len(trials)), key=lambda number: (sum(f.trial == number for f in findings), -number))
    return Story(
        headline=trials[worst].verdict,
        trials=tuple(trials),
        findings=tuple(findings),
        rules=tuple(rules),
        partings=tuple(find_parting(materials[0], other, (0, n)) for n, other in enumerate(materials[1:], 1)),
        coverage=Coverage(
            evaluated=all(material.verdict is not None for material in materials),
            num_read=tuple(material.measures.num_read for material in materials),
            num_steps=tuple(material.measures.num_steps for material in materials),
            notes=(*_reading_notes(materials), *notes),
        ),
    )


def _reading_notes(materials: Sequence[Material]) -> list[str]:
    notes = []
    for material in materials:
        measures = material.measures
        if measures.num_read < measures.num_steps:
            notes.append(
                f"{material.trial.name}: layers were read at {measures.num_read} of {measures.num_steps} steps, evenly "
                "spread, because the time was up; --seconds allows more"
            )
    return notes


# --- findings --------------------------------------------------------------------------------------------------------


def _findings(number: int, material: Material) -> list[Finding]:
    if material.verdict is None:
        return []
    issues = material.verdict.issues
    named = likely_causes(issues)
    causes = [cause for cause in named if not cause.looks_like]
    explained = {issue for cause in causes for issue in cause.issues}
    others: dict[str, list[Issue]] = {}
    for issue in issues:
        if issue not in explained:
            others.setdefault(issue.rule, []).append(issue)
    causes += [LikelyCause(rule, _OTHER, tuple(found)) for rule, found in others.items()]
    return [
        _finding(number, material, cause, [other.name for other in named if other.looks_like == cause.name])
        for cause in causes
    ]


def _finding(number: int, material: Material, cause: LikelyCause, look_alikes: Sequence[str]) -> Finding:
    direct = [issue for issue in cause.issues if issue.rule == cause.rules[0]]
    first = min(direct, key=lambda issue: issue.step)
    tensors = list(dict.fromkeys(name for issue in (first, *direct, *cause.issues) for name in issue.tensors))
    workers = tuple(sorted({issue.worker for issue in cause.issues if issue.worker}))
    shown = evidence_of(first.rule)
    by_step = sorted(cause.issues, key=lambda issue: issue.step)
    onset = _onset(material, shown, tensors, first.step) or _onset_by_rule(material, first)
    return Finding(
        trial=number,
        cause=cause.name,
        meaning=cause.meaning,
        sentence=_sentence(
            material.labels, cause, workers if shown.first == "ranks" else (), tensors, first.step, onset
        ),
        message=material.labels.in_text(first.message[:_MAX_MESSAGE]),
        where=shared_path([name for issue in direct for name in issue.tensors]).rstrip("./_"),
        tensors=tuple(tensors[:MAX_SHOWN]),
        num_tensors=len(tensors),
        workers=workers,
        found_at=first.step,
        onset=onset,
        rules=cause.rules,
        evidence=tuple(_evidence(material, shown, tensors)),
        advice=material.labels.in_text(_advice(material, cause, first, onset)),
        issues=tuple(by_step[:MAX_SHOWN]),
        num_issues=len(cause.issues),
        may_follow=cause.may_follow,
        look_alikes=tuple(look_alikes),
    )


def _sentence(
    labels: Labels,
    cause: LikelyCause,
    workers: Sequence[str],
    tensors: Sequence[str],
    found_at: int,
    onset: Onset | None,
) -> Sentence:
    """Return cause, place and time of a finding; workers are named if there are any."""
    parts: list[str | Part] = [Part(cause.name[:1].upper() + cause.name[1:], "cause")]
    if workers:
        parts += [" of ", Part(", ".join(workers[:_FIRST_TENSORS]), "worker")]
    if tensors:
        parts += [f" in {labels.before(tensors[0])}", Part(labels.of(tensors[0]), "tensor", tensors[0])]
        if len(tensors) > 1:
            then = ", then in" if cause.rules[0] == "NonFiniteOrigin" else " and"
            parts.append(f"{then} {_count(len(tensors) - 1, 'other')}")
    found = f"step {as_step(found_at)}"
    if onset is None:
        return Sentence.of(*parts, ": found at ", Part(found, "step"))
    since = "the first step" if onset.step is None else f"step {as_step(onset.step)}"
    parts += [": from ", Part(since, "step"), " on"]
    return Sentence.of(*parts, *(() if onset.step == found_at else (f", found at {found}",)))


def matching_rows(material: Material, grid: LayerGrid, tensors: Iterable[str]) -> list[str]:
    """Return the rows of a grid that belong to tensors: their own, or those of the same parameters."""
    scheme = naming_scheme_of(material.trial)
    rows = dict.fromkeys(grid.tensors)
    weights = material.measures.grids.get("weight_norm") or material.measures.grids.get("update_ratio")
    gradients = material.measures.grids.get("gradient_norm")
    gradient_rows = set(gradients.tensors) if gradients else set()
    parameter_of = (
        {scheme.gradient_of(name, gradient_rows): name for name in weights.tensors} if weights and gradients else {}
    )
    found: dict[str, None] = {}
    for name in tensors:
        for candidate in (name, scheme.gradient_of(name, rows), parameter_of.get(name)):
            if candidate in rows:
                found[candidate] = None
                break
    return list(found)


def _evidence(material: Material, shown: RuleEvidence, tensors: Sequence[str]) -> Iterable[Evidence]:
    for subject in _subjects(material, shown, tensors):
        grid = material.measures.grids.get(subject)
        if grid is not None:
            yield Evidence(subject=subject, tensors=tuple(matching_rows(material, grid, tensors)[:MAX_SHOWN]))
        elif subject not in MEASURES and (subject != "loss" or any(curve.is_loss for curve in material.curves)):
            yield Evidence(subject=subject, tensors=tuple(tensors[:MAX_SHOWN]))


def _subjects(material: Material, shown: RuleEvidence, tensors: Sequence[str]) -> Iterable[str]:
    """Return the views that show a finding, first a measure that has a row for one of its first tensors."""
    grids = material.measures.grids
    usual = (shown.first, *shown.beside)
    if shown.first not in grids:
        return usual
    with_row = (
        name
        for tensor in tensors[:_FIRST_TENSORS]
        for name in (*usual, *grids)
        if name in grids and matching_rows(material, grids[name], [tensor])
    )
    return dict.fromkeys((next(with_row, shown.first), *usual))


def _onset(material: Material, shown: RuleEvidence, tensors: Sequence[str], found_at: int) -> Onset | None:
    """Return since when the value that a rule evaluated is unusual; None if there is no such value."""
    for measure, tensor, steps, values in _evaluated_series(material, shown, tensors):
        step = find_onset(steps, values, found_at)
        if step is not None:
            text = f"{measure} of {material.labels.of(tensor)} left its usual range at step {as_step(step)}"
            return Onset(measure=measure, tensor=tensor, step=step, text=text)
        num_before = sum(saved <= found_at for saved in steps)
        if num_before <= 1 or _is_steady(values[:num_before]):
            return Onset(measure=measure, tensor=tensor, step=None, text="from the first step on")
    return None


def _onset_by_rule(material: Material, first: Issue) -> Onset | None:
    """Return the onset of the first issue of a rule that evaluates each step on its own; None for other rules."""
    runs_here = any(spec.name == first.rule and spec.rule_class for spec in list_rule_specs("debugger"))
    if not first.tensors or not runs_here or not find_rule_class(first.rule).is_stateless:
        return None
    name = first.tensors[0]
    if not material.trial.has_tensor(name) or material.trial.tensor(name).steps()[0] >= first.step:
        return None
    text = f"{first.rule} found nothing before step {as_step(first.step)}"
    return Onset(measure="what the rule evaluates", tensor=name, step=first.step, text=text)


def _advice(material: Material, cause: LikelyCause, first: Issue, onset: Onset | None) -> str:
    """Return what to try; if training was sound before, first of all to look for what changed then."""
    if not first.advice or onset is None or onset.step is None or cause.name not in _SUDDEN:
        return first.advice
    if bisect_left(material.trial.index_reader.step_array(), onset.step) < _FEW_STEPS:
        return first.advice
    question = (
        f"Sound until step {as_step(onset.step)}: look for what changes there, such as the learning rate, the data, or "
        "code that sets weights."
    )
    if first.rule == "NonFiniteOrigin":  # its advice names the place to look at
        return f"{first.advice} {question}"
    return f"{question} If nothing does: {first.advice[0].lower()}{first.advice[1:]}"


def _is_steady(values: Floats) -> bool:
    """Return whether values are all zero, or few and alike; NaN and infinity are like nothing."""
    if not values.any():
        return True
    sizes = np.abs(values)
    return len(sizes) <= _FEW_STEPS and bool(sizes.min() > 0 and sizes.max() <= _ALIKE * sizes.min() < math.inf)


def _evaluated_series(
    material: Material, shown: RuleEvidence, tensors: Sequence[str]
) -> Iterator[tuple[str, str, Sequence[int], Floats]]:
    """Yield measure, tensor, steps and values of what a rule evaluated, of the loudest tensor."""
    grid = material.measures.grids.get(shown.first)
    if grid is not None:
        for tensor in matching_rows(material, grid, tensors)[:1]:
            yield (grid.measure.title, tensor, *grid.series(tensor))
    elif shown.first == "curves":
        for curve in material.curves:
            if curve.name in tensors[:1]:
                yield ("value", curve.name, curve.steps, curve.values)
    elif shown.first == "loss":
        losses = [curve for curve in material.curves if curve.is_loss]
        named = [curve for curve in losses if curve.name in tensors] or losses
        for curve in named[:1]:
            yield ("loss", curve.name, curve.steps, curve.values)


# --- rules -----------------------------------------------------------------------------------------------------------


def _rule_lines(number: int, verdict: Verdict) -> list[RuleLine]:
    return [_rule_line(number, status, verdict.explanations.get(status.name)) for status in verdict.statuses]


def _rule_line(number: int, status: RuleStatus, explanation: Explanation | None) -> RuleLine:
    needs = explanation.needs if explanation else ()
    state = _state(status, explanation)
    problems = "; ".join(explanation.problems) if explanation else ""
    return RuleLine(
        trial=number,
        name=status.name,
        state=state,
        details=status.details
        if state == "error"
        else problems or status.details
        if state in ("lacks tensors", "nothing to evaluate")
        else "",
        num_tensors=len({name for need in needs for name in need.tensors}),
        collections=tuple(sorted({name for need in needs for name in need.collections})),
        num_steps=status.num_steps,
        num_skipped=status.num_skipped,
        first_issue_step=status.first_issue_step,
        num_issues=status.num_issues,
        save=_to_save(status.rule) if state == "lacks tensors" else (),
    )


def _state(status: RuleStatus, explanation: Explanation | None) -> RuleState:
    if status.status == "IssuesFound":
        return "found"
    if status.status == "Error":
        return "error"
    if status.status == "Stopped":
        return "stopped"
    if status.has_verdict:
        return "nothing found"
    if status.num_steps:
        return "nothing to evaluate"
    lacking = explanation is not None and any(need.problem and not need.tensors for need in explanation.needs)
    return "lacks tensors" if lacking else "nothing to evaluate"


def _to_save(rule: str) -> tuple[str, ...]:
    feed = get_rule_feed(rule)
    if feed is None:
        return ()
    named = (*feed.collections, *((feed.otherwise,) if feed.otherwise else ()))
    return tuple(name for name in dict.fromkeys(named) if name != EVERYTHING)


# --- trials ----------------------------------------------------------------------------------------------------------


def _facts(material: Material, findings: Sequence[Finding], rules: Sequence[RuleLine]) -> TrialFacts:
    trial = material.trial
    trial.maybe_refresh()
    reader = trial.index_reader
    steps = reader.step_array()
    ends = last_steps(trial)
    with reader.lock:
        num_tensors = len(reader.index.tensor_names())
    by_mode = {mode.name: len(reader.step_array(mode)) for mode in trial.modes()}
    losses = {
        f"{curve.name} ({curve.mode.name})": as_number(curve.values[-1]) for curve in material.curves if curve.is_loss
    }
    state = JOB_STATES[trial.job_state()]
    return TrialFacts(
        name=trial_name(trial),
        path=str(trial.path),
        state=state,
        verdict=_verdict(material, findings, rules, len(steps), state == "running"),
        steps=by_mode or {ModeKeys.GLOBAL.name: len(steps)},
        first_step=steps[0] if steps else None,
        last_step=steps[-1] if steps else None,
        workers=tuple(trial.workers()),
        silent_workers=_silent(ends, steps),
        num_workers=trial.num_workers,
        num_tensors=num_tensors,
        last_losses=losses,
        collections=material.collections,
        problems=tuple(str(problem) for problem in trial.problems()),
    )


def trial_name(trial: Trial) -> str:
    """Return the name of a trial; that of its job if the trial has the name that SageMaker gives to all."""
    parts = str(trial.path).rstrip("/").split("/")
    return parts[-2] if trial.name == parts[-1] == _USUAL_NAME and len(parts) > 1 else trial.name


def _silent(ends: Mapping[str, int], steps: Sequence[int]) -> dict[str, int]:
    if len(ends) < 2 or len(steps) < 2:
        return {}
    behind = _BEHIND_SHARE * (steps[-1] - steps[0])
    return {worker: last for worker, last in ends.items() if max(ends.values()) - last > behind}


def _verdict(
    material: Material, findings: Sequence[Finding], rules: Sequence[RuleLine], num_steps: int, is_running: bool
) -> Sentence:
    so_far = " so far" if is_running else ""
    if findings:
        first, rest = findings[0], len(findings) - 1
        parts = first.sentence.parts
        more = (f"; {_count(rest, 'further finding')}",) if rest else ()
        return Sentence.of(*parts, *more, f"{so_far}.")
    if not num_steps:
        return Sentence.of("Nothing was saved", so_far, ".")
    if material.verdict is None:
        losses = [curve for curve in material.curves if curve.is_loss]
        last = f", last loss {as_number(losses[0].values[-1])}" if losses else ""
        steps = f"{as_step(num_steps)} saved steps"
        return Sentence.of(f"{steps}{so_far}{last}; no rule was run, so nothing was evaluated.")
    evaluated = sum(rule.state in ("nothing found", "found") for rule in rules)
    failed = sum(rule.state == "error" for rule in rules)
    idle = len(rules) - evaluated - failed
    text = f"Nothing found{so_far} by {_count(evaluated, 'rule')}"
    text += f"; {_count(idle, 'other')} had too little to evaluate" if idle else ""
    text += f"; {_count(failed, 'rule')} failed" if failed else ""
    return Sentence.of(
        f"{text}." if evaluated else f"Nothing was evaluated: none of {_count(len(rules), 'rule')} had what it needs."
    )


def is_of_workers(finding: Finding) -> bool:
    """Return whether a finding is about workers that differ."""
    return any(evidence.subject == "ranks" for evidence in finding.evidence[:1])


def related_findings(findings: Sequence[Finding], most: int) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Yield titles of findings beside the first, and for each title numbers from 1 and names of the findings.

    What may follow from the first, or came later, is named by what was observed instead of by a possible cause. What
    would look the same as the first has its number.

    Args:
        findings: The findings of a trial.
        most: Highest number of findings to name.
    """
    titles: dict[str, list[tuple[int, str]]] = {
        "Also possible": [],
        "Found later": [],
        "May follow from it": [],
        "Would look the same": [(1, cause) for finding in findings[:1] for cause in finding.look_alikes],
    }
    for number, finding in list(enumerate(findings, 1))[1 : most + 1]:
        at = f"step {as_step(finding.found_at)}"
        sign = re.sub("(?<=[a-z])(?=[A-Z])", " ", finding.rules[0]).lower()
        if finding.may_follow:
            titles["May follow from it"].append((number, f"{sign} ({at})"))
        elif finding.found_at > findings[0].found_at:
            titles["Found later"].append((number, f"{sign} ({at})"))
        else:
            titles["Also possible"].append((number, f"{finding.cause} ({at})"))
    return ((title, named) for title, named in titles.items() if named)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
