"""What has been captured of the step that is open."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.hooks.counters import StepPosition
from sagemaker_debug_ext.store.messages import Array
from sagemaker_debug_ext.store.writer import NamedNumbers, NamedShape, NamedTensor, StepData


class Borrowed(abc.ABC):
    """A captured value in memory that is used again once the value has been written."""

    nbytes: int
    shape: tuple[int, ...]

    @abc.abstractmethod
    def to_array(self) -> Array:
        """Return the value as it is stored; runs on the writing thread."""

    @abc.abstractmethod
    def release(self) -> None:
        """Give the memory back; the value must not be used any more."""


class Captured(NamedTuple):
    """A value of the framework's own kind that nothing else will change, and when it was taken."""

    value: Any
    wall_time: float


class Numbers(NamedTuple):
    """Numbers of one dtype made from one tensor, with the names they are stored under, and when they were taken."""

    names: tuple[str, ...]
    values: Sequence[float]
    dtype: np.dtype[Any]
    wall_time: float


class Shown(NamedTuple):
    """How TensorBoard shows a tensor: as a number or as a histogram, and under which tag."""

    tag: str
    is_scalar: bool


@attrs.define
class OpenStep:
    """A step between its beginning and the next one's; of several values of one name the last counts.

    Args:
        position: Where the step stands.
        tensors: What is to be saved, reductions included unless they are among `numbers`.
        shapes: Shapes to be saved.
        numbers: Reductions to be saved, by the name of their tensor.
        metrics: Names of tensors that are metrics of the job.
        shown: What TensorBoard shows of which tensors.
        only_shown: Values that TensorBoard shows and the trial does not hold.
    """

    position: StepPosition
    tensors: dict[str, Captured] = attrs.field(factory=dict)
    shapes: dict[str, tuple[int, ...]] = attrs.field(factory=dict)
    numbers: dict[str, Numbers] = attrs.field(factory=dict)
    metrics: set[str] = attrs.field(factory=set)
    shown: dict[str, Shown] = attrs.field(factory=dict)
    only_shown: dict[str, Captured] = attrs.field(factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tensors or self.shapes or self.numbers)

    def has(self, name: str) -> bool:
        """Tell whether something of a tensor, besides its shape, has been captured."""
        return name in self.tensors or name in self.numbers

    @property
    def num_bytes(self) -> int:
        """Memory that the captured values hold."""
        held = sum([int(value.nbytes) for some in (self.tensors, self.only_shown) for value, _ in some.values()])
        return held + sum([8 * len(numbers.names) for numbers in self.numbers.values()])

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
            _join(self.numbers.values()),
        )

    def release(self) -> None:
        """Give borrowed memory back, once the step is written."""
        for captured in (*self.tensors.values(), *self.only_shown.values()):
            if isinstance(captured.value, Borrowed):
                captured.value.release()


def _join(numbers: Any) -> list[NamedNumbers]:
    """Put all numbers of one dtype into one array."""
    by_dtype: dict[np.dtype[Any], tuple[list[str], list[float], list[float]]] = {}
    for some in numbers:
        names, values, wall_times = by_dtype.setdefault(some.dtype, ([], [], []))
        names += some.names
        values += some.values
        wall_times += [some.wall_time] * len(some.names)
    with np.errstate(over="ignore"):  # what is too large for the dtype becomes infinite, as the framework's own would
        return [
            NamedNumbers(tuple(names), np.array(values).astype(dtype), tuple(wall_times))
            for dtype, (names, values, wall_times) in by_dtype.items()
        ]
