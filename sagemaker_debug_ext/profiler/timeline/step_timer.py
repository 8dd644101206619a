"""`StepTimer`: finds whole steps in what a training loop does.

A step begins when a batch has arrived, and ends when the next batch is asked for. In loops without a data loader a step
ends with the last update before an optimizer updates again. A step in which no gradients are computed is one of
evaluation. Checkpoints are no part of steps.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, cast

TRAIN: Final = "Step:ModeKeys.TRAIN"
EVAL: Final = "Step:ModeKeys.EVAL"
PREDICT: Final = "Step:ModeKeys.PREDICT"
FORWARD: Final = "Forward"
BACKWARD: Final = "Backward(post-forward)"
OPTIMIZER: Final = "Optimizer"
CHECKPOINT: Final = "Checkpoint"

_MIN_EVAL_NS: Final = 50_000
"""Batches that are only handed on, as by loaders that fetch one ahead, take less."""

_MODES: Final = {phase: phase.rpartition(".")[2].lower() for phase in (TRAIN, EVAL, PREDICT)}

Event: TypeAlias = tuple[str, str, int, int, Mapping[str, Any]]
"""Phase, name, start, end and arguments."""

AddEvent: TypeAlias = Callable[[str, str, int, int, Mapping[str, Any]], object]
Defer: TypeAlias = Callable[..., object]

Part: TypeAlias = tuple[str, str, int, int, Any, Any]
"""A backward pass or an update: phase, name, start, end, and the marks of start and end."""


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
        """Add the parts of a step: their names, and the marks of their starts and ends."""

    def facts(self, now: int) -> Mapping[str, Any]:
        """Return facts about the device for a step that ends now."""


class StepTimer:
    """Turns the calls of a training loop into events; not thread-safe.

    It is called several times a step, on the training thread. So it only notes times, and leaves the rest to `defer`.

    Args:
        defer: Takes a function that returns events, and its arguments, to call it later.
        clock: Nanoseconds that only grow.

    Attributes:
        listeners: Who hears of steps.
        device: The clock of a device; None without one.
        num_steps: How many steps have ended, of all modes.
    """

    def __init__(self, defer: Defer, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._defer = defer
        self._add: AddEvent = functools.partial(defer, alone)
        self.clock = clock
        self.num_steps = 0
        self.listeners: list[StepListener] = []
        self.device: DeviceClock | None = None
        self._numbers = {TRAIN: 0, EVAL: 0, PREDICT: 0}
        self._start: int | None = None
        self._idle_since: int | None = None
        self._loader = 0
        self._parts: list[Part] = []
        self._part_start = 0
        self._start_mark: Any = None
        self._part_mark: Any = None
        self._updated: set[int] = set()

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
        if self.device is not None:
            self._part_mark = self.device.mark()

    def backward_ends(self) -> None:
        """Note the end of a backward pass."""
        end = self.clock()
        mark = None if self.device is None else self.device.mark()
        self._parts.append((BACKWARD, "backward", self._part_start, end, self._part_mark, mark))

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
        mark = None if self.device is None else self.device.mark()
        self._parts.append((OPTIMIZER, name, self._part_start, end, None, mark))

    # --- whole steps and gaps -----------------------------------------------------------------------------------------

    def whole_step(self, phase: str, start: int) -> None:
        """Add a step that ends now, whose framework says where it begins and ends.

        Args:
            phase: `TRAIN`, `EVAL` or `PREDICT`.
            start: When it began.
        """
        self._add(phase, phase, start, self.clock(), _facts(self._count(phase)))

    def step_begins(self) -> None:
        """Notify the listeners that a step begins."""
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
            self._close(self._parts[-1][3])

    # --- inside -------------------------------------------------------------------------------------------------------

    def _open(self, start: int, mark: Any = None) -> None:
        self._start, self._idle_since = start, None
        if self.device is not None:
            self._start_mark = self.device.mark() if mark is None else mark
        self._parts = []
        self._updated.clear()
        if self.listeners:
            self.step_begins()

    def _split(self) -> None:
        """End the open step with its last update; what came after that belongs to the next one."""
        num_parts = max((place for place, part in enumerate(self._parts, 1) if part[0] is OPTIMIZER), default=0)
        if not num_parts:  # the update before this one has failed
            return
        later = self._parts[num_parts:]
        del self._parts[num_parts:]
        _, _, _, end, _, end_mark = self._parts[-1]
        self._close(end)
        self._open(end, end_mark)
        self._parts += later

    def _close(self, end: int, is_batch_used: bool = False) -> None:
        start, self._start = self._start, None
        if start is None:
            return
        if not self._parts:
            if is_batch_used and end - start >= _MIN_EVAL_NS:
                self._add(EVAL, EVAL, start, end, _facts(self._count(EVAL)))
            return
        number, parts = self._count(TRAIN), self._parts
        self._parts = []
        if self.device is None:
            self._defer(_step_events, start, end, parts, number)
        else:
            self._defer(_step_events, start, end, parts, number, self.device.facts(end))
            self.device.add(_device_spans(parts, self._start_mark), _facts(number))

    def _count(self, phase: str) -> int:
        """Count a step that has ended, and return its number within its mode."""
        number = self._numbers[phase]
        self._numbers[phase] = number + 1
        self.num_steps += 1
        for listener in self.listeners:
            listener.step_ends(_MODES[phase], number)
        return number


def alone(*event: Any) -> tuple[Event]:
    """Return a single event, for what takes several."""
    return (cast("Event", event),)


def _facts(number: int) -> dict[str, str]:
    return {"step_num": str(number)}


def _step_events(
    start: int, end: int, parts: Sequence[Part], number: int, device_facts: Mapping[str, Any] | None = None
) -> Iterator[Event]:
    """Yield the events of a training step."""
    arguments = _facts(number)
    before = start
    for phase, name, part_start, part_end, _, _ in parts:
        if phase is BACKWARD and part_start > before:
            yield FORWARD, "forward", before, part_start, arguments
        yield phase, name, part_start, part_end, arguments
        before = part_end
    yield TRAIN, TRAIN, start, end, {**arguments, **(device_facts or {})}


def _device_spans(parts: Sequence[Part], start_mark: Any) -> list[tuple[str, Any, Any]]:
    spans, before = [], start_mark
    for phase, _, _, _, mark, end_mark in parts:
        if phase is BACKWARD:
            spans += [("forward", before, mark), ("backward", mark, end_mark)]
        else:
            spans.append(("optimizer", before, end_mark))
        before = end_mark
    return spans
