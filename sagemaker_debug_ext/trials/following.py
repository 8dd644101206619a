"""Follow a running job: the state of the job and its steps, new steps as they complete, and waiting for steps."""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterable, Iterator
from typing import Final

from sagemaker_debug_ext.errors import NoMoreData, StepNotYetAvailable, StepUnavailable
from sagemaker_debug_ext.trials.arguments import list_steps
from sagemaker_debug_ext.trials.index.completeness import StepState
from sagemaker_debug_ext.trials.index.reader import TrialReader
from sagemaker_debug_ext.trials.step_range import StepRange
from sagemaker_debug_ext.trials.waiting import DEFAULT_SILENCE_SECONDS, Polling
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

WRITTEN_HERE: Final = (
    "only the steps saved so far are read, without waiting for the end of training: the hook of this thread for %s is "
    "open; close the hook to end the trial, or read it from another thread or process while training goes on"
)
"""Logged when a thread would wait for steps that only it can write."""


class JobState(enum.Enum):
    """State of a job, inferred from its trial.

    `RUNNING`: the job has not marked its end and has saved tensors recently. `ENDED`: the job has marked its end.
    `SILENT`: the job has not marked its end and has saved nothing for a long time; it may have died.
    """

    RUNNING = "running"
    ENDED = "ended"
    SILENT = "silent"


class StepWaiter:
    """Knows the state of the job and of its steps, and waits for steps.

    Args:
        reader: The reader of the trial.
        polling: How to poll.
        step_range: The global steps that the trial is limited to.
        url: Where the trial lies, for messages.
    """

    def __init__(self, reader: TrialReader, polling: Polling, step_range: StepRange, url: str) -> None:
        self._reader = reader
        self._url = url
        self._polling = polling
        self._step_range = step_range

    def state(self, step: int, mode: ModeKeys) -> StepState:
        """Return the state of a step as of the last refresh."""
        if mode is ModeKeys.GLOBAL and step not in self._step_range:
            return StepState.UNAVAILABLE
        with self._reader.lock:
            return self._reader.completeness.state(step, mode)

    def job_state(self, silence_seconds: float) -> JobState:
        """Return the state of the job as of the last refresh."""
        if self._reader.completeness.has_ended:
            return JobState.ENDED
        return JobState.SILENT if self._reader.silent_seconds() > silence_seconds else JobState.RUNNING

    def follow(self, mode: ModeKeys, begin: int, silence_seconds: float) -> Iterator[int]:
        """Yield the steps of a mode as they become complete; see `Trial.follow`."""
        reader, polling = self._reader, self._polling
        seen: set[int] = set()
        seen_news = -1
        while True:
            looking_since = polling.clock()
            is_written_here = reader.is_written_here()
            reader.follow()
            state = self.job_state(silence_seconds)
            num_news = reader.num_news
            steps = reader.steps(mode, show_incomplete_steps=False) if num_news != seen_news else []
            seen_news = num_news
            looked_seconds = polling.clock() - looking_since
            news = [step for step in steps if step not in seen]
            for step in news:
                seen.add(step)
                if step >= begin:
                    yield step
            if is_written_here:
                LOG.warning(WRITTEN_HERE, self._url)
            if is_written_here or state is not JobState.RUNNING:
                return
            if not news:
                polling.sleep(polling.pause_seconds(looked_seconds))

    def wait(self, required_steps: Iterable[int], mode: ModeKeys, timeout_seconds: float | None) -> None:
        """Wait until all required steps are available; see `Trial.wait_for_steps`."""
        steps = list_steps(required_steps, "required_steps")
        missing = [step for step in steps if self.state(step, mode) is not StepState.AVAILABLE]

        def look() -> bool:
            is_written_here = self._reader.is_written_here()
            self._reader.follow()
            missing[:] = [step for step in missing if not self._is_available(step, mode)]
            is_silent = timeout_seconds is None and self._reader.silent_seconds() > DEFAULT_SILENCE_SECONDS
            return not missing or is_silent or is_written_here

        if missing:
            self._polling.wait_until(look, timeout_seconds)
        if missing:
            raise StepNotYetAvailable(missing[0], mode, self._reader.steps_near(missing[0], mode))

    def _is_available(self, step: int, mode: ModeKeys) -> bool:
        """Return whether a step is available.

        Raises:
            StepUnavailable: The step will never be available.
            NoMoreData: No later step will be available either.
        """
        state = self.state(step, mode)
        if state is StepState.UNAVAILABLE:
            with self._reader.lock:
                last_step = self._reader.index.last_step(mode)
            if self._reader.completeness.has_ended and (last_step is None or step > last_step):
                raise NoMoreData(step, mode, last_step)
            raise StepUnavailable(step, mode, self._reader.steps_near(step, mode))
        return state is StepState.AVAILABLE
