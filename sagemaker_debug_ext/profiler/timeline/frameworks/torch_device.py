"""Times of the parts of a step on a CUDA device, by events that are read when the device has passed them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from torch import cuda

from sagemaker_debug_ext._imports.cuda_runtime import beside_recordings
from sagemaker_debug_ext.profiler.profiler_constants import ALLOCATED_BYTES, DEVICE, DEVICE_BYTES, STEP_ON_GPU
from sagemaker_debug_ext.profiler.timeline.step_timer import AddEvent

_MAX_WAITING: Final = 1000
"""Steps whose events may wait to be read; those of further steps are dropped."""

_FACTS_NS: Final = 1_000_000_000


_is_initialized: Final[Callable[[], bool]] = cuda.is_initialized


class _Mark(NamedTuple):
    event: cuda.Event
    device: int


class CudaClock:
    """Marks points of a step on the current stream.

    Recording an event takes the host some microseconds, and the device nothing that can be measured. The host waits for
    the device once, at the first mark, to know how far the clocks are apart.

    Args:
        add: Takes an event: phase, name, start, end and arguments.
        clock: The host's clock in nanoseconds.
    """

    def __init__(self, add: AddEvent, clock: Callable[[], int]) -> None:
        self._add = add
        self._clock = clock
        self._origins: dict[int, tuple[cuda.Event, int]] = {}
        self._waiting: deque[tuple[Sequence[tuple[str, _Mark, _Mark]], Mapping[str, Any]]] = deque()
        self._pid = os.getpid()
        self._facts_due = 0

    def mark(self) -> _Mark | None:
        """Return a mark of what the current stream has been given so far; None before CUDA is used."""
        if not _is_initialized() or cuda.is_current_stream_capturing():
            return None
        device = cuda.current_device()
        if device not in self._origins:
            origin = self._new_event()
            origin.record()
            origin.synchronize()
            self._origins[device] = (origin, self._clock())
        event = self._new_event()
        event.record()
        return _Mark(event, device)

    def add(self, spans: Sequence[tuple[str, _Mark | None, _Mark | None]], arguments: Mapping[str, Any]) -> None:
        """Keep the parts of a step until the device has passed them."""
        if len(self._waiting) < _MAX_WAITING:
            whole = [(name, start, end) for name, start, end in spans if start is not None and end is not None]
            self._waiting.append((whole, arguments))

    def facts(self, now: int) -> Mapping[str, Any]:
        """Return, once a second, how much memory of the current device PyTorch has allocated; else nothing."""
        if now < self._facts_due or not _is_initialized():
            return {}
        self._facts_due = now + _FACTS_NS
        device = cuda.current_device()
        total = cuda.get_device_properties(device).total_memory
        return {ALLOCATED_BYTES: cuda.memory_allocated(device), DEVICE: device, DEVICE_BYTES: total}

    def read(self) -> None:
        """Add the parts that the device has passed; nothing waits for it."""
        while self._waiting and os.getpid() == self._pid:  # a fork cannot use the device
            spans, arguments = self._waiting[0]
            with beside_recordings():
                if not all(end.event.query() for _, _, end in spans):  # type: ignore[no-untyped-call]
                    return
                times = [[self._host_ns(mark) for mark in (start, end)] for _, start, end in spans]
            self._waiting.popleft()
            for (name, start, _), (start_ns, end_ns) in zip(spans, times, strict=True):
                self._add(f"{STEP_ON_GPU}{start.device}", name, start_ns, end_ns, arguments)

    def _host_ns(self, mark: _Mark) -> int:
        """Return the time of the host at which the device passed a mark, in nanoseconds."""
        origin, origin_ns = self._origins[mark.device]
        return origin_ns + int(origin.elapsed_time(mark.event) * 1e6)

    @staticmethod
    def _new_event() -> cuda.Event:
        return cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
