"""Trials as plain text: the first screen once, or a line for each event."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.terminal.drawing import plain, shown
from sagemaker_debug_ext.looking.terminal.screens import View, draw, pulse_text

if TYPE_CHECKING:
    from sagemaker_debug_ext.looking.live.board import Board, Snapshot


def first_screen(board: Board, width: int | None = None, height: int | None = None) -> str:
    """Return the first screen of every trial as text, once rules have evaluated what has been saved.

    Args:
        board: The trials.
        width: Characters of a line; those of the terminal by default.
        height: Number of lines of each trial.
    """
    size = shutil.get_terminal_size((80, 24))
    board.wait_for_rules()
    snapshot = board.snapshot()
    parts = []
    for number, pulse in enumerate(snapshot.pulses[: len(snapshot.materials)]):
        view = View(width or size.columns, (height or size.lines) - 2, number)
        lines = [pulse_text(pulse)[: view.width], *map(plain, draw("verdict", snapshot, view))]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def follow(board: Board) -> Iterator[str]:
    """Yield a line for each event until all jobs and their rules have ended: steps, findings, ends and troubles."""
    version = 0
    told: dict[tuple[str, int], object] = {}
    while True:
        board.wait(version, 1.0)
        if board.version > version:
            snapshot = board.snapshot()
            version = snapshot.version
            yield from _news(snapshot, told)
        if board.has_ended() and board.version == version:
            snapshot = board.snapshot()
            yield from (f"{shown(facts.name)}: {facts.verdict}" for facts in snapshot.story.trials)
            return


def _news(snapshot: Snapshot, told: dict[tuple[str, int], object]) -> Iterator[str]:
    for number, pulse in enumerate(snapshot.pulses):
        name = shown(pulse.name)
        state = pulse.trouble or pulse.state
        if told.get(("state", number)) != state:
            told["state", number] = state
            yield f"{name}: {shown(str(state))}"
    for number, material in enumerate(snapshot.materials):
        name = shown(snapshot.story.trials[number].name)
        losses = [curve for curve in material.curves if curve.is_loss]
        step = snapshot.story.trials[number].last_step
        if step is not None and told.get(("step", number)) != step:
            told["step", number] = step
            loss = "".join(f", {curve.mode.name} loss {as_number(float(curve.values[-1]))}" for curve in losses[:2])
            yield f"{name}: step {as_step(step)}{loss}"
    for rule in snapshot.story.rules:
        key = (f"rule {rule.name}", rule.trial)
        if rule.state in ("found", "error") and key not in told:
            told[key] = True
            at = "" if rule.first_issue_step is None else f" at step {as_step(rule.first_issue_step)}"
            name = shown(snapshot.story.trials[rule.trial].name)
            yield f"{name}: {shown(rule.name)} {rule.state}{at}{': ' + shown(rule.details) if rule.details else ''}"
