"""Track which steps are available, which may still be written, and which never will be."""

from __future__ import annotations

import enum
from bisect import bisect_right

from sagemaker_debug_ext.trials.index.step_sequence import first_at_or_after
from sagemaker_debug_ext.trials.index.trial_index import TrialIndex
from sagemaker_debug_ext.vocabulary import ModeKeys


class StepState(enum.Enum):
    """State of a step.

    `UNAVAILABLE`: the step was not saved and never will be. `AVAILABLE`: the step was saved, and no more workers will
    add to it. `NOT_YET_AVAILABLE`: the step, or some worker's part of it, may still be written.
    """

    UNAVAILABLE = 0
    AVAILABLE = 1
    NOT_YET_AVAILABLE = 2


class Completeness:
    """Tracks which steps are complete (store format, section 7.3).

    A step is complete once all workers have written it or a later step is complete, because workers write in order. If
    more than `window` steps wait for missing workers, each update takes the oldest of them as complete, half as many as
    `window`. A dead worker therefore does not block the other workers' steps forever.

    Args:
        index: The index of the trial.
        num_workers: Number of workers that write.
        window: Number of incomplete steps that may wait, at least 1.

    Attributes:
        last_complete_step: The last complete step; -1 at the start.
        last_awaited_step: The last step that was complete before the end of the job made the others complete.
        has_ended: Whether the job has ended.
    """

    def __init__(self, index: TrialIndex, num_workers: int, window: int) -> None:
        self._index = index
        self._num_workers = num_workers
        self._window = window
        self.last_complete_step = -1
        self.last_awaited_step = -1
        self.has_ended = False

    def update(self, changed_steps: set[int]) -> None:
        """Update the state of global steps that changed in the index."""
        complete = [step for step in changed_steps if self._index.num_writers(step) >= self._num_workers]
        self.last_complete_step = max(self.last_complete_step, *complete, -1)
        steps = self._index.steps()
        num_waiting = len(steps) - bisect_right(steps, self.last_complete_step)
        if num_waiting > self._window:
            given_up = max(self._window // 2, 1)
            self.last_complete_step = steps[len(steps) - num_waiting + given_up - 1]
        if not self.has_ended:
            self.last_awaited_step = self.last_complete_step

    def finish(self) -> None:
        """Mark the job as ended."""
        self.has_ended = True
        last_step = self._index.last_step()
        if last_step is not None:
            self.last_complete_step = max(self.last_complete_step, last_step)

    def is_complete(self, global_step: int) -> bool:
        """Return whether no more workers are expected to write a saved step."""
        return self.has_ended or global_step <= self.last_complete_step

    def state(self, step: int, mode: ModeKeys) -> StepState:
        """Return the state of a step of a mode."""
        following = first_at_or_after(self._index.steps(mode), step)
        if following is None:
            return StepState.UNAVAILABLE if self.has_ended else StepState.NOT_YET_AVAILABLE
        if not self.is_complete(self._index.global_steps(mode, following)[0]):
            return StepState.NOT_YET_AVAILABLE
        return StepState.AVAILABLE if following == step else StepState.UNAVAILABLE
