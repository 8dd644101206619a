"""Count steps over all modes and within each mode (store format, section 6)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final, NamedTuple

import attrs

from sagemaker_debug_ext.hooks.capture.save_plan import SavePlan
from sagemaker_debug_ext.vocabulary import ModeKeys

_GLOBAL: Final = ModeKeys.GLOBAL
"""Cached, because enum member access takes a microsecond in Python 3.11 and this runs at every step."""


class StepPosition(NamedTuple):
    """The number of a step over all modes, and within its mode."""

    global_step: int
    mode: ModeKeys
    mode_step: int


@attrs.define
class StepCounters:
    """The step counters of one worker.

    Every counter starts at 0 with the first step. In mode GLOBAL, which means that no mode was set, a step's number
    within the mode is the number over all modes.

    Args:
        mode: Mode of the steps to come.
    """

    mode: ModeKeys = ModeKeys.GLOBAL
    _next_global_step: int = attrs.field(default=0, init=False)
    _next_mode_steps: dict[ModeKeys, int] = attrs.field(factory=dict, init=False)
    _first_mode_step: int = attrs.field(default=0, init=False)

    @property
    def last_global_step(self) -> int:
        """The last step begun; -1 before the first."""
        return self._next_global_step - 1

    @property
    def has_trained(self) -> bool:
        """Whether a step has begun in mode TRAIN, or in none."""
        others = sum(
            self._next_mode_steps.get(mode, self._first_mode_step) - self._first_mode_step
            for mode in (ModeKeys.EVAL, ModeKeys.PREDICT)
        )
        return ModeKeys.TRAIN in self._next_mode_steps or self._next_global_step - self._first_mode_step > others

    def last_mode_steps(self) -> dict[str, int]:
        """Return the last step begun of every mode, as the state file of checkpoints spells it."""
        steps = {mode.name: following - 1 for mode, following in self._next_mode_steps.items()}
        return {ModeKeys.GLOBAL.name: self.last_global_step, **steps}

    def next_mode_step(self, mode: ModeKeys) -> int:
        """Return the number of the next step of a mode."""
        return self._next_global_step if mode is _GLOBAL else self._next_mode_steps.get(mode, self._first_mode_step)

    def resume_after(self, global_step: int, mode_steps: Mapping[ModeKeys, int]) -> None:
        """Continue counting after these steps; modes that are not listed continue after the global step."""
        self._next_global_step = self._first_mode_step = global_step + 1
        self._next_mode_steps = {mode: step + 1 for mode, step in mode_steps.items()}

    def advance(self, num_steps: int = 1) -> StepPosition:
        """Begin the next step of the current mode, or several, and return where the last of them stands."""
        global_step = self._next_global_step + num_steps - 1
        self._next_global_step = global_step + 1
        mode = self.mode
        if mode is _GLOBAL:
            return StepPosition(global_step, mode, global_step)
        mode_step = self.next_mode_step(mode) + num_steps - 1
        self._next_mode_steps[mode] = mode_step + 1
        return StepPosition(global_step, mode, mode_step)

    def retreat(self, position: StepPosition) -> None:
        """Forget the last step begun, which stood at `position`: the next one takes its numbers."""
        self._next_global_step = position.global_step
        if position.mode is not ModeKeys.GLOBAL:
            self._next_mode_steps[position.mode] = position.mode_step


class SkippedSteps:
    """Fast path for steps at which no collection is due: only a counter is incremented.

    A training step empties the processor's caches, so that code between two of them takes ten times its usual time.
    Nothing else of the hook is touched while steps are skipped; `StepTracker` catches up when it is asked.
    """

    def __init__(self) -> None:
        self.num_left = 0
        """Known number of steps left to skip."""
        self._is_over = False
        self.num_begun = 0
        """Number of skipped steps begun since the tracker caught up."""

    @property
    def is_skipping(self) -> bool:
        """Whether the open step is one of them, or the one before them: nothing is due, as long as this is true."""
        return self.num_left > 0 or self.num_begun > 0

    def begin(self) -> bool:
        """Begin a step if it is one to skip, and return whether it is."""
        # No lock is needed, because the interpreter does not switch threads between these lines.
        if self.num_left <= 0:
            return False
        self.num_left -= 1
        self.num_begun += 1
        return True

    def skip_until(self, position: StepPosition, plan: SavePlan) -> None:
        """Compute how many steps after a position have nothing due under the current plan and mode."""
        due = plan.next_due(position.mode, position.mode_step)
        self.num_left = sys.maxsize if due is None else due - position.mode_step - 1
        if self._is_over:  # asked last, because another thread may have ended it in between
            self.num_left = 0

    def forget(self) -> None:
        """Stop skipping, because something is or may be due at the next step."""
        self.num_left = 0

    def end(self) -> None:
        """Skip no step any more; called from any thread."""
        self._is_over = True
        self.num_left = 0

    def take_skipped(self) -> int:
        """Return the number of skipped steps begun since the last call."""
        num_begun, self.num_begun = self.num_begun, 0
        return num_begun
