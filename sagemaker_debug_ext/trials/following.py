"""Follow a job while it trains: each step as soon as it is complete, until the job ends or shows no sign of life."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from sagemaker_debug_ext.trials.index.reader import TrialReader
from sagemaker_debug_ext.trials.waiting import Polling
from sagemaker_debug_ext.vocabulary import ModeKeys


class JobState(enum.Enum):
    """What a trial tells of its job.

    `RUNNING`: it has not marked its end, and has saved something lately. `ENDED`: it has marked its end. `SILENT`: it
    has not marked its end, and has saved nothing for long; it may have died.
    """

    RUNNING = "running"
    ENDED = "ended"
    SILENT = "silent"


def job_state(reader: TrialReader, silence_seconds: float) -> JobState:
    """Return what is known of the job by what was last read."""
    if reader.completeness.has_ended:
        return JobState.ENDED
    return JobState.SILENT if reader.silent_seconds() > silence_seconds else JobState.RUNNING


def follow_steps(
    reader: TrialReader, polling: Polling, mode: ModeKeys, begin: int, silence_seconds: float
) -> Iterator[int]:
    """Yield the steps of a mode as they become complete; see `Trial.follow`."""
    seen: set[int] = set()
    seen_news = -1
    while True:
        looking_since = polling.clock()
        reader.follow()
        state = job_state(reader, silence_seconds)
        num_news = reader.num_news
        steps = reader.steps(mode, show_incomplete_steps=False) if num_news != seen_news else []
        seen_news = num_news
        looked_seconds = polling.clock() - looking_since
        news = [step for step in steps if step not in seen]
        for step in news:
            seen.add(step)
            if step >= begin:
                yield step
        if state is not JobState.RUNNING:
            return
        if not news:
            polling.sleep(polling.pause_seconds(looked_seconds))
