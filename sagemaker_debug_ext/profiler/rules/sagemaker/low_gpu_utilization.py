"""`LowGPUUtilization`: a GPU is underused, or its use fluctuates."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagemaker_debug_ext.profiler.rules.gpu_windows import GPUWindowRule
from sagemaker_debug_ext.profiler.rules.slices import GPU, Sensor, Slice
from sagemaker_debug_ext.profiler.rules.statistics import Window


class LowGPUUtilization(GPUWindowRule):
    """The 95th percentile of the latest points is low, or it is high and the 5th is low."""

    name = "LowGPUUtilization"
    order = ("threshold_p95", "threshold_p5", "window", "patience")
    dimensions = (GPU,)
    advice = "Look for bottlenecks, use fewer blocking calls or larger batches, or change the distribution strategy."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._last_firing: dict[Sensor, tuple[float, float]] = {}

    def _observe_gpu(self, piece: Slice, gpu: Sensor) -> None:
        times, values = piece.readings[gpu]
        window = self._windows.setdefault(gpu, Window(self.parameters["window"]))
        window.add(times, values)
        if self._must_wait(window.count, float(times[-1]) - self._first[gpu]):
            return
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
