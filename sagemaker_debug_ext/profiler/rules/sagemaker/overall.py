"""`OverallSystemUsage` and `OverallFrameworkMetrics`: statistics that the report shows; they never fire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.breakdown import FrameworkBreakdown
from sagemaker_debug_ext.profiler.rules.slices import CPU, GPU, GPU_MEMORY, IO_WAIT, Readings, Sensor, Slice
from sagemaker_debug_ext.profiler.rules.statistics import PercentHistogram, PositiveHistogram

_KINDS: Final = ("Network", "GPU", "CPU", "CPU memory", "GPU memory", "I/O")


class OverallSystemUsage(ProfilerRule):
    """Maximum, percentiles and minimum of each kind of resource, per machine."""

    name = "OverallSystemUsage"
    order = ()

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._usage: dict[tuple[str, str], PercentHistogram | PositiveHistogram] = {}

    def observe(self, piece: Slice) -> None:
        for node in piece.nodes:
            cores = [sensor for sensor in piece.sensors(CPU, node) if sensor.type == "cpu"]
            cpu = piece.mean_over(cores)
            self.datapoints += cpu.times.size
            self._add("CPU", node, cpu)
            self._add("I/O", node, piece.mean_over(piece.sensors(IO_WAIT, node)))
            self._add("GPU", node, piece.mean_over(piece.sensors(GPU, node)))
            self._add("GPU memory", node, piece.mean_over(piece.sensors(GPU_MEMORY, node)))
            memory = [sensor for sensor in piece.sensors("", node) if sensor.type == "memory"]
            self._add("CPU memory", node, piece.mean_over(memory))
            self._add("Network", node, _sum_over(piece, piece.sensors("Algorithm", node)))

    def _add(self, kind: str, node: str, readings: Readings) -> None:
        if readings.values.size:
            make = PositiveHistogram if kind == "Network" else PercentHistogram
            self._usage.setdefault((kind, node), make()).add(readings.values)

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for kind in _KINDS:
            for (of_kind, node), histogram in self._usage.items():
                if of_kind == kind:
                    values = histogram.percentiles(100, 99, 95, 50, 0)
                    numbers = dict(zip(("max", "p99", "p95", "p50", "min"), values, strict=True))
                    rounded = {name: round(value, 2) or 0 for name, value in numbers.items()}
                    found.setdefault(kind, {})[node] = rounded
        return found


def _sum_over(piece: Slice, sensors: Sequence[Sensor]) -> Readings:
    if not sensors:
        return Readings(np.empty(0), np.empty(0))
    times = np.concatenate([piece.readings[sensor].times for sensor in sensors])
    values = np.concatenate([piece.readings[sensor].values for sensor in sensors])
    distinct, places = np.unique(times, return_inverse=True)
    return Readings(distinct, np.bincount(places, weights=values).astype(np.float64))


class OverallFrameworkMetrics(ProfilerRule):
    """Shares of time by phase and operator; operators count without those that they call."""

    name = "OverallFrameworkMetrics"
    order = ()

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._breakdown = FrameworkBreakdown()

    def observe(self, piece: Slice) -> None:
        self._breakdown.add(piece.events)

    def details(self) -> dict[str, Any]:
        return self._breakdown.to_json_dict()
