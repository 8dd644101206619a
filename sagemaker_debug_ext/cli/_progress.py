"""Progress of running jobs: one bar per job on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sagemaker_debug_ext._printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from sagemaker_debug_ext.local.events import Event, EventHandler


@contextlib.contextmanager
def show_progress(names: list[str], total_steps: int) -> Iterator[EventHandler]:
    """Show the progress of jobs while the block runs.

    Args:
        names: Names of the jobs.
        total_steps: Number of global steps of each job that is not stopped.
    """
    from sagemaker_debug_ext.local.events import EventPrinter

    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield EventPrinter(total_steps)
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


class _Bars:
    """Updates one bar per job, and prints lines above the bars."""

    def __init__(self, bars: Progress, tasks: dict[str, TaskID]) -> None:
        self._bars = bars
        self._tasks = tasks
        self._tensors = dict.fromkeys(tasks, 0)

    def __call__(self, event: Event) -> None:
        from sagemaker_debug_ext.local.events import StepSaved, describe_event

        line = describe_event(event)
        if line is not None:
            self._bars.console.print(printable(line), highlight=False, markup=False)
        elif isinstance(event, StepSaved):
            self._tensors[event.job_name] += event.tensors
            self._bars.update(
                self._tasks[event.job_name], completed=event.step + 1, tensors=self._tensors[event.job_name]
            )
