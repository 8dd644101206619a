"""What a page shows of a job, gathered slice by slice in memory that does not grow with the job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.profiler.profiler_constants import PT_DATALOADER_ITER, TF_DATALOADER_ITER
from sagemaker_debug_ext.profiler.rules.slices import CPU, GPU, Readings, Sensor, Slice, natural_key

Floats = npt.NDArray[np.float64]

MAX_BINS: Final = 480
IDLE_PERCENT: Final = 10.0
"""A GPU below this utilization counts as idle."""

TRAIN: Final = ("Step:ModeKeys.TRAIN", "Step:ModeKeys.GLOBAL")
WAIT: Final = "waiting for a batch"
REST: Final = "rest of the step"
BETWEEN: Final = "between steps"
_PARTS: Final[Mapping[str, str]] = {
    PT_DATALOADER_ITER: WAIT,
    TF_DATALOADER_ITER: WAIT,
    "Forward": "forward",
    "Backward(post-forward)": "backward",
    "Optimizer": "optimizer",
    "Step:ModeKeys.EVAL": "evaluation",
    "Step:ModeKeys.PREDICT": "evaluation",
    "Checkpoint": "checkpoint",
}
PARTS: Final = (*dict.fromkeys(_PARTS.values()), REST, BETWEEN)
"""Where the time of a worker goes, in the order in which it is drawn."""

_INSIDE: Final = ("forward", "backward", "optimizer")


@attrs.define(eq=False)
class Bins:
    """Means over parts of the time of a job, which become longer when it does.

    Attributes:
        sums: Sum of the values in each part.
        counts: Number of values in each part.
    """

    sums: Floats = attrs.field(factory=lambda: np.zeros(2 * MAX_BINS))
    counts: Floats = attrs.field(factory=lambda: np.zeros(2 * MAX_BINS))

    def add(self, places: npt.NDArray[np.int64], values: Floats) -> None:
        """Add values to the parts with some numbers."""
        self.sums += np.bincount(places, weights=values, minlength=2 * MAX_BINS)
        self.counts += np.bincount(places, minlength=2 * MAX_BINS)

    def halve(self) -> None:
        """Join each two parts."""
        for column in (self.sums, self.counts):
            column[:MAX_BINS] = column.reshape(-1, 2).sum(axis=1)
            column[MAX_BINS:] = 0

    def means(self, count: int) -> Floats:
        """Return the means of the first parts; NaN for those without values."""
        with np.errstate(invalid="ignore"):
            return self.sums[:count] / self.counts[:count]


@attrs.define
class Worker:
    """Where the time of a training process went, in seconds."""

    start: float
    end: float
    parts: dict[str, float] = attrs.field(factory=dict)
    train: float = 0.0
    num_steps: int = 0

    def shares(self) -> dict[str, float]:
        """Return the share of each of `PARTS` of the time from the first event to the last."""
        span = max(self.end - self.start, 1e-9)
        inside = sum(self.parts.get(name, 0.0) for name in _INSIDE)
        seconds = {**self.parts, REST: max(self.train - inside, 0.0)}
        seconds[BETWEEN] = max(span - sum(seconds.values()), 0.0)
        total = max(sum(seconds.values()), 1e-9)
        return {name: seconds.get(name, 0.0) / total for name in PARTS}


class History:
    """The history of a job.

    Attributes:
        start: First time in seconds since 1970; 0 before there are data.
        end: Last time.
        seconds: Length of a part of the time.
        sensors: Utilization of each core and GPU, and memory, in percent.
        steps: Length of the training steps of each worker, in seconds.
        workers: Where the time of each worker went.
        num_samples: Number of samples of each machine.
    """

    def __init__(self) -> None:
        self.start = self.end = 0.0
        self.seconds = 1.0
        self.sensors: dict[Sensor, Bins] = {}
        self.steps: dict[str, Bins] = {}
        self.workers: dict[str, Worker] = {}
        self.num_samples: dict[str, int] = {}
        self._gpu_values = 0
        self._idle_values = 0

    @property
    def num_bins(self) -> int:
        """How many parts of the time have begun."""
        return min(int((self.end - self.start) / self.seconds) + 1, 2 * MAX_BINS)

    @property
    def idle_share(self) -> float | None:
        """Share of the samples in which a GPU was below 10 %; None without GPUs."""
        return self._idle_values / self._gpu_values if self._gpu_values else None

    @property
    def machines(self) -> list[str]:
        """The machines, sorted by number."""
        return sorted({sensor.node for sensor in self.sensors}, key=natural_key)

    def rows_of(self, machine: str) -> list[Sensor]:
        """Return the GPUs and then the cores of a machine, sorted by number."""
        found = (s for s in self.sensors if s.node == machine and s.dimension in (GPU, CPU))
        return sorted(found, key=lambda sensor: (sensor.dimension == CPU, natural_key(sensor.name)))

    def add(self, piece: Slice) -> None:
        """Add a slice of the job."""
        for sensor, readings in piece.readings.items():
            if (sensor.dimension in (CPU, GPU) and sensor.name != "sampler") or sensor.name == "MemoryUsedPercent":
                self._add_values(self.sensors.setdefault(sensor, Bins()), readings)
            if sensor.name == "MemoryUsedPercent":
                self.num_samples[sensor.node] = self.num_samples.get(sensor.node, 0) + readings.values.size
            if sensor.dimension == GPU:
                self._gpu_values += readings.values.size
                self._idle_values += int(np.count_nonzero(readings.values < IDLE_PERCENT))
        lengths: dict[str, list[tuple[float, float]]] = {}
        for event in piece.events:
            part = _PARTS.get(event.event_phase)
            is_train = event.event_phase in TRAIN
            if part is None and not is_train:
                continue
            start, end, seconds = event.start_time / 1e6, event.end_time / 1e6, event.duration / 1e6
            worker = self.workers.setdefault(event.node_id, Worker(start, end))
            worker.start, worker.end = min(worker.start, start), max(worker.end, end)
            if part is not None:
                worker.parts[part] = worker.parts.get(part, 0.0) + seconds
            if is_train:
                worker.train += seconds
                worker.num_steps += 1
                lengths.setdefault(event.node_id, []).append((end, seconds))
        for worker_name, steps in lengths.items():
            columns = np.asarray(steps, dtype=np.float64)
            self._add_values(self.steps.setdefault(worker_name, Bins()), Readings(columns[:, 0], columns[:, 1]))

    def _add_values(self, bins: Bins, readings: Readings) -> None:
        times = readings.times
        if not times.size:
            return
        self.start = self.start or float(times.min())
        self.end = max(self.end, float(times.max()))
        while (self.end - self.start) / self.seconds >= 2 * MAX_BINS:
            self.seconds *= 2
            for other in (*self.sensors.values(), *self.steps.values()):
                other.halve()
        places = np.maximum(((times - self.start) / self.seconds).astype(np.int64), 0)
        bins.add(places, readings.values)
