"""`GPUMemoryIncrease`: memory of a GPU rises suddenly."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagemaker_debug_ext.profiler.rules.gpu_windows import GPUWindowRule
from sagemaker_debug_ext.profiler.rules.slices import GPU_MEMORY, GPU_MEMORY_USED, Sensor, Slice
from sagemaker_debug_ext.profiler.rules.statistics import Window


class GPUMemoryIncrease(GPUWindowRule):
    """The mean of the latest points is well above that of as many points before them.

    Memory is the used share if it was recorded, else NVML's memory activity, as in the original. Points of one rise
    are one finding.
    """

    name = "GPUMemoryIncrease"
    order = ("increase", "patience", "window")
    dimensions = (GPU_MEMORY_USED, GPU_MEMORY)
    advice = "Use a larger instance if memory comes near its limit, and look for tensors that are kept."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._increases: dict[Sensor, float] = {}

    def _observe_gpu(self, piece: Slice, gpu: Sensor) -> None:
        size = self.parameters["window"]
        times, values = piece.readings[gpu]
        before = self._windows.setdefault(gpu, Window(2 * size - 1))
        num_before = before.count
        known_times, known = before.times, before.values
        before.add(times, values)
        first = self._first[gpu]
        self._must_wait(before.count, float(times[-1]) - first)
        together, at = np.concatenate([known, values]), np.concatenate([known_times, times])
        if together.size < 2 * size:
            return
        sums = np.concatenate([[0.0], np.cumsum(together)])
        means = (sums[size:] - sums[:-size]) / size
        rises = means[size:] - means[:-size]  # at the points from 2 * size - 1 on
        offset = num_before - known.size
        for place in np.flatnonzero(rises > self.parameters["increase"]):
            position = int(place) + 2 * size - 1
            time = float(at[position])
            if self._patience.is_over(offset + position + 1, time - first):
                begin = float(at[position - 2 * size + 1])
                self._fire(piece, gpu, float(rises[place]), begin, time)

    def _fire(self, piece: Slice, gpu: Sensor, rise: float, begin: float, time: float) -> None:
        self.triggered += 1
        self.violations += 1
        self._last_us = piece.start_us
        self._increases[gpu] = max(rise, self._increases.get(gpu, 0.0))
        self._found(
            f"Memory of {gpu.name} of {gpu.node} rose by {rise:.1f} points within {time - begin:.0f} s.",
            begin,
            time,
            node=gpu.node,
            device=gpu.name,
            numbers={"increase": rise, "limit": float(self.parameters["increase"])},
        )

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for gpu, rise in self._increases.items():
            histogram = self._boxes[gpu]
            low, largest = histogram.percentiles(5, 100)
            numbers = {"increase": rise, "gpu_max": largest, "p05": low, **histogram.box()}
            found.setdefault(gpu.node, {})[gpu.name] = numbers
        return {**found, "last_timestamp": self._last_us} if found else {}
