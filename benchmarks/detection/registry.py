"""What the runs of the benchmark are: their names, what is wrong in each, and what makes its trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jobs import Job, make, run

from sagemaker_debug_ext.rules.causes import CAUSES


class Run(NamedTuple):
    """One run: its name, the cause of its fault (empty if it is sound), and what makes its trial."""

    name: str
    cause: str
    make_trial: Callable[[str], None]
    split: str


class Registry:
    """The runs of one split; each gets a seed of its own.

    Args:
        split: Name of the split.
        first_seed: Seed of the first run; those of the others follow.
    """

    def __init__(self, split: str, first_seed: int) -> None:
        self.runs: list[Run] = []
        self._split = split
        self._first_seed = first_seed

    @property
    def next_seed(self) -> int:
        """Seed of the next run."""
        return self._first_seed + len(self.runs)

    def other(self, cause: str, name: str, make_trial: Callable[[str], None]) -> None:
        """Add a run of any kind."""
        assert not cause or cause in CAUSES, cause
        self.runs.append(Run(name, cause, make_trial, self._split))

    def sound(self, task: str, name: str = "as it should be", change: Callable[[Job], None] | None = None) -> None:
        """Add a task without a fault."""
        self._add("", task, name, change)

    def fault(self, cause: str, name: str, *tasks: str) -> Callable[[Callable[[Job], None]], Callable[[Job], None]]:
        """Register a change of a job as a fault, for each of some tasks."""

        def register(change: Callable[[Job], None]) -> Callable[[Job], None]:
            for task in tasks:
                self._add(cause, task, name, change)
            return change

        return register

    def _add(self, cause: str, task: str, name: str, change: Callable[[Job], None] | None) -> None:
        seed = self.next_seed

        def make_trial(folder: str) -> None:
            job = make(task, seed)
            if change:
                change(job)
            run(job, folder)

        self.other(cause, f"{task}: {name}", make_trial)


def setting(**values: object) -> Callable[[Job], None]:
    """Return the change that sets attributes of a job."""

    def change(job: Job) -> None:
        for name, value in values.items():
            setattr(job, name, value)

    return change
