"""`iter_steps`: the steps of a trial in order, of a running job and of one that has ended."""

from __future__ import annotations

import bisect
import logging
import time
from collections.abc import Callable, Container, Iterator
from typing import TYPE_CHECKING, Final

from sagemaker_debug_ext.trials.arguments import check_step
from sagemaker_debug_ext.trials.following import WRITTEN_HERE

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

LOG = logging.getLogger(__name__)

POLL_SECONDS: Final = 0.1
"""Time between two looks for new steps."""

_PATIENCE_SECONDS: Final = 30.0
"""A warning is logged after waiting this long without a new step."""


def _never() -> bool:
    return False


def iter_steps(
    trial: Trial,
    start_step: int = 0,
    end_step: int | None = None,
    *,
    only_steps: Container[int] | None = None,
    follow: bool = True,
    should_stop: Callable[[], bool] = _never,
    poll_seconds: float = POLL_SECONDS,
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[int | None]:
    """Return the global steps of a trial in ascending order, each once, until the job has ended.

    Only complete steps are visited. A step that becomes visible after a later one was visited is skipped, because
    stateful rules rely on the order.

    Args:
        trial: The trial.
        start_step: First step, inclusive.
        end_step: Last step, exclusive; None for no bound.
        only_steps: Steps to visit, if they are saved; None visits all.
        follow: Wait for more steps while the job runs. A trial whose refreshing is switched off is never followed, and
            neither is one whose hook is open on the calling thread, which would wait for itself.
        should_stop: Called before each step and each wait; true ends the iteration.
        poll_seconds: Time to wait between two looks for new steps, so that a job that saves often is not looked at for
            each step.
        sleep: Waits that long.

    Returns:
        The steps; None after each wait that followed a look without a new step, and once after the last step of a job
        that was followed until it ended.

    Raises:
        SMDebugTypeError: A bound is no number.
    """
    check_step(start_step, "start_step")
    if end_step is not None:
        check_step(end_step, "end_step")
    return _follow(trial, start_step, end_step, only_steps, follow, should_stop, poll_seconds, sleep)


def _is_over(trial: Trial, end_step: int | None) -> bool:
    """Return whether no more steps are to come: the job has ended, or the last of the steps asked for is complete."""
    return trial.loaded_all_steps or (end_step is not None and trial.last_complete_step >= end_step - 1)


def _follow(
    trial: Trial,
    start_step: int,
    end_step: int | None,
    only_steps: Container[int] | None,
    follow: bool,
    should_stop: Callable[[], bool],
    poll_seconds: float,
    sleep: Callable[[float], object],
) -> Iterator[int | None]:
    last = start_step - 1
    waited = 0.0
    was_running = False
    follow = follow and trial.dynamic_refresh
    while True:
        follow = follow and not _is_written_here(trial)
        ended = _is_over(trial, end_step)  # read before the steps, because a list made afterwards misses none
        steps = trial.steps()
        new = steps[bisect.bisect_right(steps, last) :]
        for step in new:
            if (end_step is not None and step >= end_step) or should_stop():
                return
            if only_steps is None or step in only_steps:
                yield step
            last = step
        if ended or not follow:
            if was_running:
                yield None
            return
        was_running = True
        if _is_over(trial, end_step):
            continue
        if should_stop():
            return
        sleep(poll_seconds)
        if not new:
            _warn_once(trial, waited, poll_seconds)
            waited += poll_seconds
            yield None


def _warn_once(trial: Trial, waited: float, poll_seconds: float) -> None:
    """Explain a long wait, given the seconds that were waited before the last wait and its own."""
    if waited < _PATIENCE_SECONDS <= waited + poll_seconds:
        LOG.warning("waiting for steps of trial %r: its job has not ended, or its hook is open", trial.name)


def _is_written_here(trial: Trial) -> bool:
    """Return whether the calling thread would wait for itself; its complete steps are visible then."""
    is_written_here = trial.index_reader.is_written_here()
    if is_written_here:
        LOG.warning(WRITTEN_HERE, trial.path)
    return is_written_here
