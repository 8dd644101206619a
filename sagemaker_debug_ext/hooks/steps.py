"""What has been captured of the step that is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import attrs

from sagemaker_debug_ext.hooks.counters import StepPosition
from sagemaker_debug_ext.store.messages import Array
from sagemaker_debug_ext.store.writer import NamedShape, NamedTensor, StepData


class Captured(NamedTuple):
    """A value of the framework's own kind that nothing else will change, and when it was taken."""

    value: Any
    wall_time: float


@attrs.define
class OpenStep:
    """A step between its beginning and the next one's; of several values of one name the last counts.

    Args:
        position: Where the step stands.
    """

    position: StepPosition
    tensors: dict[str, Captured] = attrs.field(factory=dict)
    shapes: dict[str, tuple[int, ...]] = attrs.field(factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tensors or self.shapes)

    @property
    def num_bytes(self) -> int:
        """Memory that the captured values hold."""
        return sum(int(captured.value.nbytes) for captured in self.tensors.values())

    def to_data(self, to_array: Callable[[Any], Array]) -> StepData:
        """Return the step as the store takes it.

        Args:
            to_array: Turns a captured value into an array.
        """
        step, mode, mode_step = self.position
        return StepData(
            step,
            mode,
            mode_step,
            [NamedTensor(name, to_array(value), wall_time) for name, (value, wall_time) in self.tensors.items()],
            [NamedShape(name, shape, name) for name, shape in self.shapes.items()],
        )
