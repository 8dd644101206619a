"""`LoadBalancing`: GPUs have unequal work."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.profiler.rules.base import PATIENCE_SECONDS, ProfilerRule, SecondsOrPoints
from sagemaker_debug_ext.profiler.rules.slices import GPU, Sensor, Slice
from sagemaker_debug_ext.profiler.rules.statistics import PercentHistogram

_WIDTH: Final = 2.0


def histogram_distance(one: list[int], other: list[int]) -> float:
    """Return the root of the Jensen-Shannon divergence of two histograms, with natural logarithms: 0 to 0.833."""
    p, q = (np.asarray(counts, dtype=np.float64) / max(sum(counts), 1) for counts in (one, other))
    middle = (p + q) / 2
    total = 0.0
    for part in (p, q):
        is_filled = part > 0
        total += float(np.sum(part[is_filled] * np.log(part[is_filled] / middle[is_filled]))) / 2
    return math.sqrt(max(total, 0.0))


class LoadBalancing(ProfilerRule):
    """The distributions of utilization of two GPUs differ, on one machine or on two.

    Points before the first step are left out if the job records steps.
    """

    name = "LoadBalancing"
    order = ("threshold", "patience")
    own_parameters = PATIENCE_SECONDS
    advice = "Use another distribution strategy, and share the data evenly."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._patience = SecondsOrPoints(self.parameters["patience"], self.parameters["patience_seconds"])
        self._histograms: dict[Sensor, PercentHistogram] = {}
        self._distances: dict[tuple[Sensor, Sensor], float] = {}
        self._has_steps = False
        self._first: float | None = None
        self._last = 0.0

    def observe(self, piece: Slice) -> None:
        starts = [event.start_time for event in piece.events if event.event_phase.startswith("Step:")]
        if starts and not self._has_steps:
            self._has_steps = True
            self._histograms.clear()
            self._add(piece, min(starts) / 1e6)
        else:
            self._add(piece, -math.inf)
        self._evaluate()

    def _add(self, piece: Slice, since: float) -> None:
        for node in piece.nodes:
            gpus = piece.sensors(GPU, node)
            self.datapoints += max((piece.readings[gpu].times.size for gpu in gpus), default=0)
            for gpu in gpus:
                times, values = piece.readings[gpu]
                self._first = float(times[0]) if self._first is None else self._first
                self._last = max(self._last, float(times[-1]))
                self._histograms.setdefault(gpu, PercentHistogram()).add(values[times >= since])

    def _evaluate(self) -> None:
        if self.not_evaluated():
            return
        counts = {gpu: histogram.counts(_WIDTH) for gpu, histogram in self._histograms.items()}
        self._distances = {
            (one, other): histogram_distance(counts[one], counts[other])
            for one, other in itertools.combinations(counts, 2)
        }
        unequal = {pair: value for pair, value in self._distances.items() if value > self.parameters["threshold"]}
        if not unequal:
            return
        self.triggered += 1
        self.violations += len(unequal)
        (one, other), distance = max(unequal.items(), key=lambda item: item[1])
        where = f"of {one.node}" if one.node == other.node else f"of {one.node} and {other.node}"
        self._found(
            f"{one.name} and {other.name} {where} work unequally (distance {distance:.2f}, limit "
            f"{self.parameters['threshold']:g}); {len(unequal)} pairs are above the limit.",
            self._first or 0.0,
            self._last,
            node=one.node,
            device=one.name,
            numbers={"distance": distance, "limit": float(self.parameters["threshold"]), "pairs": float(len(unequal))},
        )

    def not_evaluated(self) -> str | None:
        if not self._histograms:
            return "no GPU"
        span = self._last - (self._first or self._last)
        return None if self._patience.is_over(self.datapoints, span) else self._patience.describe(self.datapoints, span)

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for gpu, histogram in self._histograms.items():
            found.setdefault(gpu.node, {"workloads": {}})["workloads"][gpu.name] = histogram.counts(_WIDTH)
        for (one, other), distance in self._distances.items():
            if distance > self.parameters["threshold"]:
                name = other.name if other.node == one.node else f"{other.node}/{other.name}"
                found[one.node].setdefault("distances", {}).setdefault(one.name, {})[name] = distance
        return found
