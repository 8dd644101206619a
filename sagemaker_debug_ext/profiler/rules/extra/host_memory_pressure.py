"""`HostMemoryPressure`: memory or shared memory of a machine is nearly used up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np

from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import Sensor, Slice

_SHARED: Final = "SharedMemoryUsedPercent"


class HostMemoryPressure(ProfilerRule):
    """Memory is above 95 %, of the container's limit if it has one, or ``/dev/shm`` is above 90 %."""

    name = "HostMemoryPressure"
    order = ("memory_threshold", "shared_memory_threshold")
    in_catalog = False
    own_parameters: ClassVar[Mapping[str, float]] = {"memory_threshold": 95.0, "shared_memory_threshold": 90.0}
    advice = "Use fewer data loader workers, smaller prefetch buffers, or a machine with more memory."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._largest: dict[str, dict[str, float]] = {}

    def observe(self, piece: Slice) -> None:
        for sensor in piece.readings:
            if sensor.type == "memory" and (sensor.name == "MemoryUsedPercent" or sensor.dimension == _SHARED):
                self._observe_sensor(piece, sensor)

    def _observe_sensor(self, piece: Slice, sensor: Sensor) -> None:
        times, values = piece.readings[sensor]
        what = "shared memory" if sensor.dimension == _SHARED else "memory"
        limit = self.parameters[f"{what.replace(' ', '_')}_threshold"]
        self.datapoints += values.size
        largest = float(values.max())
        known = self._largest.setdefault(sensor.node, {})
        known[what] = max(known.get(what, 0.0), largest)
        above = np.flatnonzero(values > limit)
        if above.size:
            self.triggered += 1
            self.violations += above.size
            self._found(
                f"{sensor.node} used {largest:.0f} % of its {what} (limit {limit:g} %): processes may be killed soon.",
                float(times[above[0]]),
                float(times[above[-1]]),
                node=sensor.node,
                device=what,
                numbers={"largest": largest, "limit": limit},
            )

    def not_evaluated(self) -> str | None:
        return None if self.datapoints else "no system metrics"

    def details(self) -> dict[str, Any]:
        return {node: dict(values) for node, values in self._largest.items()}
