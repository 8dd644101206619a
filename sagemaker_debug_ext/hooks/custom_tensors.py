"""Tensors that scripts save: they wait, within bounded memory, for a step at which one of their collections is due."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

from sagemaker_debug_ext.hooks.decisions import Decision, StepPlan
from sagemaker_debug_ext.hooks.steps import Borrowed, Captured

LOG = logging.getLogger(__name__)


class _Waiting(NamedTuple):
    captured: Captured
    collections: tuple[str, ...]


class CustomTensors:
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
        """Keep a value, in place of an earlier one of its name."""
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

    def take_due(self, plan: StepPlan) -> Iterator[tuple[str, Captured, Decision]]:
        """Hand out what is due, and what of each is to be saved."""
        for name, (captured, collections) in list(self._waiting.items()):
            decision = plan.decide_custom(name, collections)
            if decision is not None:
                del self._waiting[name]
                self._held_bytes -= captured.value.nbytes
                yield name, captured, decision

    def _drop(self, name: str) -> None:
        value = self._waiting.pop(name).captured.value
        self._held_bytes -= value.nbytes
        if isinstance(value, Borrowed):
            value.release()
