"""`Dataloader`: the number of loader processes does not fit the number of cores."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.profiler.profiler_constants import (
    PT_DATALOADER_INITIALIZE,
    PT_DATALOADER_ITER,
    PT_DATALOADER_WORKER,
    TF_DATALOADER_ITER,
)
from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import CPU, Slice
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

_PHASES: Final = (PT_DATALOADER_ITER, PT_DATALOADER_INITIALIZE, PT_DATALOADER_WORKER, TF_DATALOADER_ITER)
_PATIENCE_SECONDS: Final = 10
_MAX_SECONDS: Final = 86_400
_NUM_BINS: Final = 100


class Dataloader(ProfilerRule):
    """In the median second, too few or too many processes load data, compared with the cores of each training process.

    The original compares with all cores of the machine, whatever else trains there.
    """

    name = "Dataloader"
    order = ("min_threshold", "max_threshold")
    advice = "Change the number of data loader workers."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._seconds: dict[int, set[tuple[str, int]]] = {}
        self._workers: dict[str, set[str]] = {}
        self._cores = 0
        self._facts: dict[str, Any] = {}
        self._loading_seconds: list[float] = []

    def observe(self, piece: Slice) -> None:
        for node in piece.nodes:
            self._cores = max(self._cores, sum(sensor.type == "cpu" for sensor in piece.sensors(CPU, node)))
        for event in piece.events:
            if event.event_phase.startswith("Step:"):
                self._workers.setdefault(event.node_id.rpartition("-")[0], set()).add(event.node_id)
            elif event.event_phase in _PHASES:
                self._observe_event(event)
        self._evaluate()

    def _observe_event(self, event: TraceEvent) -> None:
        self.datapoints += 1
        arguments = event.event_args or {}
        for key in ("num_workers", "pin_memory"):
            if key in arguments:
                self._facts[key] = arguments[key]
        if event.event_phase == TF_DATALOADER_ITER:
            self._facts["prefetch"] = "refetch" in event.event_name or self._facts.get("prefetch", False)
        if event.event_phase in (PT_DATALOADER_ITER, TF_DATALOADER_ITER):
            self._loading_seconds = [*self._loading_seconds[-99_999:], event.duration / 1e6]
        first, last = int(event.start_time // 1e6), int(event.end_time // 1e6)
        for second in range(first, min(last, first + 3600) + 1):
            if second in self._seconds or len(self._seconds) < _MAX_SECONDS:
                self._seconds.setdefault(second, set()).add((event.node_id, event.pid))

    @property
    def _num_loaders(self) -> int:
        seen = math.floor(float(np.median([len(processes) for processes in self._seconds.values()] or [0])))
        # Recorded events may be those of the training process alone, which waits for its workers.
        return max(seen, int(self._facts.get("num_workers", 0))) if self._is_one_per_worker else seen

    @property
    def _is_one_per_worker(self) -> bool:
        """Return whether each worker was seen to load by one process only."""
        return all(len(processes) == len({node for node, _ in processes}) for processes in self._seconds.values())

    @property
    def _cores_per_process(self) -> float:
        return self._cores / max(max(map(len, self._workers.values()), default=1), 1)

    def _evaluate(self) -> None:
        if self.not_evaluated():
            return
        low, high = (self._cores_per_process * self.parameters[f"{side}_threshold"] / 100 for side in ("min", "max"))
        loaders = self._num_loaders
        if low <= loaders <= high:
            return
        self.triggered = 1
        self.violations += 1
        self._found(
            f"Number of loader processes: {loaders}, beside {self._cores_per_process:g} cores a training process "
            f"(expected: {low:.1f} to {high:.1f}).",
            min(self._seconds),
            max(self._seconds),
            numbers={"loaders": float(loaders), "cores": self._cores_per_process},
        )

    def not_evaluated(self) -> str | None:
        if not self._seconds:
            return "no data loader events"
        if not self._cores:
            return "no system metrics"
        if len(self._seconds) <= _PATIENCE_SECONDS:
            return f"{len(self._seconds)} of {_PATIENCE_SECONDS} seconds with loader events"
        return None

    def details(self) -> dict[str, Any]:
        if not self.datapoints:
            return {}
        answer: dict[str, Any] = {}
        if "pin_memory" in self._facts:
            answer["pin_memory"] = bool(self._facts["pin_memory"])
        if "num_workers" in self._facts:
            answer["num_workers"] = int(self._facts["num_workers"])
        answer |= {"cores": self._cores, "dataloaders": self._num_loaders}
        if "prefetch" in self._facts:
            answer["prefetch"] = bool(self._facts["prefetch"])
        if self._loading_seconds:
            lengths = np.asarray(self._loading_seconds)
            counts, edges = np.histogram(lengths, _NUM_BINS, (0.0, float(lengths.max()) or 1.0))
            low, middle, high = np.percentile(lengths, (25, 50, 95)).tolist()
            answer["dataloading_time"] = {
                "p25": low,
                "p50": middle,
                "p95": high,
                "probs": counts.tolist(),
                "binedges": edges.tolist(),
            }
        return answer
