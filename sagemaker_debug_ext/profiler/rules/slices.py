"""Slices of profiler data, as rules see them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.profiler.format.system_rows import SystemRows
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

Floats = npt.NDArray[np.float64]

SAME_TICK_SECONDS: Final = 0.02
"""The families of sensors are read one after the other, a few milliseconds apart."""

CPU: Final = "CPUUtilization"
IO_WAIT: Final = "I/OWaitPercentage"
GPU: Final = "GPUUtilization"
GPU_MEMORY: Final = "GPUMemoryUtilization"
GPU_MEMORY_USED: Final = "GPUMemoryUsedPercent"

_NUMBER: Final = re.compile(r"(\d+)$")


class Sensor(NamedTuple):
    """A sensor of a machine; see `SystemRow`."""

    node: str
    type: str
    name: str
    dimension: str


class Readings(NamedTuple):
    """Values of one sensor, sorted by time.

    Attributes:
        times: Seconds since 1970, shape ``(n,)``.
        values: Percent, or a rate per second, shape ``(n,)``.
    """

    times: Floats
    values: Floats


class Snapshot(NamedTuple):
    """Values of one machine at one time: sensor → value."""

    time: float
    values: dict[Sensor, float]


@attrs.frozen(eq=False)
class Slice:
    """A span of a job.

    Attributes:
        start_us: Microseconds since 1970, inclusive.
        end_us: Microseconds since 1970, exclusive.
        readings: Values by sensor.
        events: Trace events that end in the span.
        is_last: Whether the job has ended and nothing follows.
    """

    start_us: int
    end_us: int
    readings: Mapping[Sensor, Readings]
    events: Sequence[TraceEvent] = ()
    is_last: bool = False
    _sorted: dict[tuple[str, str | None], list[Sensor]] = attrs.field(factory=dict, init=False)

    @property
    def nodes(self) -> list[str]:
        """The machines, sorted by number."""
        return sorted({sensor.node for sensor in self.readings}, key=natural_key)

    def sensors(self, dimension: str, node: str | None = None) -> list[Sensor]:
        """Return the sensors of a dimension, of one machine or of all, sorted by number."""
        if not self._sorted:  # all rules ask, for each machine
            for sensor in sorted(
                self.readings, key=lambda sensor: (natural_key(sensor.node), natural_key(sensor.name))
            ):
                for place in ((sensor.dimension, None), (sensor.dimension, sensor.node)):
                    self._sorted.setdefault(place, []).append(sensor)
        return self._sorted.get((dimension, node), [])

    def mean_over(self, sensors: Sequence[Sensor]) -> Readings:
        """Return the mean of some sensors at each time at which any of them was read."""
        if not sensors:
            return Readings(np.empty(0), np.empty(0))
        times = np.concatenate([self.readings[sensor].times for sensor in sensors])
        values = np.concatenate([self.readings[sensor].values for sensor in sensors])
        distinct, places = np.unique(times, return_inverse=True)
        return Readings(distinct, np.bincount(places, weights=values) / np.bincount(places))

    def snapshots(self, node: str, dimensions: Iterable[str]) -> Iterator[Snapshot]:
        """Yield the values of a machine together that were read within 20 ms of the first of them."""
        at: dict[float, dict[Sensor, float]] = {}
        for dimension in dimensions:
            for sensor in self.sensors(dimension, node):
                for time, value in zip(*map(np.ndarray.tolist, self.readings[sensor]), strict=True):
                    at.setdefault(time, {})[sensor] = value
        current: Snapshot | None = None
        for time in sorted(at):
            if current is None or time > current.time + SAME_TICK_SECONDS:
                if current is not None:
                    yield current
                current = Snapshot(time, {})
            current.values.update(at[time])
        if current is not None:
            yield current


def _place(sensor: Sensor) -> tuple[tuple[str, int], tuple[str, int]]:
    return natural_key(sensor.node), natural_key(sensor.name)


@functools.lru_cache(1 << 16)
def natural_key(name: str) -> tuple[str, int]:
    """Return a key by which names sort with their numbers: ``gpu2`` before ``gpu10``."""
    found = _NUMBER.search(name)
    return (name[: found.start()], int(found[1])) if found else (name, -1)


def group_rows(rows: SystemRows) -> dict[Sensor, Readings]:
    """Return the readings of each sensor, sorted by time; rows without a name belong to no sensor."""
    found: dict[Sensor, tuple[list[float], list[float]]] = {}
    for row in rows.rows():
        if row.name is not None:
            times, values = found.setdefault(Sensor(row.node, row.type, row.name, row.dimension), ([], []))
            times.append(row.timestamp)
            values.append(row.value)
    readings = {}
    for sensor, columns in found.items():
        times_array, values_array = (np.asarray(column, dtype=np.float64) for column in columns)
        order = np.argsort(times_array, kind="stable")
        readings[sensor] = Readings(times_array[order], values_array[order])
    return readings
