"""What ``hook.step`` is: a number to read, and a call that ends the step."""

from __future__ import annotations

from collections.abc import Callable


class StepNumber(int):
    """The number of a step, which scripts read, and which ends the step when called."""

    _end: Callable[[], None]

    def __new__(cls, number: int, end: Callable[[], None]) -> StepNumber:
        """Make the number of a step that `end` ends."""
        made = super().__new__(cls, number)
        made._end = end
        return made

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)  # a checkpoint that holds the number does not hold the hook

    def __call__(self) -> None:
        """End the step: the next forward pass of a model begins another one."""
        self._end()
