"""Summaries of a trial: text for `repr`, and a table for notebooks."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sagemaker_debug_ext._printable import html_table
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials.protocols import ReadableTrial


def describe_trial(trial: ReadableTrial) -> list[tuple[str, str]]:
    """Return lines of label and text that describe a trial as of the last refresh; the first line has no label."""
    reader = trial.index_reader
    with reader.lock:
        index = reader.index
        steps = list(index.steps())
        num_complete = len(reader.steps(ModeKeys.GLOBAL, show_incomplete_steps=False))
        by_mode = [(f"  {mode.name}", span(list(index.steps(mode)))) for mode in index.modes()]
        num_tensors = len(index.tensor_names())
    whole = f", {num_complete} of them complete" if num_complete < len(steps) else ""
    lines = [
        ("", f"{trial.name!r} at {trial.path}"),
        ("job", "ended" if trial.loaded_all_steps else "running, or ended without a mark"),
        ("steps", span(steps) + whole),
        *by_mode,
        ("workers", f"{len(trial.worker_set)} of {trial.num_workers} ({', '.join(sorted(trial.worker_set))})"),
        ("tensors", str(num_tensors)),
        ("collections", ", ".join(sorted(trial.collections())) or "none"),
    ]
    problems = trial.problems()
    return [*lines, ("problems", f"{len(problems)}, see problems()")] if problems else lines


def trial_to_text(trial: ReadableTrial) -> str:
    """Return the lines of `describe_trial` as indented text."""
    name, *lines = (f"{label}: {text}" if label else text for label, text in describe_trial(trial))
    return "\n  ".join([f"<{type(trial).__name__} {name}", *lines]) + ">"


def trial_to_html(trial: ReadableTrial) -> str:
    """Return the lines of `describe_trial` as an HTML table, with pictures of the loss and the layers."""
    # A layer above this one draws the pictures, so it is imported by name, and only for notebooks.
    pictures: str = importlib.import_module("sagemaker_debug_ext.looking.views.notebook").trial_pictures(trial)
    (_, title), *lines = describe_trial(trial)
    return html_table([(label.strip(), text) for label, text in lines], caption=title) + pictures


def span(steps: Sequence[int]) -> str:
    """Return the number of steps and the first and last step, as text."""
    if not steps:
        return "none"
    return f"1 ({steps[0]})" if len(steps) == 1 else f"{len(steps)} ({steps[0]} to {steps[-1]})"
