"""`IdleGPU`: a GPU does nothing for minutes after training began."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs

from sagemaker_debug_ext.profiler.rules.base import ProfilerRule
from sagemaker_debug_ext.profiler.rules.slices import GPU, Sensor, Slice

_NUM_KEPT: Final = 4096
"""Number of the latest steps that are kept to tell the cause."""


@attrs.define
class _Idle:
    """A GPU that has been idle since `start`, or that has not worked yet."""

    start: float | None = None
    has_worked: bool = False
    seconds: float = 0.0


class IdleGPU(ProfilerRule):
    """Utilization stays below 5 % for 5 minutes or longer, after the GPU has worked for the first time.

    The cause is told from the steps at that time: evaluation, steps that go on without the GPU, or no step at all, as
    while a checkpoint is written or a process hangs.
    """

    name = "IdleGPU"
    order = ("threshold", "seconds")
    in_catalog = False
    own_parameters: ClassVar[Mapping[str, float]] = {"threshold": 5.0, "seconds": 300.0}
    advice = "Shorten or overlap what runs meanwhile; end the job if it hangs."

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._gpus: dict[Sensor, _Idle] = {}
        self._steps: deque[tuple[float, str]] = deque(maxlen=_NUM_KEPT)
        """The middle, in seconds since the epoch, and the mode of each of the latest steps."""

    def observe(self, piece: Slice) -> None:
        for event in piece.events:
            if event.event_phase.startswith("Step:"):
                middle = (event.start_time + event.end_time) / 2e6
                self._steps.append((middle, event.event_phase.rpartition(".")[2]))
        for sensor in piece.sensors(GPU):
            state = self._gpus.setdefault(sensor, _Idle())
            for time, value in zip(*(column.tolist() for column in piece.readings[sensor]), strict=True):
                self.datapoints += 1
                self._observe_value(sensor, state, time, value)

    def _observe_value(self, sensor: Sensor, state: _Idle, time: float, value: float) -> None:
        if value >= self.parameters["threshold"]:
            if state.start is not None and time - state.start >= self.parameters["seconds"]:
                state.seconds += time - state.start
            state.start, state.has_worked = None, True
        elif state.has_worked:
            state.start = time if state.start is None else state.start
            if time - state.start >= self.parameters["seconds"]:
                self._fire(sensor, state.start, time)

    def _fire(self, sensor: Sensor, start: float, end: float) -> None:
        self.violations += 1
        is_new = not any(
            (finding.node, finding.device, finding.start) == (sensor.node, sensor.name, start)
            for finding in self.findings
        )
        self.triggered += is_new
        cause = self._cause(start, end)
        self._found(
            f"{sensor.name} of {sensor.node} was idle for {(end - start) / 60:.0f} minutes{cause}.",
            start,
            end,
            node=sensor.node,
            device=sensor.name,
            numbers={"idle_seconds": end - start, "limit": self.parameters["threshold"]},
        )

    def _cause(self, start: float, end: float) -> str:
        if not self._steps:
            return ""
        during = {mode for middle, mode in self._steps if start < middle < end}
        if during == {"EVAL"}:
            return " during evaluation"
        return " while steps went on" if during else " without any step: a checkpoint, or a process that hangs"

    def not_evaluated(self) -> str | None:
        return None if self._gpus else "no GPU"

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for finding in self.findings:
            idle = found.setdefault(finding.node, {}).setdefault(finding.device, {"idle_seconds": 0.0})
            idle["idle_seconds"] += finding.end - finding.start
        return found
