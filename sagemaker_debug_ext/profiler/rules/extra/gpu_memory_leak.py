"""`GPUMemoryLeak`: memory that PyTorch has allocated on a GPU rises with the steps until it is full."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs
import numpy as np

from sagemaker_debug_ext.profiler.profiler_constants import ALLOCATED_BYTES, DEVICE, DEVICE_BYTES
from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import Slice
from sagemaker_debug_ext.profiler.rules.trend import find_trend

_STEP: Final = "Step:ModeKeys.TRAIN"
_MIN_STEPS: Final = 200
_MIN_POINTS: Final = 20
_MAX_POINTS: Final = 300
_STEADY: Final = 0.9
_MIN_RISE: Final = 0.005


@attrs.define
class _Memory:
    """Memory at the ends of the latest steps of a worker on a device."""

    total: float
    points: deque[tuple[int, float, float]] = attrs.field(factory=lambda: deque(maxlen=_MAX_POINTS))


class GPUMemoryLeak(ProfilerRule):
    """Allocated memory at the ends of steps rises steadily over at least 200 steps, and would fill the GPU in a day.

    The rise is a median slope, and 90 % of all pairs of points have to rise, so that a cache that fills once does not
    count.
    """

    name = "GPUMemoryLeak"
    order = ("hours",)
    in_catalog = False
    own_parameters: ClassVar[Mapping[str, float]] = {"hours": 24.0}
    advice = (
        "Keep no tensors with gradients between steps: add up loss.item() instead of loss, and detach what is kept."
    )

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._memories: dict[tuple[str, str], _Memory] = {}
        self._details: dict[str, dict[str, Any]] = {}

    def observe(self, piece: Slice) -> None:
        for event in sorted(piece.events, key=lambda event: event.end_time):
            facts = event.event_args or {}
            if event.event_phase == _STEP and ALLOCATED_BYTES in facts and DEVICE_BYTES in facts:
                self.datapoints += 1
                key = (event.node_id, f"gpu{facts.get(DEVICE, 0)}")
                memory = self._memories.setdefault(key, _Memory(float(facts[DEVICE_BYTES])))
                memory.points.append((event.step, event.end_time / 1e6, float(facts[ALLOCATED_BYTES])))
        for (node, device), memory in self._memories.items():
            if len(memory.points) >= _MIN_POINTS and memory.points[-1][0] - memory.points[0][0] >= _MIN_STEPS:
                self._evaluate(node, device, memory, piece)

    def _evaluate(self, node: str, device: str, memory: _Memory, piece: Slice) -> None:
        steps, times, values = (np.asarray(column, dtype=np.float64) for column in zip(*memory.points, strict=True))
        trend = find_trend(steps, values)
        if trend is None:
            return
        rise = trend.slope * (steps[-1] - steps[0])
        self._details.setdefault(node, {})[device] = {
            "bytes_per_step": trend.slope,
            "allocated_bytes": values[-1],
            "device_bytes": memory.total,
        }
        # A training that keeps its memory moves by less, in both directions.
        if trend.slope <= 0 or trend.rising < _STEADY or rise < _MIN_RISE * max(memory.total, values[0]):
            return
        seconds_per_step = (times[-1] - times[0]) / (steps[-1] - steps[0])
        steps_left = max(memory.total - values[-1], 0.0) / trend.slope
        if steps_left * seconds_per_step > self.parameters["hours"] * 3600:
            return
        full_at = int(steps[-1] + steps_left)
        self.triggered += 1
        self.violations += 1
        self._found(
            f"Memory of {device} of {node} rises by {trend.slope / 1e6:.2g} MB a step ({values[0] / 1e9:.1f} to "
            f"{values[-1] / 1e9:.1f} GB since step {steps[0]:.0f}): full at about step {full_at}, in "
            f"{steps_left * seconds_per_step / 60:.0f} minutes.",
            piece.start_us / 1e6,
            piece.end_us / 1e6,
            node=node,
            device=device,
            numbers={"bytes_per_step": trend.slope, "full_at_step": float(full_at)},
        )

    def not_evaluated(self) -> str | None:
        if not self._memories:
            return "no step records the memory of a GPU"
        most = max(memory.points[-1][0] - memory.points[0][0] for memory in self._memories.values())
        return None if most >= _MIN_STEPS else f"{most} of {_MIN_STEPS} steps"

    def details(self) -> dict[str, Any]:
        return {node: dict(devices) for node, devices in self._details.items()}
