"""`GPUThrottled`: a GPU lowers its clock because it is too hot or short of power."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import Sensor, Slice

_REASONS: Final = {"heat": 0x20 | 0x40, "power": 0x04 | 0x80, "a hardware fault, heat or power": 0x08}
"""Cause → bits of NVML's clock throttle reasons."""

_MIN_POINTS: Final = 60
_MIN_POINTS_LIVE: Final = 600
"""A share is evaluated while the job runs only after some minutes, since it may be large at the start by chance."""


class GPUThrottled(ProfilerRule):
    """A GPU is throttled by heat or power in more than 5 % of the samples.

    GPUs that compute at their power limit all the time are throttled by power as they are meant to.
    """

    name = "GPUThrottled"
    order = ("threshold",)
    in_catalog = False
    own_parameters: ClassVar[Mapping[str, float]] = {"threshold": 5.0}
    advice = "Have the machine replaced if it is the only one; otherwise look at its cooling and power limit."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._counts: dict[Sensor, dict[str, int]] = {}
        self._first: dict[Sensor, float] = {}

    def observe(self, piece: Slice) -> None:
        for sensor in piece.sensors("GPUThrottleReasons"):
            times, values = piece.readings[sensor]
            bits = values.astype(np.int64)
            counts = self._counts.setdefault(sensor, {"points": 0, **dict.fromkeys(_REASONS, 0)})
            counts["points"] += bits.size
            self.datapoints += bits.size
            for reason, mask in _REASONS.items():
                counts[reason] += int(np.count_nonzero(bits & mask))
            least = _MIN_POINTS if piece.is_last else _MIN_POINTS_LIVE
            first = self._first.setdefault(sensor, float(times[0]))
            if counts["points"] >= least:
                self._evaluate(sensor, counts, first, float(times[-1]))

    def _evaluate(self, sensor: Sensor, counts: dict[str, int], start: float, end: float) -> None:
        reason = max(_REASONS, key=lambda name: counts[name])
        share = 100 * counts[reason] / counts["points"]
        if share > self.parameters["threshold"]:
            self.triggered += 1
            self.violations += 1
            self._found(
                f"{sensor.name} of {sensor.node} was throttled by {reason} in {share:.0f} % of the samples (limit "
                f"{self.parameters['threshold']:g} %).",
                start,
                end,
                node=sensor.node,
                device=sensor.name,
                numbers={"share": share, "limit": self.parameters["threshold"]},
            )

    def not_evaluated(self) -> str | None:
        if not self._counts:
            return "no throttle reasons of GPUs"
        most = max(counts["points"] for counts in self._counts.values())
        return None if most >= _MIN_POINTS else f"{most} of {_MIN_POINTS} points"

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for sensor, counts in self._counts.items():
            found.setdefault(sensor.node, {})[sensor.name] = dict(counts)
        return found
