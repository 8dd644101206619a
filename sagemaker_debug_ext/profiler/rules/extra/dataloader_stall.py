"""`DataloaderStall`: training waits for the next batch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs

from sagemaker_debug_ext.profiler.profiler_constants import PT_DATALOADER_INITIALIZE, PT_DATALOADER_ITER
from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import CPU, Slice
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

_TRAIN: Final = ("Step:ModeKeys.TRAIN", "Step:ModeKeys.GLOBAL")
_MIN_STEPS: Final = 20
_MAX_STEPS: Final = 1000
_MAX_GAP_FACTOR: Final = 10


@attrs.define
class _Worker:
    """The latest steps of one training process, in microseconds."""

    last_start: float | None = None
    waited: float = 0.0
    num_workers: int = 0
    intervals: deque[float] = attrs.field(factory=lambda: deque(maxlen=_MAX_STEPS))
    waits: deque[float] = attrs.field(factory=lambda: deque(maxlen=_MAX_STEPS))


class DataloaderStall(ProfilerRule):
    """The median step waits for its batch for more than 20 % of the time from one step to the next.

    The advice names the number of loader workers that would do: the time to load a batch over the time to train on it.
    It says so if the machine has fewer cores than that.
    """

    name = "DataloaderStall"
    order = ("threshold",)
    in_catalog = False
    own_parameters: ClassVar[Mapping[str, float]] = {"threshold": 20.0}
    advice = "Add data loader workers, or make loading faster."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._workers: dict[str, _Worker] = {}
        self._shares: dict[str, dict[str, float]] = {}
        self._cores = 0

    def observe(self, piece: Slice) -> None:
        for node in piece.nodes:
            self._cores = max(self._cores, sum(sensor.type == "cpu" for sensor in piece.sensors(CPU, node)))
        touched = set()
        for event in sorted(piece.events, key=lambda event: event.start_time):
            if self._take(event):
                touched.add(event.node_id)
        for node in sorted(touched):
            self._evaluate(node, self._workers[node], piece)

    def _take(self, event: TraceEvent) -> bool:
        """Return whether the event is a training step."""
        worker = self._workers.setdefault(event.node_id, _Worker())
        if event.event_phase == PT_DATALOADER_INITIALIZE:
            worker.num_workers = int((event.event_args or {}).get("num_workers", worker.num_workers))
        elif event.event_phase == PT_DATALOADER_ITER:
            self.datapoints += 1
            worker.waited += event.duration
        elif event.event_phase in _TRAIN:
            if worker.last_start is not None and event.start_time > worker.last_start:
                worker.intervals.append(event.start_time - worker.last_start)
                worker.waits.append(min(worker.waited, event.start_time - worker.last_start))
            worker.last_start, worker.waited = event.start_time, 0.0
            return True
        return False

    def _evaluate(self, node: str, worker: _Worker, piece: Slice) -> None:
        if not self.datapoints or len(worker.intervals) < _MIN_STEPS:
            return
        middle = sorted(worker.intervals)[len(worker.intervals) // 2]
        # Time between epochs, for evaluation or checkpoints, is no waiting for batches.
        steps = [
            (wait, interval)
            for wait, interval in zip(worker.waits, worker.intervals, strict=True)
            if interval <= _MAX_GAP_FACTOR * middle
        ]
        shares = sorted(100 * wait / interval for wait, interval in steps)
        share = shares[len(shares) // 2]
        wait = sorted(wait for wait, _ in steps)[len(steps) // 2] / 1e6
        training = max(middle / 1e6 - wait, 1e-6)
        loading = wait if worker.num_workers == 0 else middle / 1e6 * worker.num_workers
        needed = max(math.ceil(loading / training), worker.num_workers + 1)
        self._shares[node] = {"wait_percent": share, "wait_seconds": wait, "training_seconds": training}
        if share <= self.parameters["threshold"]:
            return
        self.triggered += 1
        self.violations += 1
        limit = f", but there are only {self._cores} cores: make loading faster" if 0 < self._cores < needed else ""
        self._found(
            f"Steps of {node} wait for their batch in {share:.0f} % of the time ({wait * 1000:.3g} of "
            f"{middle / 1000:.3g} ms) with {worker.num_workers} data loader workers: {needed} would do{limit}.",
            piece.start_us / 1e6,
            piece.end_us / 1e6,
            node=node,
            numbers={"wait_percent": share, "workers": float(worker.num_workers), "workers_needed": float(needed)},
        )

    def not_evaluated(self) -> str | None:
        if not self.datapoints:
            return "no data loader events"
        most = max(len(worker.intervals) for worker in self._workers.values())
        return None if most >= _MIN_STEPS else f"{most} of {_MIN_STEPS} steps"

    def details(self) -> dict[str, Any]:
        return {node: dict(numbers) for node, numbers in self._shares.items()}
