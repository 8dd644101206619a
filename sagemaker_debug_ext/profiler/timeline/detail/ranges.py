"""Which steps are profiled in detail (profiler format, section 1.5)."""

from __future__ import annotations

import math

import attrs


@attrs.frozen(kw_only=True)
class ProfileRange:
    """A range of steps or of time.

    Args:
        start_step: First step; None for the first that is asked for.
        num_steps: Number of steps; None for one.
        start_time: Seconds since 1970; None for the first time that is asked for.
        duration: Seconds; None for a single step.
    """

    start_step: int | None = None
    num_steps: int | None = None
    start_time: float | None = None
    duration: float | None = None

    @property
    def is_of_time(self) -> bool:
        """Whether the range is one of time."""
        return self.start_time is not None or self.duration is not None


class RangeProgress:
    """Tells of one step after the other whether a range includes it, and remembers what the range leaves open.

    Attributes:
        is_over: Whether no later step is included.
    """

    def __init__(self, limits: ProfileRange) -> None:
        self._limits = limits
        self._start_step = limits.start_step
        self._start_time = limits.start_time
        self.is_over = False

    def includes(self, step: int, now: float) -> bool:
        """Return whether the range includes a step that begins now, in seconds since 1970."""
        return self._includes_time(step, now) if self._limits.is_of_time else self._includes_step(step)

    def _includes_step(self, step: int) -> bool:
        if self._start_step is None:
            self._start_step = step
        end = self._start_step + (1 if self._limits.num_steps is None else self._limits.num_steps)
        self.is_over = step >= end
        return self._start_step <= step < end

    def _includes_time(self, step: int, now: float) -> bool:
        if self._start_time is None:
            self._start_time = now
        if self._limits.duration is None:
            if now < self._start_time:
                return False
            if self._start_step is None:
                self._start_step = step
            self.is_over = step > self._start_step
            return step == self._start_step
        end = self._start_time + (self._limits.duration if math.isfinite(self._limits.duration) else math.inf)
        self.is_over = now >= end
        return self._start_time <= now < end
