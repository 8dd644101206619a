"""Where the time of a framework goes, by phase and operator (profiler format, sections 3.2 and 3.3)."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sagemaker_debug_ext.profiler.profiler_constants import STEP_ON_GPU
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

_STEP: Final = "Step:"
_CPU: Final = "cpu_functions"
_GPU: Final = "gpu_functions"
_SMALL_PERCENT: Final = 2.0
_FORWARD_BACKWARD: Final = ("Forward", "Backward")


def self_times(events: Sequence[TraceEvent]) -> list[float]:
    """Return the time of each event without that of the events within it on the same thread, in microseconds."""
    own = [float(event.duration) for event in events]
    threads: dict[tuple[str, int, int, str], list[int]] = defaultdict(list)
    for place, event in enumerate(events):
        threads[event.node_id, event.pid, event.tid, event.event_phase].append(place)
    for places in threads.values():
        around: list[int] = []
        for place in sorted(places, key=lambda at: (events[at].start_time, -events[at].end_time)):
            while around and events[around[-1]].end_time <= events[place].start_time:
                around.pop()
            if around and events[place].end_time <= events[around[-1]].end_time:
                own[around[-1]] -= events[place].duration
            around.append(place)
    return own


class FrameworkBreakdown:
    """Sums of times by phase, operator and kind, which do not grow with the job.

    Steps and phases count whole; operators count without the operators that they call.
    """

    def __init__(self) -> None:
        self._phases: dict[str, float] = defaultdict(float)
        self._between_us = 0.0
        self._operators: dict[str, dict[str, float]] = {_CPU: defaultdict(float), _GPU: defaultdict(float)}
        self._devices: dict[str, float] = defaultdict(float)
        self._forward_backward: dict[str, float] = defaultdict(float)
        self._general: dict[str, float] = defaultdict(float)
        self._horovod: dict[str, float] = defaultdict(float)
        self._step_ends: dict[str, float] = {}

    def add(self, events: Sequence[TraceEvent]) -> None:
        """Add the events of a slice."""
        operators = [event for event in events if event.event_phase.startswith((_CPU, _GPU))]
        for event, time in zip(operators, self_times(operators), strict=True):
            kind = _CPU if event.event_phase.startswith(_CPU) else _GPU
            self._operators[kind][event.event_name] += time
            self._devices[event.event_phase] += time
        for event in events:
            self._add_phase(event)
        steps = sorted(
            (event for event in events if event.event_phase.startswith(_STEP)), key=lambda step: step.start_time
        )
        for step in steps:
            last = self._step_ends.get(step.node_id)
            if last is not None:
                self._between_us += max(step.start_time - last, 0)
            self._step_ends[step.node_id] = max(step.end_time, last or 0)

    def _add_phase(self, event: TraceEvent) -> None:
        phase = event.event_phase
        if phase.startswith(_STEP):
            self._phases[phase] += event.duration
        elif phase.startswith((_CPU, _GPU, STEP_ON_GPU)):
            pass
        elif event.file_type == "HorovodMetrics":
            self._horovod[event.event_name] += event.duration
        elif phase.startswith(_FORWARD_BACKWARD) and "SubModule" not in phase:
            self._forward_backward[phase] += event.duration
        elif "SubModule" not in phase:
            self._general[phase] += event.duration

    def to_json_dict(self) -> dict[str, Any]:
        """Return percentages by kind, and microseconds of operators; kinds without events are left out."""
        phases = dict(self._phases)
        if phases:
            phases["others"] = self._between_us
        answer: dict[str, Any] = {"ratio": shares(self._devices), "phase": shares(phases), "phase_time": {}}
        if self._forward_backward:
            answer["forward_backward"] = shares(self._forward_backward)
        for key, kind in (("CPU", _CPU), ("GPU", _GPU)):
            if self._operators[kind]:
                answer[key] = shares(self._operators[kind], _SMALL_PERCENT)
                answer[f"{key}_total"] = {name: self._operators[kind][name] for name in answer[key]}
        if self._general:
            answer["general"] = shares(self._general)
        if self._horovod:
            answer["horovod"] = shares(self._horovod)
        return answer


def shares(times: dict[str, float], least: float = 0.0) -> dict[str, float]:
    """Return each part in percent of the sum, the largest first; parts below `least` percent are left out."""
    total = sum(times.values()) or 1.0
    found = {name: 100 * time / total for name, time in sorted(times.items(), key=lambda item: -item[1])}
    return {name: share for name, share in found.items() if share >= least}


def events_at(events: Iterable[TraceEvent], times_us: Sequence[float]) -> list[TraceEvent]:
    """Return the events that were active at one of some times, in microseconds since 1970."""
    ordered = sorted(times_us)
    found = []
    for event in events:
        inside = itertools.takewhile(lambda time, end=event.end_time: time <= end, ordered)  # type: ignore[misc]
        if any(time >= event.start_time for time in inside):
            found.append(event)
    return found
