"""`LowGPUUtilization`: a GPU is underused, or its use fluctuates."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagemaker_debug_ext.profiler.rules.base import PATIENCE_SECONDS, ProfilerRule, SecondsOrPoints
from sagemaker_debug_ext.profiler.rules.slices import GPU, Sensor, Slice
from sagemaker_debug_ext.profiler.rules.statistics import PercentHistogram, Window


class LowGPUUtilization(ProfilerRule):
    """The 95th percentile of the latest points is low, or it is high and the 5th is low."""

    name = "LowGPUUtilization"
    order = ("threshold_p95", "threshold_p5", "window", "patience")
    own_parameters = PATIENCE_SECONDS
    advice = "Look for bottlenecks, use fewer blocking calls or larger batches, or change the distribution strategy."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._patience = SecondsOrPoints(self.parameters["patience"], self.parameters["patience_seconds"])
        self._windows: dict[Sensor, Window] = {}
        self._boxes: dict[Sensor, PercentHistogram] = {}
        self._last_firing: dict[Sensor, tuple[float, float]] = {}
        self._first: dict[Sensor, float] = {}
        self._last_us = 0
        self._waiting = ""

    def observe(self, piece: Slice) -> None:
        self._last_us = self._last_us or piece.start_us
        for node in piece.nodes:
            gpus = piece.sensors(GPU, node)
            self.datapoints += max((piece.readings[gpu].times.size for gpu in gpus), default=0)
            for gpu in gpus:
                self._observe_gpu(piece, gpu)

    def _observe_gpu(self, piece: Slice, gpu: Sensor) -> None:
        times, values = piece.readings[gpu]
        window = self._windows.setdefault(gpu, Window(self.parameters["window"]))
        window.add(times, values)
        self._boxes.setdefault(gpu, PercentHistogram()).add(values)
        span = float(times[-1]) - self._first.setdefault(gpu, float(times[0]))
        if not self._patience.is_over(window.count, span):
            self._waiting = self._patience.describe(window.count, span)
            return
        self._waiting = ""
        low, high = (float(value) for value in np.percentile(window.values, (5, 95)))
        is_underused = high < self.parameters["threshold_p95"]
        if not is_underused and not (high > self.parameters["threshold_p95"] and low < self.parameters["threshold_p5"]):
            return
        self.triggered += 1
        self.violations += 1
        self._last_us = piece.start_us
        self._last_firing[gpu] = (high, low)
        self._found(
            f"{gpu.name} of {gpu.node} {'is underused' if is_underused else 'fluctuates'}: 95th percentile {high:.0f} "
            f"%, 5th {low:.0f} % over {window.seconds / 60:.1f} minutes.",
            float(window.times[0]),
            float(window.times[-1]),
            node=gpu.node,
            device=gpu.name,
            numbers={"p95": high, "p5": low},
        )

    def not_evaluated(self) -> str | None:
        return "no GPU" if not self._windows else self._waiting or None

    def details(self) -> dict[str, Any]:
        if not self._boxes:
            return {}
        found: dict[str, Any] = {}
        for gpu, histogram in self._boxes.items():
            low, high, largest = histogram.percentiles(5, 95, 100)
            high, low = self._last_firing.get(gpu, (high, low))
            numbers = {"gpu_max": largest, "gpu_95": high, "gpu_5": low, **histogram.box()}
            found.setdefault(gpu.node, {})[gpu.name] = numbers
        return {**found, "last_timestamp": self._last_us}
