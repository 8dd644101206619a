"""Values captured in one step."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import attrs
import numpy as np

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.statistics.batched import reduce_arrays
from sagemaker_debug_ext.hooks.statistics.reductions import batched_reduction_names
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.writer import NamedNumbers, NamedShape, NamedTensor, StepData


class PooledValue(abc.ABC):
    """A captured value in a pooled buffer; `release()` returns the buffer."""

    nbytes: int
    shape: tuple[int, ...]

    @abc.abstractmethod
    def to_array(self) -> Array:
        """Return the value as it is stored; runs on the writing thread."""

    @abc.abstractmethod
    def release(self) -> None:
        """Return the buffer to its pool; the value must not be used afterwards."""


class Captured(NamedTuple):
    """A copied value of the framework, which nothing else changes, and its time of capture."""

    value: Any
    wall_time: float


class ReducedValues(NamedTuple):
    """Numbers of one dtype made from one tensor, with the names they are stored under, and when they were taken."""

    names: tuple[str, ...]
    values: Sequence[float]
    dtype: np.dtype[Any]
    wall_time: float


class PendingReduction(NamedTuple):
    """A small captured array that only its reductions are saved of."""

    captured: Captured
    reductions: tuple[Reduction, ...]


class DeferredReductions(Protocol):
    """Reductions that may be incomplete when a step ends."""

    @property
    def nbytes(self) -> int:
        """Memory of the reductions."""

    def has(self, name: str) -> bool:
        """Return whether reductions of a tensor are included."""

    def send(self) -> None:
        """Start the transfer of the reductions at the end of the step."""

    def numbers(self, ddof: int) -> list[NamedNumbers]:
        """Wait for the reductions and return them; runs on the writing thread."""


class SummarySpec(NamedTuple):
    """How TensorBoard shows a tensor: as a number or as a histogram, and under which tag."""

    tag: str
    is_scalar: bool


@attrs.define
class StepBuffer:
    """A step between its beginning and the next one's; of several values of one name the last counts.

    Args:
        position: Where the step stands.
        tensors: What is to be saved, reductions included unless they are among `numbers`.
        shapes: Shapes to be saved.
        numbers: Reductions to be saved, by the name of their tensor.
        small: Arrays of at most 32-bit floats that are reduced all at once when the step is written, by name.
        deferred: Reductions that are computed elsewhere.
        metrics: Names of tensors that are metrics of the job.
        summaries: What TensorBoard shows of which tensors.
        summary_values: Values that TensorBoard shows and the trial does not hold.
        reduction_ddof: The framework's delta degrees of freedom in `std` and `variance`.
    """

    position: StepPosition
    tensors: dict[str, Captured] = attrs.field(factory=dict)
    shapes: dict[str, tuple[int, ...]] = attrs.field(factory=dict)
    numbers: dict[str, ReducedValues] = attrs.field(factory=dict)
    small: dict[str, PendingReduction] = attrs.field(factory=dict)
    deferred: list[DeferredReductions] = attrs.field(factory=list)
    metrics: set[str] = attrs.field(factory=set)
    summaries: dict[str, SummarySpec] = attrs.field(factory=dict)
    summary_values: dict[str, Captured] = attrs.field(factory=dict)
    reduction_ddof: int = 0
    is_released: bool = attrs.field(default=False, init=False)
    """Whether the step is written or dropped, so that its values may have been overwritten."""

    def __bool__(self) -> bool:
        return bool(self.tensors or self.shapes or self.numbers or self.small or self.deferred)

    def has(self, name: str) -> bool:
        """Return whether something of a tensor, besides its shape, has been captured."""
        is_here = name in self.tensors or name in self.numbers or name in self.small
        return is_here or any(reductions.has(name) for reductions in self.deferred)

    @property
    def num_bytes(self) -> int:
        """Memory that the captured values hold."""
        held = sum([int(captured.value.nbytes) for captured in self._all_captured()])
        held += sum([reductions.nbytes for reductions in self.deferred])
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
            [
                *_join(self.numbers.values()),
                *self._reduce_small(to_array),
                *itertools.chain(*[reductions.numbers(self.reduction_ddof) for reductions in self.deferred]),
            ],
        )

    def release(self) -> None:
        """Return pooled buffers once the step is written or dropped."""
        if self.is_released:
            return
        self.is_released = True
        for captured in self._all_captured():
            if isinstance(captured.value, PooledValue):
                captured.value.release()

    def _all_captured(self) -> list[Captured]:
        return [
            *self.tensors.values(),
            *self.summary_values.values(),
            *[small.captured for small in self.small.values()],
        ]

    def _reduce_small(self, to_array: Callable[[Any], Array]) -> list[NamedNumbers]:
        members: dict[tuple[Reduction, ...], list[tuple[str, Captured]]] = {}
        for name, (captured, reductions) in self.small.items():
            members.setdefault(reductions, []).append((name, captured))
        found = []
        for reductions, alike in members.items():
            arrays = [to_array(captured.value) for _, captured in alike]
            values = reduce_arrays(arrays, reductions, self.reduction_ddof)
            names = batched_reduction_names(tuple([name for name, _ in alike]), reductions)
            times = np.repeat([captured.wall_time for _, captured in alike], len(reductions))
            with np.errstate(over="ignore"):  # as in `_join`
                found.append(NamedNumbers(names, values.reshape(-1).astype(np.float32), times))
        return found


def _join(reduced: Iterable[ReducedValues]) -> list[NamedNumbers]:
    """Join all numbers of one dtype in one array."""
    by_dtype: dict[np.dtype[Any], tuple[list[str], list[float], list[float]]] = {}
    for numbers in reduced:
        names, values, wall_times = by_dtype.setdefault(numbers.dtype, ([], [], []))
        names += numbers.names
        values += numbers.values
        wall_times += [numbers.wall_time] * len(numbers.names)
    with np.errstate(over="ignore"):  # what is too large for the dtype becomes infinite, as the framework's own would
        return [
            NamedNumbers(tuple(names), np.array(values).astype(dtype), tuple(wall_times))
            for dtype, (names, values, wall_times) in by_dtype.items()
        ]
