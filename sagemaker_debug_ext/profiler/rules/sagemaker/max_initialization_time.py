"""`MaxInitializationTime`: the first step comes late."""

from __future__ import annotations

from typing import Any

from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import Slice


class MaxInitializationTime(ProfilerRule):
    """No step for some minutes after the first sample. A job that records no framework events is not evaluated."""

    name = "MaxInitializationTime"
    order = ("threshold",)
    advice = "Stream the data set (Pipe or FastFile mode) instead of downloading it first."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._start: float | None = None
        self._end = 0.0
        self._steps: tuple[float, float] | None = None
        self._has_events = False
        self._pending = 0

    def observe(self, piece: Slice) -> None:
        starts = [float(readings.times[0]) for readings in piece.readings.values() if readings.times.size]
        ends = [float(readings.times[-1]) for readings in piece.readings.values() if readings.times.size]
        if starts:
            self._start = min(starts) if self._start is None else self._start
            self._end = max(self._end, *ends)
        self._has_events = self._has_events or bool(piece.events)
        steps = [event for event in piece.events if event.event_phase.startswith("Step:ModeKeys")]
        self.datapoints += len(steps)
        if steps:
            first, last = min(step.start_time for step in steps), max(step.end_time for step in steps)
            self._steps = (first, last) if self._steps is None else (self._steps[0], max(self._steps[1], last))
        self._evaluate(piece)

    def _evaluate(self, piece: Slice) -> None:
        if self._start is None:
            return
        limit = 60.0 * self.parameters["threshold"]
        begin = self._start
        until = piece.start_us / 1e6 if self._steps is None else min(self._steps[0], piece.start_us) / 1e6
        if until - begin > limit and (self._steps is None or self._pending):
            if self._steps is None:
                self._pending += 1
            if self._has_events and self._pending:
                self.triggered += self._pending
                self.violations = self.triggered
                self._pending = 0
                self._found(
                    f"No step after {(until - begin) / 60:.0f} minutes (limit {self.parameters['threshold']}).",
                    begin,
                    until,
                    numbers={"minutes": (until - begin) / 60},
                )

    def not_evaluated(self) -> str | None:
        return None if self._has_events else "the job records no steps"

    def details(self) -> dict[str, Any]:
        if self._start is None:
            return {}
        steps = {} if self._steps is None else {"first": int(self._steps[0]), "last": int(self._steps[1])}
        return {"step_num": steps, "job_start": self._start, "job_end": self._end}
