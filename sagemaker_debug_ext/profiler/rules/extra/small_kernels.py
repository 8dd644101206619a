"""`SmallKernels`: a GPU waits for the host to start its kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import attrs

from sagemaker_debug_ext.profiler.profiler_constants import LAUNCHED_AT
from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import Slice
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

_GPU: Final = "gpu_functions-dev:"
_MIN_KERNELS: Final = 100
_LONGEST_GAP_US: Final = 1e6
"""Longer gaps are between two profiled ranges of steps."""


@attrs.define
class _Device:
    """What a device did in the profiled steps, in microseconds."""

    num_kernels: int = 0
    busy: float = 0.0
    gaps: float = 0.0
    launch_gaps: float = 0.0


class SmallKernels(ProfilerRule):
    """More than half of a GPU's gaps in a detailed profile end because the next kernel was started late.

    A gap counts for the host if the kernel after it was started when the GPU had already nothing to do. The rule fires
    if gaps are more than 20 % of the time.
    """

    name = "SmallKernels"
    order = ("threshold", "min_idle")
    in_catalog = False
    own_parameters: ClassVar[Mapping[str, float]] = {"threshold": 50.0, "min_idle": 20.0}
    advice = "Give the GPU more work at a time: torch.compile, CUDA graphs, or a larger batch."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._devices: dict[tuple[str, str], _Device] = {}

    def observe(self, piece: Slice) -> None:
        kernels: dict[tuple[str, str], list[TraceEvent]] = {}
        for event in piece.events:
            if event.event_phase.startswith(_GPU) and LAUNCHED_AT in (event.event_args or {}):
                kernels.setdefault((event.node_id, event.event_phase.removeprefix(_GPU)), []).append(event)
        for key, events in kernels.items():
            device = self._devices.setdefault(key, _Device())
            _add(device, sorted(events, key=lambda event: event.start_time))
            self.datapoints += len(events)
            self._evaluate(*key, device, events)

    def _evaluate(self, node: str, number: str, device: _Device, events: Sequence[TraceEvent]) -> None:
        if device.num_kernels < _MIN_KERNELS:
            return
        idle = 100 * device.gaps / max(device.gaps + device.busy, 1.0)
        share = 100 * device.launch_gaps / max(device.gaps, 1.0)
        if idle <= self.parameters["min_idle"] or share <= self.parameters["threshold"]:
            return
        self.triggered += 1
        self.violations += 1
        factor = math.ceil(1 + device.launch_gaps / max(device.busy, 1.0))
        self._found(
            f"gpu{number} of {node} did nothing for {idle:.0f} % of the profiled time, and {share:.0f} % of that was "
            f"waiting for the host to start kernels of {device.busy / device.num_kernels:.3g} µs on average: a batch "
            f"{factor} times as large would keep it busy.",
            min(event.start_time for event in events) / 1e6,
            max(event.end_time for event in events) / 1e6,
            node=node,
            device=f"gpu{number}",
            numbers={"idle_percent": idle, "launch_percent": share, "batch_factor": float(factor)},
        )

    def not_evaluated(self) -> str | None:
        if not self._devices:
            return "no detailed profile of a GPU"
        most = max(device.num_kernels for device in self._devices.values())
        return None if most >= _MIN_KERNELS else f"{most} of {_MIN_KERNELS} kernels"

    def details(self) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for (node, number), device in self._devices.items():
            answer.setdefault(node, {})[f"gpu{number}"] = attrs.asdict(device)
        return answer


def _add(device: _Device, kernels: Sequence[TraceEvent]) -> None:
    """Add the kernels of a device, sorted by start; those of several streams may overlap."""
    end: float | None = None
    for kernel in kernels:
        device.num_kernels += 1
        if end is not None and kernel.start_time - end > _LONGEST_GAP_US:
            end = None
        if end is not None and kernel.start_time > end:
            gap = kernel.start_time - end
            device.gaps += gap
            if float((kernel.event_args or {})[LAUNCHED_AT]) > end:
                device.launch_gaps += gap
        device.busy += max(kernel.end_time - max(kernel.start_time, end or 0), 0)
        end = max(kernel.end_time, end or 0)
