"""How far the rules of a job are in its trial, and how old the state is that they have evaluated."""

from __future__ import annotations

from collections.abc import Callable

import attrs


@attrs.frozen(kw_only=True)
class Progress:
    """How far the rules of a job are in its trial.

    Args:
        last_step: Last complete global step that the watcher has seen; None while there is none.
        judged_step: Last global step that the rules evaluated or skipped; None while there is none.
        lag_seconds: All steps that were saved so many seconds ago have been evaluated. None before the first look at
            the trial, and after the evaluation. Until a watcher has evaluated all steps that it found at its start,
            this is the time since then.
    """

    last_step: int | None = None
    judged_step: int | None = None
    lag_seconds: float | None = None


class ProgressMeter:
    """Measures the lag of an evaluation on one clock, by the times at which it looks for new steps.

    Args:
        clock: Monotonic clock in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._progress = Progress()
        self._looked_at: float | None = None
        self._up_to_date_at: float | None = None

    def look(self, last_step: int, judged_step: int) -> None:
        """Note the state before the evaluation of a step, or before a wait for new steps.

        Args:
            last_step: Last complete step of the trial; -1 without one.
            judged_step: Last step that was evaluated or skipped; -1 without one.
        """
        now = self._clock()
        if judged_step >= last_step:
            self._up_to_date_at = self._looked_at = now
        elif self._looked_at is None or _or_none(last_step) != self._progress.last_step:
            # These steps may have been saved right after the look before, whose steps have all been judged.
            self._up_to_date_at = now if self._looked_at is None else self._looked_at
            self._looked_at = now
        self._progress = Progress(last_step=_or_none(last_step), judged_step=_or_none(judged_step))

    def end(self, last_step: int, judged_step: int) -> None:
        """Note the last state, after which nothing lags; see `look` for the arguments."""
        self.look(last_step, judged_step)
        self._up_to_date_at = None

    def read(self) -> Progress:
        """Return the progress now; callable from any thread."""
        progress, up_to_date_at = self._progress, self._up_to_date_at
        return progress if up_to_date_at is None else attrs.evolve(progress, lag_seconds=self._clock() - up_to_date_at)


def _or_none(step: int) -> int | None:
    return None if step < 0 else step
