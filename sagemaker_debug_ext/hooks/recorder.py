"""The last steps of a job, kept in memory until something asks for them."""

from __future__ import annotations

from collections import deque

from sagemaker_debug_ext.hooks.steps import OpenStep


class FlightRecorder:
    """Keeps the last steps, within bounded memory; older ones are forgotten.

    Args:
        num_steps: How many steps to keep at most.
        memory_limit_bytes: How much they may hold; the last step is kept whatever its size.
    """

    def __init__(self, num_steps: int, memory_limit_bytes: int) -> None:
        self._num_steps = num_steps
        self._memory_limit_bytes = memory_limit_bytes
        self._steps: deque[OpenStep] = deque()
        self._num_bytes = 0

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step: OpenStep) -> None:
        """Keep a step, and forget those that there is no longer room for."""
        self._steps.append(step)
        self._num_bytes += step.num_bytes
        while len(self._steps) > 1 and self._is_full():
            oldest = self._steps.popleft()
            self._num_bytes -= oldest.num_bytes
            oldest.release()

    def take(self) -> list[OpenStep]:
        """Hand out what is kept, oldest first, and begin anew."""
        steps = list(self._steps)
        self._steps.clear()
        self._num_bytes = 0
        return steps

    def _is_full(self) -> bool:
        return len(self._steps) > self._num_steps or self._num_bytes > self._memory_limit_bytes
