"""`CPUThrottled`: the limit of a container keeps the job from its processors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs
import numpy as np

from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import Sensor, Slice

_THROTTLED: Final = "CPUThrottledPercentage"
_LIMIT: Final = "CPULimitUtilization"
_MIN_POINTS: Final = 60
_MIN_POINTS_LIVE: Final = 600
"""A share is evaluated while the job runs only after some minutes, since it may be large at the start by chance."""


@attrs.define
class _Container:
    """What is known of a container: points, those throttled, and the sum of the use of its limit in percent."""

    first: float
    points: int = 0
    throttled: int = 0
    used: float = 0.0

    @property
    def share(self) -> float:
        return 100 * self.throttled / self.points


class CPUThrottled(ProfilerRule):
    """A container is kept from its processors for a tenth of the time or longer, in more than 20 % of the samples.

    A container with a limit of processor time has to wait for the rest of each period, usually of 0.1 seconds, once it
    has used its share of that.
    """

    name = "CPUThrottled"
    order = ("threshold", "share_threshold")
    in_catalog = False
    own_parameters: ClassVar[Mapping[str, float]] = {"threshold": 10.0, "share_threshold": 20.0}
    advice = (
        "Raise the container's limit of processor time, or run fewer threads and data loader workers than it has cores."
    )

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._containers: dict[Sensor, _Container] = {}

    def observe(self, piece: Slice) -> None:
        used = {sensor.node: piece.readings[sensor][1] for sensor in piece.sensors(_LIMIT)}
        for sensor in piece.sensors(_THROTTLED):
            times, values = piece.readings[sensor]
            container = self._containers.setdefault(sensor, _Container(float(times[0])))
            container.points += values.size
            container.throttled += int(np.count_nonzero(values >= self.parameters["threshold"]))
            container.used += float(used[sensor.node].mean()) * values.size if sensor.node in used else 0.0
            self.datapoints += values.size
            least = _MIN_POINTS if piece.is_last else _MIN_POINTS_LIVE
            if container.points >= least and container.share > self.parameters["share_threshold"]:
                self._report(sensor, container, float(times[-1]))

    def _report(self, sensor: Sensor, container: _Container, end: float) -> None:
        self.triggered += 1
        self.violations += 1
        limit, share_limit = (self.parameters[name] for name in self.order)
        used = container.used / container.points
        self._found(
            f"The container on {sensor.node} was kept from its processors for {limit:g} % of the time or longer in "
            f"{container.share:.0f} % of the samples (limit {share_limit:g} %); it used {used:.0f} % of its limit.",
            container.first,
            end,
            node=sensor.node,
            device="container",
            numbers={"share": container.share, "limit": share_limit, "used": used},
        )

    def not_evaluated(self) -> str | None:
        if not self._containers:
            return "no container with a limit of processor time"
        most = max(container.points for container in self._containers.values())
        return None if most >= _MIN_POINTS else f"{most} of {_MIN_POINTS} points"

    def details(self) -> dict[str, Any]:
        return {
            sensor.node: {"points": found.points, "throttled": found.throttled}
            for sensor, found in self._containers.items()
        }
