"""The runs of a suite: the name of each, the cause of its fault, and the function that writes its trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from harness.boosting import boosting
from harness.jobs import make, run
from harness.parts import BoostingChange, Change
from harness.replicas import replicas
from sagemaker_debug_ext.rules.causes import CAUSES


class Run(NamedTuple):
    """One run.

    Attributes:
        name: Name of the run.
        cause: Cause of its fault, a name in `CAUSES`. Empty if the run is sound.
        make_trial: Trains the job and writes its trial to a folder.
        suite: Name of the suite.
    """

    name: str
    cause: str
    make_trial: Callable[[str], None]
    suite: str


class Registry:
    """The runs of one suite. Each run has its own seed.

    Args:
        suite: Name of the suite.
        first_seed: Seed of the first run. Each further run takes the next number.
        prepare: Change that is applied to each job of PyTorch before its own changes.
    """

    def __init__(self, suite: str, first_seed: int, prepare: Change | None = None) -> None:
        self.runs: list[Run] = []
        self._suite = suite
        self._first_seed = first_seed
        self._prepare = prepare

    @property
    def next_seed(self) -> int:
        """Seed of the next run."""
        return self._first_seed + len(self.runs)

    def other(self, cause: str, name: str, make_trial: Callable[[str], None]) -> None:
        """Add a run of any kind."""
        assert not cause or cause in CAUSES, cause
        self.runs.append(Run(name, cause, make_trial, self._suite))

    def boosted(self, cause: str, name: str, kind: str, change: BoostingChange | None = None, rows: int = 400) -> None:
        """Add a run of boosted trees."""
        self.other(cause, name, boosting(kind, self.next_seed, change, rows))

    def replicas(self, cause: str, name: str, **settings: object) -> None:
        """Add a run of two processes. The settings are the arguments of `harness.replicas.train`."""
        self.other(cause, name, replicas(seed=self.next_seed, **settings))

    def sound(self, task: str, name: str = "as it should be", *changes: Change) -> None:
        """Add a task without a fault."""
        self._add("", task, name, *changes)

    def fault(self, cause: str, name: str, *tasks: str) -> Callable[[Change], Change]:
        """Register a change as a fault, with one run for each task."""

        def register(change: Change) -> Change:
            for task in tasks:
                self._add(cause, task, name, change)
            return change

        return register

    def faults(self, table: dict[str, list[tuple[Any, ...]]]) -> None:
        """Add faults by their cause. Each is a tuple of task, name and the changes that make it."""
        for cause, rows in table.items():
            for task, name, *changes in rows:
                self._add(cause, task, name, *changes)

    def _add(self, cause: str, task: str, name: str, *changes: Change) -> None:
        seed = self.next_seed

        def make_trial(folder: str) -> None:
            job = make(task, seed)
            for change in (self._prepare, *changes):
                if change:
                    change(job)
            run(job, folder)

        self.other(cause, f"{task}: {name}", make_trial)
