"""The screens of a terminal: each is the same story as lines of a width, as many as fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

from sagemaker_debug_ext.looking.live.board import Pulse, Snapshot
from sagemaker_debug_ext.looking.measures import LayerGrid
from sagemaker_debug_ext.looking.names import Labels
from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.story import Finding, RuleState
from sagemaker_debug_ext.looking.telling import related_findings
from sagemaker_debug_ext.looking.terminal.drawing import (
    Line,
    Span,
    Style,
    beside,
    cells_line,
    curve_lines,
    fitted,
    line_of,
    shown,
    wrapped,
)
from sagemaker_debug_ext.looking.thinning import pool_grid
from sagemaker_debug_ext.looking.views.compare import parting_sentence
from sagemaker_debug_ext.looking.views.parts import coloring_for, grid_of, window

SIGNS: Final[Mapping[RuleState, str]] = {
    "found": "●",
    "nothing found": "○",
    "nothing to evaluate": "–",
    "lacks tensors": "–",
    "error": "✕",
    "stopped": "◐",
}
_RULES_WIDTH: Final = 30
_LABEL_WIDTH: Final = 24
_LOSS_HEIGHT: Final = 6


@attrs.frozen
class View:
    """The part of the trials that is shown.

    Args:
        width: Characters of a line.
        height: Number of lines.
        trial: Number of the trial.
        offset: Number of lines of a list that are above the screen.
        filter: Only tensors and rules whose names hold this text are listed.
    """

    width: int = 80
    height: int = 24
    trial: int = 0
    offset: int = 0
    filter: str = ""


def pulse_text(pulse: Pulse) -> str:
    """Return the current state of a trial in a line."""
    parts = [shown(pulse.name), pulse.state or "not readable"]
    if pulse.last_step is not None:
        parts.append(f"step {as_step(pulse.last_step)}")
    if pulse.steps_per_second is not None:
        parts.append(f"{pulse.steps_per_second:.2g} steps/s")
    if pulse.num_unread:
        parts.append(f"{as_step(pulse.num_unread)} steps behind")
    if pulse.trouble:
        parts.append(shown(pulse.trouble))
    return " · ".join(parts)


def verdict_screen(snapshot: Snapshot, view: View) -> list[Line]:
    """Return the findings, the loss, the rules, and the layers over the steps."""
    story = snapshot.story
    findings = story.findings_of(view.trial)
    first = findings[0] if findings else None
    lines = _headline(snapshot, view, first)
    lines += [line for parting in story.partings for line in wrapped(parting_sentence(parting), view.width, most=1)]
    left_width = max(view.width - _RULES_WIDTH - 3, 20)
    loss = _loss(snapshot, view.trial, left_width, _LOSS_HEIGHT)
    lines += beside(loss, _short_rules(snapshot, view.trial, len(loss)), left_width)
    grid, rows = grid_of(snapshot.materials[view.trial], first)
    room = view.height - len(lines)
    if grid is not None and room > 2:
        few = window(grid, rows, room - 2) if rows else grid
        labels = snapshot.materials[view.trial].labels
        lines += _grid_lines(few, first, labels, view.width, room, set(rows[:1]))
    return lines[: view.height]


def layers_screen(snapshot: Snapshot, view: View) -> list[Line]:
    """Return the layers over the steps, as many as fit."""
    findings = snapshot.story.findings_of(view.trial)
    first = findings[0] if findings else None
    grid, rows = grid_of(snapshot.materials[view.trial], first)
    if grid is None:
        return wrapped("No gradient, weight or layer output was saved: save one of them to see layers.", view.width)
    names = [name for name in grid.tensors if view.filter in name]
    shown_names = names[min(view.offset, max(len(names) - 1, 0)) :][: max(view.height - 3, 1)]
    if not shown_names:
        return wrapped(f"No layer has {view.filter!r} in its name.", view.width)
    place = f"{as_step(len(shown_names))} of {as_step(len(grid.tensors))} tensors"
    labels = snapshot.materials[view.trial].labels
    lines = _grid_lines(grid.rows(shown_names), first, labels, view.width, view.height - 1, set(rows[:1]))
    return [*lines, line_of(Span(place, "quiet"))]


def curves_screen(snapshot: Snapshot, view: View) -> list[Line]:
    """Return the curves below each other."""
    curves = [curve for curve in snapshot.materials[view.trial].curves if view.filter in curve.name][view.offset :]
    if not curves:
        return wrapped("No single number was saved.", view.width)
    lines: list[Line] = []
    for curve in curves:
        if view.height - len(lines) < 4:
            break
        drawn, low, high = curve_lines([(curve.steps, curve.values)], view.width - 11, 4)
        last = f"last {as_number(float(curve.values[-1]))} at step {as_step(curve.steps[-1])}"
        lines.append(line_of(Span(shown(curve.name), "bold"), f" {curve.mode.name}, {last}"))
        lines += _with_ends(drawn, low, high)
    return lines


def rules_screen(snapshot: Snapshot, view: View) -> list[Line]:
    """Return all rules, those that found something first, and why others did not evaluate."""
    order = list(SIGNS)
    rules = [rule for rule in snapshot.story.rules if rule.trial == view.trial and view.filter in rule.name]
    if not rules:
        return wrapped("No rule was run.", view.width)
    lines = []
    for rule in sorted(rules, key=lambda rule: order.index(rule.state))[view.offset :]:
        state: str = rule.state
        if rule.first_issue_step is not None:
            state = f"found, {rule.num_issues} from step {as_step(rule.first_issue_step)}"
        text = f"{SIGNS[rule.state]} {shown(rule.name):<26.26} {state:<28} {shown(rule.details)}"
        lines.append(line_of(Span(text, _style(rule.state))))
    return lines[: view.height]


def workers_screen(snapshot: Snapshot, view: View) -> list[Line]:
    """Return the deviation of each worker from the median worker."""
    ranks = snapshot.materials[view.trial].ranks
    if ranks is None:
        return wrapped("One worker has saved tensors; there are none to compare.", view.width)
    lines = [line_of(Span(f"largest deviation from the median worker, {ranks.measure}", "bold"))]
    for number, worker in enumerate(ranks.workers):
        octaves = float(ranks.octaves[number].max())
        far = f"×{as_number(float(2**octaves))} {shown(ranks.tensors[number])}" if octaves >= 1 else "as the others"
        text = f"{shown(worker):<14} last step {as_step(ranks.last_steps[number]):>8}  {far}"
        lines.append(line_of(Span(text, "bad" if octaves >= 1 else "")))
    return lines[view.offset : view.offset + view.height]


SCREENS: Final[Mapping[str, Callable[[Snapshot, View], list[Line]]]] = {
    "verdict": verdict_screen,
    "layers": layers_screen,
    "curves": curves_screen,
    "rules": rules_screen,
    "workers": workers_screen,
}
"""Name of each screen → the function that draws it."""


def draw(name: str, snapshot: Snapshot, view: View) -> list[Line]:
    """Return a screen by its name, no line of it longer than the width."""
    return [fitted(line, view.width) for line in SCREENS[name](snapshot, view)[: view.height]]


def _headline(snapshot: Snapshot, view: View, first: Finding | None) -> list[Line]:
    width = view.width
    if first is None:
        sentence = str(snapshot.story.trials[view.trial].verdict)
        mark, style = ("○ ", "good") if snapshot.story.coverage.evaluated else ("– ", "")
        return wrapped(mark + sentence, width, style)  # type: ignore[arg-type]
    lines = wrapped(f"✖ {first.sentence}.", width, "bad", most=3)
    if first.advice:
        lines += wrapped(f"Try: {first.advice}", width, most=2)
    for title, named in related_findings(snapshot.story.findings_of(view.trial), 3):
        lines += wrapped(f"{title}: {', '.join(name for _, name in named)}", width, "quiet", most=1)
    return lines


def _loss(snapshot: Snapshot, number: int, width: int, height: int) -> list[Line]:
    losses = [curve for curve in snapshot.materials[number].curves if curve.is_loss]
    if not losses:
        return wrapped("No loss was saved.", width, "quiet")
    drawn, low, high = curve_lines([(curve.steps, curve.values) for curve in losses[:4]], width - 11, height)
    ends = ", ".join(f"{curve.mode.name} {as_number(float(curve.values[-1]))}" for curve in losses[:4])
    return [line_of(Span("loss", "bold"), f" {ends}"), *_with_ends(drawn, low, high)]


def _with_ends(drawn: Sequence[str], low: float, high: float) -> list[Line]:
    """Return lines of a picture with the highest and the lowest number at their left."""
    labels = [""] * len(drawn)
    labels[0], labels[-1] = as_number(high), as_number(low)
    return [(Span(f"{label:>10} ", "quiet"), Span(row)) for label, row in zip(labels, drawn, strict=True)]


def _short_rules(snapshot: Snapshot, number: int, height: int) -> list[Line]:
    rules = [rule for rule in snapshot.story.rules if rule.trial == number]
    order = list(SIGNS)
    lines = []
    for rule in sorted(rules, key=lambda rule: order.index(rule.state))[: max(height - 1, 0)]:
        at = "" if rule.first_issue_step is None else f" {as_step(rule.first_issue_step)}"
        lines.append(line_of(Span(f"{SIGNS[rule.state]} {shown(rule.name):.22}{at}", _style(rule.state))))
    evaluated = sum(rule.state in ("found", "nothing found") for rule in rules)
    text = f"{evaluated} of {len(rules)} rules evaluated" if rules else "no rule was run"
    return [*lines, line_of(Span(text, "quiet"))]


def _style(state: RuleState) -> Style:
    return "bad" if state in ("found", "error") else "" if state == "nothing found" else "quiet"


def _grid_lines(
    grid: LayerGrid, finding: Finding | None, labels: Labels, width: int, height: int, pointed: set[str]
) -> list[Line]:
    """Return rows of a measure over the steps, with the steps below."""
    coloring = coloring_for(grid, finding)
    cells = pool_grid(grid, coloring.scale, max(height - 2, 1), 640, coloring.healthy)
    against = {"others": ", against other layers", "share": "", "change": ", change"}.get(
        coloring.scale, ", against usual"
    )
    keys = {"share": "▒ ½", "change": "▒ +¼"}.get(coloring.scale, "▒ ×8")
    lines = [
        line_of(Span(f"{grid.measure.title} by layer{against}", "bold"), Span(f"  ✖ NaN  {keys}  · usual", "quiet"))
    ]
    label_width = min(_LABEL_WIDTH, width // 3)
    for row, begin in enumerate(cells.row_edges[:-1]):
        names = grid.tensors[begin : cells.row_edges[row + 1]]
        name = next((name for name in names if name in pointed), names[0])
        mark = "►" if name in pointed else " "
        label = shown(labels.of(name))[-(label_width - 2) :]
        line = line_of(f"{mark}{label:<{label_width - 1}}")
        lines.append((*fitted(line, label_width), *cells_line(cells.codes[row], coloring.scale, width - label_width)))
    first, last = as_step(grid.steps[0]), as_step(grid.steps[-1])
    gap = max(width - label_width - len(first) - len(last), 1)
    return [*lines, line_of(" " * label_width + first + " " * gap + last)]
