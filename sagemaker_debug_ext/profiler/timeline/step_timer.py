"""`StepTimer`: finds whole steps in what a training loop does.

A step begins when a batch has arrived, and ends when the next batch is asked for. In loops without a data loader a step
ends with the last update before an optimizer updates again. A step in which no gradients are computed is one of
evaluation. Checkpoints are no part of steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

TRAIN: Final = "Step:ModeKeys.TRAIN"
EVAL: Final = "Step:ModeKeys.EVAL"
PREDICT: Final = "Step:ModeKeys.PREDICT"
FORWARD: Final = "Forward"
BACKWARD: Final = "Backward(post-forward)"
OPTIMIZER: Final = "Optimizer"
CHECKPOINT: Final = "Checkpoint"

_MIN_EVAL_NS: Final = 50_000
"""Batches that are only handed on, as by loaders that fetch one ahead, take less."""

AddEvent = Callable[[str, str, int, int, Mapping[str, Any]], object]


class StepListener(Protocol):
    """Hears of steps as they begin."""

    def step_begins(self, step: int) -> None:
        """Called at the beginning of a step, on the training thread, with its number over all modes."""

    def step_ends(self, mode: str, number: int) -> None:
        """Called at its end, with ``train``, ``eval`` or ``predict``, and its number within the mode."""


class DeviceClock(Protocol):
    """Notes when a device gets to a point of the step, without waiting for it."""

    def mark(self) -> Any:
        """Return a mark of what the device has been told so far."""

    def add(self, spans: Sequence[tuple[str, Any, Any]], arguments: Mapping[str, Any]) -> None:
        """Take the parts of a step: name, and the marks of start and end."""

    def facts(self, now: int) -> Mapping[str, Any]:
        """Return facts about the device for a step that ends now."""


class _Part(NamedTuple):
    phase: str
    name: str
    start: int
    end: int
    start_mark: Any
    end_mark: Any


class StepTimer:
    """Turns the calls of a training loop into events; not thread-safe.

    Args:
        add: Takes an event: phase, name, start, end and arguments.
        clock: Nanoseconds that only grow.

    Attributes:
        listeners: Who hears of steps.
        device: The clock of a device; None without one.
    """

    def __init__(self, add: AddEvent, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._add = add
        self.clock = clock
        self.listeners: list[StepListener] = []
        self.device: DeviceClock | None = None
        self._numbers = {TRAIN: 0, EVAL: 0, PREDICT: 0}
        self._start: int | None = None
        self._idle_since: int | None = None
        self._loader = 0
        self._parts: list[_Part] = []
        self._part_start = 0
        self._start_mark: Any = None
        self._part_mark: Any = None
        self._updated: set[int] = set()

    @property
    def num_steps(self) -> int:
        """How many steps have ended, of all modes."""
        return sum(self._numbers.values())

    # --- data loader --------------------------------------------------------------------------------------------------

    def batch_requested(self, loader: object) -> int:
        """End the open step, because the next batch is asked for; return the time."""
        now = self.clock()
        # A single batch of another loader, such as one to look at, is no step.
        self._close(now, is_batch_used=self._loader == id(loader))
        self._idle_since = None
        return now

    def batch_arrived(
        self, loader: object, requested_at: int, phase: str, name: str, arguments: Mapping[str, Any]
    ) -> None:
        """Begin a step with a batch that was waited for."""
        now = self.clock()
        self._add(phase, name, requested_at, now, arguments)
        self._loader = id(loader)
        self._open(now)

    def loader_exhausted(self) -> None:
        """Note that there was no further batch; one that was fetched ahead may still be trained on."""
        self._idle_since = self.clock()

    # --- gradients and updates ----------------------------------------------------------------------------------------

    def backward_begins(self) -> None:
        """Note the beginning of a backward pass."""
        now = self._part_start = self.clock()
        if self._start is None:
            self._open(now if self._idle_since is None else self._idle_since)
        self._part_mark = self._mark()

    def backward_ends(self) -> None:
        """Note the end of a backward pass."""
        end = self.clock()
        self._parts.append(_Part(BACKWARD, "backward", self._part_start, end, self._part_mark, self._mark()))

    def update_begins(self, optimizer: object) -> None:
        """Note the beginning of an optimizer's update."""
        now = self._part_start = self.clock()
        if self._start is None:
            self._open(now if self._idle_since is None else self._idle_since)
        elif id(optimizer) in self._updated:
            self._split()
        self._updated.add(id(optimizer))

    def update_ends(self, name: str) -> None:
        """Note the end of an optimizer's update."""
        end = self.clock()
        self._parts.append(_Part(OPTIMIZER, name, self._part_start, end, None, self._mark()))

    # --- whole steps and gaps -----------------------------------------------------------------------------------------

    def whole_step(self, phase: str, start: int) -> None:
        """Add a step that ends now, whose framework says where it begins and ends.

        Args:
            phase: `TRAIN`, `EVAL` or `PREDICT`.
            start: When it began.
        """
        self._add(phase, phase, start, self.clock(), self._count(phase))

    def step_begins(self) -> None:
        """Tell the listeners that a step begins."""
        for listener in self.listeners:
            listener.step_begins(self.num_steps)

    def checkpoint(self, name: str, start: int) -> None:
        """Add the writing of a checkpoint, which ends now; it ends a step that has computed gradients."""
        end = self.clock()
        if self._parts:
            self._close(start)
            self._idle_since = end
        self._add(CHECKPOINT, name, start, end, {})

    def finish(self) -> None:
        """End the open step, if it has computed gradients, with its last part."""
        if self._parts:
            self._close(self._parts[-1].end)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _mark(self) -> Any:
        return None if self.device is None else self.device.mark()

    def _open(self, start: int, mark: Any = None) -> None:
        self._start, self._idle_since = start, None
        self._start_mark = self._mark() if mark is None else mark
        self._parts.clear()
        self._updated.clear()
        if self.listeners:
            self.step_begins()

    def _split(self) -> None:
        """End the open step with its last update; what came after that belongs to the next one."""
        num_parts = max((place for place, part in enumerate(self._parts, 1) if part.phase is OPTIMIZER), default=0)
        if not num_parts:  # the update before this one has failed
            return
        later = self._parts[num_parts:]
        del self._parts[num_parts:]
        last = self._parts[-1]
        self._close(last.end)
        self._open(last.end, last.end_mark)
        self._parts += later

    def _close(self, end: int, is_batch_used: bool = False) -> None:
        start, self._start = self._start, None
        if start is None:
            return
        if not self._parts:
            if is_batch_used and end - start >= _MIN_EVAL_NS:
                self._add(EVAL, EVAL, start, end, self._count(EVAL))
            return
        arguments = self._count(TRAIN)
        before = start
        for part in self._parts:
            if part.phase is BACKWARD and part.start > before:
                self._add(FORWARD, "forward", before, part.start, arguments)
            self._add(part.phase, part.name, part.start, part.end, arguments)
            before = part.end
        if self.device is None:
            self._add(TRAIN, TRAIN, start, end, arguments)
        else:
            self._add(TRAIN, TRAIN, start, end, {**arguments, **self.device.facts(end)})
            self.device.add(self._device_spans(), arguments)
        self._parts.clear()

    def _device_spans(self) -> list[tuple[str, Any, Any]]:
        spans, before = [], self._start_mark
        for part in self._parts:
            if part.phase is BACKWARD:
                spans += [("forward", before, part.start_mark), ("backward", part.start_mark, part.end_mark)]
            else:
                spans.append(("optimizer", before, part.end_mark))
            before = part.end_mark
        return spans

    def _count(self, phase: str) -> dict[str, str]:
        """Count a step that has ended, and return its facts."""
        number = self._numbers[phase]
        self._numbers[phase] = number + 1
        for listener in self.listeners:
            listener.step_ends(phase.rpartition(".")[2].lower(), number)
        return {"step_num": str(number)}
