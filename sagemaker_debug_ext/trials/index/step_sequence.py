"""Ascending steps of a mode or of a tensor, with the global steps at which they were saved."""

from __future__ import annotations

import itertools
import operator
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping


class StepSequence:
    """Steps in ascending order, each with the first global step at which it was saved."""

    __slots__ = ("global_steps", "is_ascending", "num_seen", "steps")

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.global_steps: list[int] = []
        self.is_ascending = True
        self.num_seen = 0

    @classmethod
    def of(cls, first_global_steps: Mapping[int, int]) -> StepSequence:
        """Return the sequence of the given steps, from step → first global step."""
        sequence = cls()
        sequence.steps = sorted(first_global_steps)
        sequence.global_steps = [first_global_steps[step] for step in sequence.steps]
        sequence.is_ascending = all(map(operator.lt, sequence.global_steps, sequence.global_steps[1:]))
        return sequence

    def add(self, step: int, global_step: int) -> None:
        """Add a step; appending is the fastest case."""
        steps, global_steps = self.steps, self.global_steps
        if not steps or step > steps[-1]:
            self.is_ascending = self.is_ascending and (not steps or global_step > global_steps[-1])
            steps.append(step)
            global_steps.append(global_step)
            return
        position = bisect_left(steps, step)
        if steps[position] != step:
            steps.insert(position, step)
            global_steps.insert(position, global_step)
        elif global_step < global_steps[position]:
            global_steps[position] = global_step
        else:
            return
        around = global_steps[max(position - 1, 0) : position + 2]
        self.is_ascending = self.is_ascending and all(a < b for a, b in itertools.pairwise(around))

    def up_to(self, global_step: int) -> list[int]:
        """Return a new list of the steps that were saved up to a global step."""
        if self.is_ascending:
            return self.steps[: bisect_right(self.global_steps, global_step)]
        return [step for step, first in zip(self.steps, self.global_steps, strict=True) if first <= global_step]


class StepsOfMode:
    """The steps of one mode, ascending, with the global steps at which each was saved.

    A step usually has one global step. It has several if workers process unequal numbers of batches.
    """

    __slots__ = ("global_steps", "sequence")

    def __init__(self) -> None:
        self.sequence = StepSequence()
        self.global_steps: dict[int, list[int]] = {}

    def add(self, step: int, global_step: int) -> None:
        """Add a step of the mode; adding it twice has no effect."""
        known = self.global_steps.get(step)
        if known is None:
            self.global_steps[step] = [global_step]
        elif global_step in known:
            return
        else:
            insort(known, global_step)
        self.sequence.add(step, global_step)

    def remove(self, step: int, global_step: int) -> None:
        """Remove one global step of a step; a step without global steps is removed."""
        self.global_steps[step].remove(global_step)
        if not self.global_steps[step]:
            del self.global_steps[step]
        self.sequence = StepSequence()
        for known in sorted(self.global_steps):
            self.sequence.add(known, self.global_steps[known][0])


def first_at_or_after(steps: list[int], step: int) -> int | None:
    """Return the first of ascending steps that is not before `step`; None if all are before it."""
    position = bisect_left(steps, step)
    return steps[position] if position < len(steps) else None


def nearest_steps(steps: list[int], step: int) -> tuple[int, ...]:
    """Return the last of ascending steps before `step`, and the first after it."""
    before, after = bisect_left(steps, step), bisect_right(steps, step)
    return (*steps[max(before - 1, 0) : before], *steps[after : after + 1])
