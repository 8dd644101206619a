"""`Straggler`: one worker is slower than the others, which wait for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs
import numpy as np

from sagemaker_debug_ext.profiler.profiler_constants import PT_DATALOADER_ITER, STEP_ON_GPU
from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import Slice
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

_TRAIN: Final = ("Step:ModeKeys.TRAIN", "Step:ModeKeys.GLOBAL")
_FORWARD: Final = "Forward"
_FORWARD_ON_GPU: Final = "forward"
_MIN_STEPS: Final = 20
_MAX_STEPS: Final = 1000


def _latest() -> deque[float]:
    return deque(maxlen=_MAX_STEPS)


@attrs.define
class _Worker:
    """The latest steps of a worker, in microseconds.

    Backward passes are left out: in them a worker may wait for the gradients of others.
    """

    loading: float = 0.0
    forward: float = 0.0
    forward_on_gpu: float = 0.0
    last_start: float | None = None
    own: deque[float] = attrs.field(factory=_latest)
    loads: deque[float] = attrs.field(factory=_latest)
    intervals: deque[float] = attrs.field(factory=_latest)


class Straggler(ProfilerRule):
    """A worker's median time before its backward pass is more than 1.2 times that of the other workers.

    That is the wait for a batch and the forward pass, on the GPU if there is one; in the backward pass all workers wait
    for the slowest. Differences below 5 % of a step do not count.
    """

    name = "Straggler"
    order = ("threshold", "min_share")
    in_catalog = False
    own_parameters: ClassVar[Mapping[str, float]] = {"threshold": 1.2, "min_share": 5.0}
    advice = "Look at this worker's data, at other programs on its machine, and at the clocks of its GPU."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._workers: dict[str, _Worker] = {}
        self._details: dict[str, dict[str, float]] = {}

    def observe(self, piece: Slice) -> None:
        for event in sorted(piece.events, key=lambda event: event.start_time):
            self._take(event)
        ready = {node: worker for node, worker in self._workers.items() if len(worker.own) >= _MIN_STEPS}
        if len(ready) > 1:
            self._evaluate(ready, piece)

    def _take(self, event: TraceEvent) -> None:
        worker = self._workers.setdefault(event.node_id, _Worker())
        if event.event_phase == PT_DATALOADER_ITER:
            worker.loading += event.duration
        elif event.event_phase == _FORWARD:
            worker.forward += event.duration
        elif event.event_phase.startswith(STEP_ON_GPU):
            worker.forward_on_gpu += event.duration if event.event_name == _FORWARD_ON_GPU else 0.0
        elif event.event_phase in _TRAIN:
            self.datapoints += 1
            if worker.last_start is not None:  # the first step has waited for loaders to start
                worker.intervals.append(event.start_time - worker.last_start)
                worker.own.append(worker.loading + max(worker.forward, worker.forward_on_gpu))
                worker.loads.append(worker.loading)
            worker.last_start = event.start_time
            worker.loading = worker.forward = worker.forward_on_gpu = 0.0

    def _evaluate(self, workers: Mapping[str, _Worker], piece: Slice) -> None:
        own = {node: float(np.median(worker.own)) for node, worker in workers.items()}
        loads = {node: float(np.median(worker.loads)) for node, worker in workers.items()}
        interval = float(np.median([np.median(worker.intervals) for worker in workers.values()]))
        for node, time in own.items():
            others = float(np.median([other for name, other in own.items() if name != node]))
            self._details[node] = {"own_seconds": time / 1e6, "others_seconds": others / 1e6}
            excess = 100 * (time - others) / max(interval, 1.0)
            if time <= self.parameters["threshold"] * others or excess <= self.parameters["min_share"]:
                continue
            usual_load = float(np.median([other for name, other in loads.items() if name != node]))
            part = "its data loader" if loads[node] - usual_load > (time - others) / 2 else "its forward pass"
            self.triggered += 1
            self.violations += 1
            self._found(
                f"{node} takes {time / 1000:.3g} ms of each step before its backward pass, the median of the others "
                f"is {others / 1000:.3g} ms, and all wait for it: {excess:.0f} % of a step, in {part}.",
                piece.start_us / 1e6,
                piece.end_us / 1e6,
                node=node,
                numbers={"own_seconds": time / 1e6, "others_seconds": others / 1e6, "percent_of_step": excess},
            )

    def not_evaluated(self) -> str | None:
        if len(self._workers) < 2:
            return "fewer than two workers record steps"
        least = sorted(len(worker.own) for worker in self._workers.values())[-2]
        return None if least >= _MIN_STEPS else f"{least} of {_MIN_STEPS} steps"

    def details(self) -> dict[str, Any]:
        return {node: dict(numbers) for node, numbers in self._details.items()}
