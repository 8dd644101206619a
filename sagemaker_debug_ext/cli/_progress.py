"""Progress of running jobs: one bar per job on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sagemaker_debug_ext._printable import printable
from sagemaker_debug_ext.cli import _output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from sagemaker_debug_ext.local.events import Event, EventHandler

_LINE_EVERY_STEPS = 50


def describe(event: Event) -> str | None:
    """Return a line for changes of status, issues and actions; None for other events."""
    from sagemaker_debug_ext.local import events

    if isinstance(event, events.StatusChanged):
        reason = f": {event.reason}" if event.reason else ""
        return f"{event.job_name}: {event.status} ({event.secondary_status}){reason}"
    if isinstance(event, events.RuleStatusChanged) and event.status not in ("InProgress", "NoIssuesFound"):
        return f"{event.job_name}: rule {event.rule} {event.status}" + (f": {event.details}" if event.details else "")
    if isinstance(event, events.ActionTaken):
        return f"{event.job_name}: rule {event.rule}, action {event.action}: {event.outcome}"
    return None


@contextlib.contextmanager
def show_progress(names: list[str], total_steps: int) -> Iterator[EventHandler]:
    """Show the progress of jobs while the block runs.

    Args:
        names: Names of the jobs.
        total_steps: Number of global steps of each job that is not stopped.
    """
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield _Lines(total_steps)
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TextColumn("step {task.completed}/{task.total}, {task.fields[tensors]} values saved"),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bars:
        tasks = {name: bars.add_task(name, total=total_steps, tensors=0) for name in names}
        yield _Bars(bars, tasks)


class _Lines:
    """Prints a line for each described event, and for some of the steps."""

    def __init__(self, total_steps: int) -> None:
        self._total = total_steps
        self._shown: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        from sagemaker_debug_ext.local.events import StepSaved

        line = describe(event)
        if line is not None:
            _output.say(line)
        elif isinstance(event, StepSaved) and event.step >= self._shown.get(event.job_name, 0):
            self._shown[event.job_name] = event.step + _LINE_EVERY_STEPS
            _output.say(f"{event.job_name}: step {event.step} of {self._total} saved")


class _Bars:
    """Updates one bar per job, and prints lines above the bars."""

    def __init__(self, bars: Progress, tasks: dict[str, TaskID]) -> None:
        self._bars = bars
        self._tasks = tasks
        self._tensors = dict.fromkeys(tasks, 0)

    def __call__(self, event: Event) -> None:
        from sagemaker_debug_ext.local.events import StepSaved

        line = describe(event)
        if line is not None:
            self._bars.console.print(printable(line), highlight=False, markup=False)
        elif isinstance(event, StepSaved):
            self._tensors[event.job_name] += event.tensors
            self._bars.update(
                self._tasks[event.job_name], completed=event.step + 1, tensors=self._tensors[event.job_name]
            )
