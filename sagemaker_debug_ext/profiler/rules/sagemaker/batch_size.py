"""`BatchSize`: GPUs are underused because batches are too small."""

from __future__ import annotations

from typing import Any

import numpy as np

from sagemaker_debug_ext.profiler.rules.base import PATIENCE_SECONDS, ProfilerRule, SecondsOrPoints
from sagemaker_debug_ext.profiler.rules.slices import CPU, GPU, GPU_MEMORY, GPU_MEMORY_USED, Sensor, Slice
from sagemaker_debug_ext.profiler.rules.statistics import PercentHistogram, Window


class BatchSize(ProfilerRule):
    """CPU, GPU and GPU memory are all little used in 95 % of the latest points.

    Memory is the used share if it was recorded, else NVML's memory activity, as in the original.
    """

    name = "BatchSize"
    order = ("cpu_threshold_p95", "gpu_threshold_p95", "gpu_memory_threshold_p95", "patience", "window")
    own_parameters = PATIENCE_SECONDS
    advice = "Enlarge the batch, or use a smaller instance."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._patience = SecondsOrPoints(self.parameters["patience"], self.parameters["patience_seconds"])
        self._windows: dict[tuple[str, str], Window] = {}
        self._boxes: dict[tuple[str, str], PercentHistogram] = {}
        self._last_us = 0
        self._first: dict[str, float] = {}
        self._has_gpu = False
        self._waiting = ""

    def observe(self, piece: Slice) -> None:
        self._last_us = self._last_us or piece.start_us
        for node in piece.nodes:
            gpus = piece.sensors(GPU, node)
            if gpus:
                self._has_gpu = True
                self._observe_node(piece, node, gpus)

    def _observe_node(self, piece: Slice, node: str, gpus: list[Sensor]) -> None:
        cores = [sensor for sensor in piece.sensors(CPU, node) if sensor.type == "cpu"]
        times, values = piece.mean_over(cores)
        cpu = self._add(node, "cpu", times, values)
        if times.size:
            self._first.setdefault(node, float(times[0]))
        self.datapoints += times.size
        for gpu in gpus:
            self._add(node, gpu.name, *piece.readings[gpu])
            memory = gpu._replace(dimension=GPU_MEMORY_USED)
            if memory not in piece.readings:
                memory = gpu._replace(dimension=GPU_MEMORY)
            if memory in piece.readings:
                self._add(node, f"{gpu.name}_memory", *piece.readings[memory])
        span = float(cpu.times[-1] - self._first[node]) if cpu.times.size else 0.0
        if not self._patience.is_over(cpu.count, span) or cpu.count <= self.parameters["window"]:
            self._waiting = self._patience.describe(cpu.count, span)
            return
        self._waiting = ""
        for gpu in gpus:
            self._evaluate(piece, node, gpu.name, cpu)

    def _add(self, node: str, name: str, times: Any, values: Any) -> Window:
        window = self._windows.setdefault((node, name), Window(self.parameters["window"]))
        window.add(times, values)
        self._boxes.setdefault((node, name), PercentHistogram()).add(values)
        return window

    def _evaluate(self, piece: Slice, node: str, gpu: str, cpu: Window) -> None:
        memory = self._windows.get((node, f"{gpu}_memory"))
        window = self._windows[node, gpu]
        if memory is None or min(window.count, memory.count) <= self.parameters["window"]:
            return
        used = {
            "cpu": float(np.percentile(cpu.values, 95)),
            "gpu": float(np.percentile(window.values, 95)),
            "gpu_memory": float(np.percentile(memory.values, 95)),
        }
        if all(value < self.parameters[f"{name}_threshold_p95"] for name, value in used.items()):
            self.triggered += 1
            self.violations += 1
            self._last_us = piece.start_us
            self._found(
                f"{gpu} of {node} was at most {used['gpu']:.0f} % busy and {used['gpu_memory']:.0f} % of its memory "
                f"used in 95 % of the last {window.seconds / 60:.1f} minutes, CPU {used['cpu']:.0f} %: a larger batch "
                f"or a smaller instance would do.",
                float(window.times[0]),
                float(window.times[-1]),
                node=node,
                device=gpu,
                numbers=used,
            )

    def not_evaluated(self) -> str | None:
        if not self._has_gpu:
            return "no GPU"
        return self._waiting or None

    def details(self) -> dict[str, Any]:
        if not self._boxes:
            return {}
        boxes: dict[str, Any] = {}
        for (node, name), histogram in self._boxes.items():
            boxes.setdefault(node, {})[name] = histogram.box()
        return {**boxes, "last_timestamp": self._last_us}
