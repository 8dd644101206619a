"""`StepOutlier`: some steps take much longer than the others."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.breakdown import FrameworkBreakdown
from sagemaker_debug_ext.profiler.rules.slices import Slice
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

_MIN_STEPS: Final = 100
_MAX_STEPS: Final = 1_000_000
_NUM_BINS: Final = 100
_ROBUST_FACTOR: Final = 5 * 1.4826


class _Steps(NamedTuple):
    """Steps of one worker and mode: lengths in seconds, numbers, and ends in microseconds."""

    lengths: list[float]
    numbers: list[int]
    ends: list[float]


class StepOutlier(ProfilerRule):
    """More than some steps are longer than the mean and a multiple of the standard deviation, per worker and mode.

    A robust count, by the median and its absolute deviation without the first step, is reported beside it.
    """

    name = "StepOutlier"
    order = ("threshold", "mode", "n_outliers", "stddev")
    advice = "Look for CPU and I/O bottlenecks at the times of these steps."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._steps: dict[tuple[str, str], _Steps] = {}
        self._breakdown = FrameworkBreakdown()

    def _shown(self, name: str) -> object:
        return self.parameters["stddev" if name == "threshold" else name]

    def _is_step(self, event: TraceEvent) -> bool:
        mode = self.parameters["mode"]
        return event.event_phase.startswith("Step:ModeKeys") or (bool(mode) and event.event_name == mode)

    def observe(self, piece: Slice) -> None:
        touched = set()
        for event in piece.events:
            if self._is_step(event):
                key = (event.node_id, event.event_phase.rpartition(".")[2])
                steps = self._steps.setdefault(key, _Steps([], [], []))
                if len(steps.lengths) < _MAX_STEPS:
                    steps.lengths.append(event.duration / 1e6)
                    steps.numbers.append(event.step)
                    steps.ends.append(event.end_time)
                self.datapoints += 1
                touched.add(key)
        for key in sorted(touched):
            self._evaluate(key, piece)

    def _evaluate(self, key: tuple[str, str], piece: Slice) -> None:
        steps = self._steps[key]
        if len(steps.lengths) <= _MIN_STEPS:
            return
        lengths = np.asarray(steps.lengths)
        limit = float(lengths.mean() + self.parameters["stddev"] * lengths.std())
        outliers = np.flatnonzero(lengths > limit)
        if outliers.size <= self.parameters["n_outliers"]:
            return
        self.triggered += 1
        self.violations += outliers.size
        worker, mode = key
        ends = [steps.ends[place] for place in outliers]
        spans = [(steps.ends[place] - lengths[place] * 1e6, steps.ends[place]) for place in outliers]
        slow = [
            event
            for event in piece.events
            if any(event.end_time > start and event.start_time < end for start, end in spans)
        ]
        self._breakdown.add(slow)
        rest = lengths[1:]
        middle = float(np.median(rest))
        robust_limit = middle + _ROBUST_FACTOR * float(np.median(np.abs(rest - middle)))
        self._found(
            f"{outliers.size} of {lengths.size} {mode} steps of {worker} took longer than {limit:.3g} s (mean "
            f"{lengths.mean():.3g} s).",
            min(ends) / 1e6,
            max(ends) / 1e6,
            node=worker,
            device=mode,
            numbers={
                "outliers": float(outliers.size),
                "limit": limit,
                "robust_outliers": float(np.count_nonzero(rest > robust_limit)),
                "robust_limit": robust_limit,
            },
        )

    def not_evaluated(self) -> str | None:
        if not self._steps:
            return "the job records no steps"
        longest = max(len(steps.lengths) for steps in self._steps.values())
        return None if longest > _MIN_STEPS else f"{longest} of {_MIN_STEPS} steps"

    def details(self) -> dict[str, Any]:
        if not self._steps:
            return {}
        found = {f"{worker}/{mode}": self._describe(mode, steps) for (worker, mode), steps in self._steps.items()}
        return {"step_details": found, **(self._breakdown.to_json_dict() if self.triggered else {})}

    def _describe(self, mode: str, steps: _Steps) -> dict[str, Any]:
        lengths = np.asarray(steps.lengths)
        limit = lengths.mean() + self.parameters["stddev"] * lengths.std()
        is_outlier = lengths > limit
        counts, edges = np.histogram(lengths[~is_outlier], _NUM_BINS)
        high, nearly, middle = np.percentile(lengths, (99, 95, 50)).tolist()
        return {
            "step_stats": {
                "mean": float(lengths.mean()),
                "max": float(lengths.max()),
                "p99": high,
                "p95": nearly,
                "p50": middle,
                "min": float(lengths.min()),
            },
            "number_of_outliers": int(is_outlier.sum()),
            "phase": f"Step:ModeKeys.{mode}",
            "stddev": float(lengths.std()),
            "probs": counts.tolist(),
            "binedges": edges.tolist(),
            "step_numbers": [str(number) for number, slow in zip(steps.numbers, is_outlier, strict=True) if slow],
        }
