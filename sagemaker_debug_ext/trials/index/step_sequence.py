"""Ascending steps of a mode or of a tensor, with the global steps at which they were saved."""

from __future__ import annotations

import itertools
import operator
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence


class StepSequence:
    """Steps in ascending order, each with the first global step at which it was saved."""

    __slots__ = ("global_steps", "is_ascending", "num_seen", "steps")

    def __init__(self) -> None:
        self.steps = array("q")
        self.global_steps = array("q")
        self.is_ascending = True
        self.num_seen = 0

    @classmethod
    def of(cls, first_global_steps: Mapping[int, int]) -> StepSequence:
        """Return the sequence of the given steps, from step → first global step."""
        sequence = cls()
        sequence.steps = array("q", sorted(first_global_steps))
        sequence.global_steps = array("q", (first_global_steps[step] for step in sequence.steps))
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
            self._check_order_at(position)
        elif global_step < global_steps[position]:
            self.replace(step, global_step)

    def replace(self, step: int, global_step: int) -> None:
        """Change the first global step of a step that is known."""
        position = bisect_left(self.steps, step)
        self.global_steps[position] = global_step
        self._check_order_at(position)

    def _check_order_at(self, position: int) -> None:
        around = self.global_steps[max(position - 1, 0) : position + 2]
        self.is_ascending = self.is_ascending and all(a < b for a, b in itertools.pairwise(around))

    def up_to(self, global_step: int) -> array[int]:
        """Return a new array of the steps that were saved up to a global step."""
        if self.is_ascending:
            return self.steps[: bisect_right(self.global_steps, global_step)]
        pairs = zip(self.steps, self.global_steps, strict=True)
        return array("q", (step for step, first in pairs if first <= global_step))


class StepsOfMode:
    """The steps of one mode, ascending, with the global steps at which each was saved.

    A step usually has one global step. It has several if workers process unequal numbers of batches.
    """

    __slots__ = ("_more", "sequence")

    def __init__(self) -> None:
        self.sequence = StepSequence()
        self._more: dict[int, list[int]] = {}

    def add(self, step: int, global_step: int) -> None:
        """Add a step of the mode; adding it twice has no effect."""
        known = self.global_steps(step)
        if not known:
            self.sequence.add(step, global_step)
        elif global_step not in known:
            self._set(step, sorted([*known, global_step]))

    def global_steps(self, step: int) -> list[int]:
        """Return the global steps at which a step was saved, ascending; empty if it was not saved."""
        sequence = self.sequence
        position = bisect_left(sequence.steps, step)
        if position == len(sequence.steps) or sequence.steps[position] != step:
            return []
        return [sequence.global_steps[position], *self._more.get(step, ())]

    def remove(self, step: int, global_step: int) -> None:
        """Remove one global step of a step; a step without global steps is removed."""
        left = [known for known in self.global_steps(step) if known != global_step]
        if left:
            self._set(step, left)
        else:
            first = dict(zip(self.sequence.steps, self.sequence.global_steps, strict=True))
            del first[step]
            self.sequence = StepSequence.of(first)

    def _set(self, step: int, global_steps: list[int]) -> None:
        """Change the global steps, ascending, of a step that is known."""
        self.sequence.replace(step, global_steps[0])
        if global_steps[1:]:
            self._more[step] = global_steps[1:]
        else:
            self._more.pop(step, None)


def first_at_or_after(steps: Sequence[int], step: int) -> int | None:
    """Return the first of ascending steps that is not before `step`; None if all are before it."""
    position = bisect_left(steps, step)
    return steps[position] if position < len(steps) else None


def nearest_steps(steps: Sequence[int], step: int) -> tuple[int, ...]:
    """Return the last of ascending steps before `step`, and the first after it."""
    before, after = bisect_left(steps, step), bisect_right(steps, step)
    return (*steps[max(before - 1, 0) : before], *steps[after : after + 1])
