"""Numbers that scripts save: which step each belongs to, and where it waits for that step."""

from __future__ import annotations

from typing import NamedTuple

from sagemaker_debug_ext.hooks.steps import Captured, OpenStep, Shown
from sagemaker_debug_ext.vocabulary import ModeKeys


class Scalar(NamedTuple):
    """A number, the mode in which it was saved, and whether it is a metric of the job."""

    captured: Captured
    mode: ModeKeys
    is_metric: bool

    def save_with(self, step: OpenStep, name: str, is_shown: bool) -> None:
        """Save the number with a step.

        Args:
            step: The step.
            name: Name to save it under.
            is_shown: Whether TensorBoard shows it.
        """
        step.tensors[name] = self.captured
        if is_shown:
            step.shown[name] = Shown(name, is_scalar=True)
        if self.is_metric:
            step.metrics.add(name)


class Scalars:
    """Gives numbers to the step that is open, if it is of their mode, and to the next one otherwise."""

    def __init__(self) -> None:
        self.waiting: dict[str, Scalar] = {}
        """Numbers that no step has yet."""

    def save(self, name: str, scalar: Scalar, step: OpenStep | None, is_shown: bool) -> None:
        """Save a number with the open step, if there is one of its mode; otherwise it waits."""
        if step is not None and step.position.mode is scalar.mode:
            scalar.save_with(step, name, is_shown)
        else:
            self.waiting[name] = scalar

    def begin(self, step: OpenStep, is_shown: bool) -> None:
        """Give a step that begins the numbers that have waited for it."""
        for name, scalar in self.waiting.items():
            scalar.save_with(step, name, is_shown)
        self.waiting.clear()

    def settle(self, step: OpenStep, mode: ModeKeys, is_last: bool, is_shown: bool) -> None:
        """Give the open step the numbers that waited for a step which is not coming.

        Args:
            step: The open step.
            mode: Mode of the step to come.
            is_last: Whether there is none to come.
            is_shown: Whether TensorBoard shows them.
        """
        for name, scalar in list(self.waiting.items()):
            if is_last or scalar.mode is not mode:
                scalar.save_with(step, name, is_shown)
                del self.waiting[name]
