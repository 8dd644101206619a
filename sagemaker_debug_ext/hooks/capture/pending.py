"""Assign scalars and tensors of the script to steps, and hold them until their step."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final, NamedTuple

from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision, StepPlan
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, PooledValue, StepBuffer
from sagemaker_debug_ext.vocabulary import ModeKeys

SCALAR_PREFIX: Final = "scalar/"
"""Start of the names of numbers of the script."""


class Scalar(NamedTuple):
    """A number, the mode in which it was saved, and whether it is a metric of the job."""

    captured: Captured
    mode: ModeKeys
    is_metric: bool

    def save_with(self, step: StepBuffer, name: str) -> None:
        """Save the number with a step under a name."""
        step.tensors[name] = self.captured
        if self.is_metric:
            step.metrics.add(name)


class PendingScalars:
    """Assigns numbers to the open step if it has their mode, and otherwise to the next step."""

    def __init__(self) -> None:
        self.waiting: dict[str, Scalar] = {}
        """Numbers not assigned to a step yet."""

    def save(self, name: str, scalar: Scalar, step: StepBuffer | None) -> None:
        """Save a number with the open step if that has its mode; otherwise keep it for the next step."""
        if step is not None and step.position.mode is scalar.mode:
            scalar.save_with(step, name)
        else:
            self.waiting[name] = scalar

    def begin(self, step: StepBuffer) -> None:
        """Save the waiting numbers with a step that begins."""
        for name, scalar in self.waiting.items():
            scalar.save_with(step, name)
        self.waiting.clear()

    def flush_to(self, step: StepBuffer, mode: ModeKeys, is_final: bool) -> None:
        """Save with the open step the numbers that would otherwise never get a step of their mode.

        Args:
            step: The open step.
            mode: Mode of the step to come.
            is_final: Whether no step follows.
        """
        for name, scalar in list(self.waiting.items()):
            if is_final or scalar.mode is not mode:
                scalar.save_with(step, name)
                del self.waiting[name]


LOG = logging.getLogger(__name__)


class _Waiting(NamedTuple):
    captured: Captured
    collections: tuple[str, ...]


class PendingTensors:
    """Keeps the last value of each name until it is due.

    Args:
        memory_limit_bytes: How much may wait; the newest value is kept whatever its size, others give way, the oldest
            first.
    """

    def __init__(self, memory_limit_bytes: int) -> None:
        self._memory_limit_bytes = memory_limit_bytes
        self._waiting: dict[str, _Waiting] = {}
        self._held_bytes = 0
        self._has_told = False

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, name: str, captured: Captured, collections: tuple[str, ...]) -> None:
        """Keep a value, and overwrite an earlier value of its name."""
        if name in self._waiting:
            self._drop(name)
        self._waiting[name] = _Waiting(captured, collections)
        self._held_bytes += captured.value.nbytes
        while self._held_bytes > self._memory_limit_bytes and len(self._waiting) > 1:
            oldest = next(iter(self._waiting))
            self._drop(oldest)
            if not self._has_told:
                self._has_told = True
                LOG.warning("tensor %r is not saved: too much waits for a step at which it is due", oldest)

    def take_due(self, plan: StepPlan) -> Iterator[tuple[str, Captured, SaveDecision]]:
        """Remove and yield the due values, with the decision for each."""
        for name, (captured, collections) in list(self._waiting.items()):
            decision = plan.decide_custom(name, collections)
            if decision is not None:
                del self._waiting[name]
                self._held_bytes -= captured.value.nbytes
                yield name, captured, decision

    def _drop(self, name: str) -> None:
        value = self._waiting.pop(name).captured.value
        self._held_bytes -= value.nbytes
        if isinstance(value, PooledValue):
            value.release()
