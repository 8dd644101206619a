"""Where a hook stands: its step counters, the open step, the step that has ended, and what is due."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from sagemaker_debug_ext.hooks.capture.counters import SkippedSteps, StepCounters
from sagemaker_debug_ext.hooks.capture.save_plan import SavePlan, StepPlan
from sagemaker_debug_ext.hooks.capture.step_buffer import StepBuffer
from sagemaker_debug_ext.vocabulary import ModeKeys


class StepTracker:
    """Counts steps and holds the buffers of the open step and of the one that has ended.

    Args:
        make_plan: Returns the plan for the current collections.
        before_end: Called with the open step before it ends.
        lock: The hook's lock.
        reduction_ddof: The framework's delta degrees of freedom in `std` and `variance`.
    """

    def __init__(
        self,
        make_plan: Callable[[], SavePlan],
        before_end: Callable[[StepBuffer], object],
        lock: threading.RLock,
        reduction_ddof: int,
    ) -> None:
        self.counters = StepCounters()
        self.skipped = SkippedSteps()
        self.ended: StepBuffer | None = None
        """The step that has ended and is not submitted yet; whoever submits it sets this to None."""
        self._make_plan = make_plan
        self._before_end = before_end
        self._lock = lock
        self._reduction_ddof = reduction_ddof
        self._open: StepBuffer | None = None
        self._last_begun = -1
        self._plan: SavePlan | None = None
        self._step_plan: StepPlan | None = None

    @property
    def open(self) -> StepBuffer | None:
        """The open step."""
        if self.skipped.num_begun:
            self._catch_up()
        return self._open

    @property
    def last_begun(self) -> int:
        """Global step of the last step begun; -1 before the first."""
        if self.skipped.num_begun:
            self._catch_up()
        return self._last_begun

    def last_mode_steps(self) -> dict[ModeKeys, int]:
        """Return mode → last step begun in it; -1 for GLOBAL before the first step."""
        self._catch_up()
        return {ModeKeys[name]: step for name, step in self.counters.last_mode_steps().items()}

    def begin(self) -> StepBuffer:
        """Begin the next step, whose predecessor has ended."""
        position = self.counters.advance()
        self._last_begun = position.global_step
        self._step_plan = None
        self._open = step = StepBuffer(position, reduction_ddof=self._reduction_ddof)
        return step

    def end(self) -> None:
        """End the open step, if there is one."""
        step = self.open
        if step is not None:
            self._before_end(step)
            self.ended, self._open = step, None

    def split(self) -> None:
        """End the open step, and open an empty one at the same position for values that come later."""
        step = self.open
        if step is not None:
            self.ended, self._open = step, StepBuffer(step.position)

    def discard(self) -> None:
        """Drop the open step and the one that has ended, with everything captured in them."""
        self._open = self.ended = None

    def discard_open(self) -> None:
        """Drop the open step, with everything captured in it."""
        self._open = None

    def cancel(self) -> None:
        """Drop the open step, which did not take place; the next one takes its numbers.

        The step before it is open again, unless it has been submitted.
        """
        with self._lock:
            step = self.open
            if step is not None:
                self.skipped.forget()
                self.counters.retreat(step.position)
                self._last_begun = self.counters.last_global_step
                self._open, self.ended = self.ended, None
                self._step_plan = None

    def enter_mode(self, mode: ModeKeys) -> None:
        """Set the mode of the following steps."""
        if mode is not self.counters.mode:
            with self._lock:
                self._catch_up()
                self.skipped.forget()
                self.counters.mode = mode

    def correct_mode(self, mode: ModeKeys) -> None:
        """Change the mode of the open step, which was begun before its mode was known."""
        with self._lock:
            step = self.open
            self.skipped.forget()
            if step is not None and step.position.mode is not mode:
                self.counters.retreat(step.position)
                self.counters.mode = mode
                step.position = self.counters.advance()
                self._step_plan = None

    def resume_after(self, last_steps: Mapping[ModeKeys, int]) -> bool:
        """Continue counting after the last steps of an earlier run; return False if that changes nothing."""
        last = last_steps.get(ModeKeys.GLOBAL, -1)
        if last <= self.counters.last_global_step:
            return False
        self.counters.resume_after(
            last, {mode: step for mode, step in last_steps.items() if mode is not ModeKeys.GLOBAL}
        )
        return True

    def invalidate_plan(self) -> None:
        """Drop the plan; a new one is made at the next step at the latest."""
        self._catch_up()
        self._plan = None
        self.skipped.forget()

    def reconsider(self, tensor_name: str) -> None:
        """Decide anew about a tensor that has come into another collection."""
        if self._plan is not None:
            self._plan.reconsider(tensor_name)

    def save_plan(self) -> SavePlan:
        """Return the plan for all steps."""
        if self._plan is None:
            self._plan = self._make_plan()
        return self._plan

    def current_plan(self) -> StepPlan | None:
        """Return the plan of the open step; None if there is no step."""
        if self.skipped.num_begun:  # as in `open`, without the call: this is asked for every value
            self._catch_up()
        step = self._open
        if step is None:
            return None
        if self._plan is None:
            self._step_plan = None
        if self._step_plan is None:
            self._step_plan = self.save_plan().at(step.position.mode, step.position.mode_step)
        return self._step_plan

    def first_plan(self) -> StepPlan | None:
        """Return the plan of the first step of the mode; None once a step has begun."""
        return None if self._last_begun >= 0 else self.save_plan().at(self.counters.mode, 0)

    def next_plan(self, mode: ModeKeys) -> StepPlan | None:
        """Return the plan of the next step, if that is of some mode; None if nothing is due at it."""
        if self.skipped.num_left > 0 and mode is self.counters.mode:
            return None
        self._catch_up()
        return self.save_plan().at(mode, self.counters.next_mode_step(mode))

    def skip_until_due(self) -> None:
        """Only count the steps after the open one, up to the next at which something is due."""
        if self._open is not None and self._plan is not None:
            self.skipped.skip_until(self._open.position, self._plan)

    def _catch_up(self) -> None:
        """Count the skipped steps that have begun: the open step is empty, and gets the number of the last of them."""
        with self._lock:
            num_steps = self.skipped.take_skipped()
            if num_steps and self._open is not None:
                self._open.position = self.counters.advance(num_steps)
                self._last_begun = self._open.position.global_step
                self._step_plan = None
