"""Compute each reduction and statistic of tensors where and when it costs training least.

Small arrays are copied, and reduced together on the writing thread. Arrays that fit the processor's cache are also
copied and reduced there, if copying takes a fraction of the time. All reductions of larger CPU tensors are computed in
one pass, and reductions of device tensors on their device.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.capture.step_buffer import (
    Captured,
    DeferredReductions,
    PendingReduction,
    ReducedValues,
    StepBuffer,
)
from sagemaker_debug_ext.hooks.pytorch.buffer_pool import BufferPool, PooledArray
from sagemaker_debug_ext.hooks.pytorch.statistics.cpu import PrecisionLossError, TensorSummary, can_summarise
from sagemaker_debug_ext.hooks.pytorch.statistics.gpu import DeviceReductions, PartTables, find_kernels
from sagemaker_debug_ext.hooks.pytorch.tensors import PlainTensor, as_dense, reduce_tensor, tensor_to_array
from sagemaker_debug_ext.hooks.statistics.batched import SMALL
from sagemaker_debug_ext.hooks.statistics.numba_loader import kernels_for
from sagemaker_debug_ext.hooks.statistics.reductions import reduction_names, without_output_number
from sagemaker_debug_ext.hooks.statistics.summaries import compute_statistics
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.writer import NamedNumbers

_DTYPES: Final[dict[torch.dtype, np.dtype[Any]]] = {
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
}

_SHORT_FLOATS: Final = frozenset("ef")
"""16-bit and 32-bit float dtypes, by `char`; small arrays of these dtypes are reduced together."""

_FLOATS: Final = frozenset("efd")
"""16-bit, 32-bit and 64-bit float dtypes, by `char`; `TensorSummary` supports them, 16-bit floats when widened."""

COPY_THRESHOLD: Final = 1 << 18
"""Up to this many elements, copying an array and reducing it later in NumPy is faster for training."""

_MIDDLING_COMPILED: Final = 1 << 15
"""The same limit with a compiled loop, which reduces larger arrays as fast as they are copied."""


class _Copied(NamedTuple):
    name: str
    copy: PooledArray
    reductions: tuple[Reduction, ...]
    wall_time: float


class DeferredSummaries:
    """Reductions of copied arrays, computed on the writing thread."""

    def __init__(self) -> None:
        self._copied: dict[str, _Copied] = {}

    @property
    def nbytes(self) -> int:
        """Memory of the copies."""
        return sum([copied.copy.nbytes for copied in self._copied.values()])

    def has(self, name: str) -> bool:
        """Return whether a tensor has been copied."""
        return name in self._copied

    def add(self, name: str, copy: PooledArray, reductions: tuple[Reduction, ...], now: float) -> None:
        """Add a copy of floats; a later copy of the same name replaces it."""
        self._copied[name] = _Copied(name, copy, reductions, now)

    def send(self) -> None:
        """Do nothing, because the copies are on the CPU already."""

    def numbers(self, ddof: int) -> list[NamedNumbers]:  # noqa: ARG002 - `TensorSummary` always uses PyTorch's
        """Compute the reductions, and return the buffers to the pool; runs on the writing thread."""
        found = [_summarise(copied) for copied in self._copied.values()]
        for copied in self._copied.values():
            copied.copy.release()
        self._copied.clear()
        return found


def _summarise(copied: _Copied) -> NamedNumbers:
    """Return the reductions that exist for one array."""
    tensor = torch.from_numpy(copied.copy.array)
    if tensor.element_size() < 4:
        tensor = tensor.to(torch.float32)
    try:
        summary = TensorSummary(tensor, copied.reductions, is_alone=True)
        found = {reduction: summary.value(reduction) for reduction in copied.reductions}
    except PrecisionLossError:
        found = {reduction: number.item() for reduction, number in reduce_tensor(tensor, copied.reductions)}
    named = zip(reduction_names(copied.name, copied.reductions), copied.reductions, strict=True)
    names, values = zip(*[(name, found[reduction]) for name, reduction in named if reduction in found], strict=True)
    with np.errstate(over="ignore"):  # values too large for the dtype become infinite, as in PyTorch
        numbers = np.array(values).astype(_DTYPES[tensor.dtype])
    return NamedNumbers(names, numbers, [copied.wall_time] * len(names))


def _summarise_now(step: StepBuffer, name: str, value: Tensor, reductions: tuple[Reduction, ...], now: float) -> bool:
    """Save all reductions of a CPU tensor with a step; return False if one pass would lose precision."""
    dense = as_dense(value)
    if dense.element_size() < 4:
        dense = dense.to(torch.float32)
    if not can_summarise(dense):
        return False
    try:
        summary = TensorSummary(dense, reductions)
        values = [summary.value(reduction) for reduction in reductions]
    except PrecisionLossError:
        return False
    step.numbers[name] = ReducedValues(reduction_names(name, reductions), values, _DTYPES[dense.dtype], now)
    return True


class Reducer:
    """Fast paths of reductions; the hook reduces the remaining tensors.

    Args:
        copies: The pool for copies of small arrays.
        may_copy: Whether larger arrays may be copied as well; False with a flight recorder, whose memory copies fill.
    """

    def __init__(self, copies: BufferPool, may_copy: bool = True) -> None:
        self._copies = copies
        self._may_copy = may_copy
        self._num_device_rows = 0
        self._tables = PartTables()
        self._is_collecting = False

    def take(self, step: StepBuffer, name: str, value: Any, reductions: tuple[Reduction, ...], now: float) -> bool:
        """Save reductions of a tensor or an array with a step; return False if no fast path applies."""
        if isinstance(value, Tensor) and self._reduce_on_device(step, name, value, reductions, now):
            return True
        is_array = isinstance(value, (PlainTensor, np.ndarray))
        if is_array and value.dtype.char in _SHORT_FLOATS and value.size <= SMALL:
            step.small[name] = PendingReduction(Captured(self._copies.copy_array(value), now), reductions)
            return True
        if isinstance(value, PlainTensor):
            value = value.to_array()
        if isinstance(value, np.ndarray) and value.dtype.char in _FLOATS:
            if self._may_copy and value.size <= (COPY_THRESHOLD if kernels_for(value) is None else _MIDDLING_COMPILED):
                self._later(step).add(name, self._copies.copy_array(value), reductions, now)
                return True
            if value.flags.writeable:  # because PyTorch warns about read-only arrays
                value = torch.from_numpy(value)
        if isinstance(value, Tensor) and value.device.type == "cpu" and value.is_floating_point():
            return _summarise_now(step, name, value, reductions, now)
        return False

    def take_statistics(
        self, step: StepBuffer, name: str, value: Tensor, statistics: tuple[str, ...], now: float
    ) -> bool:
        """Save statistics of a tensor with a step; return False if its device cannot compute them."""
        batch = self._device_batch(step, value)
        single = tuple([Reduction(statistic) for statistic in statistics if statistic != "histogram"])
        if batch is None or not batch.can_summarise(value, single):
            return False
        bare = without_output_number(name)
        names = tuple([reduction_tensor_name(statistic, False, bare) for statistic, _ in single])
        batch.summarise(name, as_dense(value), single, now, names, at_once=not self._is_collecting)
        if len(single) < len(statistics):
            for statistic, number in compute_statistics(tensor_to_array(as_dense(value)), ("histogram",)).items():
                step.tensors[reduction_tensor_name(statistic, False, bare)] = Captured(number, now)
        return True

    @contextlib.contextmanager
    def together(self, step: StepBuffer) -> Iterator[None]:
        """Summarize the device tensors that are taken within the context when it ends, in few launches."""
        self._is_collecting = True
        try:
            yield
        finally:
            self._is_collecting = False
            for batch in step.deferred:
                if isinstance(batch, DeviceReductions):
                    batch.launch()

    def send(self, deferred: Iterable[DeferredReductions]) -> None:
        """Start the transfer of device results to the CPU at the end of a step."""
        for reductions in deferred:
            if isinstance(reductions, DeviceReductions):
                self._num_device_rows = max(self._num_device_rows, reductions.num_rows)
            reductions.send()

    def clear(self) -> None:
        """Free the memory that is kept on devices for steps to come."""
        self._tables.clear()

    def _reduce_on_device(
        self, step: StepBuffer, name: str, value: Tensor, reductions: tuple[Reduction, ...], now: float
    ) -> bool:
        """Reduce a tensor on its device, and return whether that was possible."""
        batch = self._device_batch(step, value)
        if batch is None:
            return False
        if batch.can_summarise(value, reductions):
            batch.summarise(name, as_dense(value), reductions, now, at_once=not self._is_collecting)
            return True
        if not value.is_floating_point() or value.element_size() > 4:
            return False  # what is transferred together are 32-bit floats
        names = reduction_names(name, reductions)
        for reduction, number in reduce_tensor(value, reductions):
            batch.add(names[reductions.index(reduction)], number, now)
        return True

    def _device_batch(self, step: StepBuffer, value: Tensor) -> DeviceReductions | None:
        """Return the collector of reductions on a tensor's device, or None for a CPU tensor."""
        if not self._is_on_device(value):
            return None
        for batch in step.deferred:
            if isinstance(batch, DeviceReductions) and batch.device == value.device:
                return batch
        batch = DeviceReductions(value.device, find_kernels(value.device), self._tables, self._num_device_rows)
        step.deferred.append(batch)
        return batch

    def _later(self, step: StepBuffer) -> DeferredSummaries:
        """Return the collector of the copies of a step."""
        for summaries in step.deferred:
            if isinstance(summaries, DeferredSummaries):
                return summaries
        later = DeferredSummaries()
        step.deferred.append(later)
        return later

    def _is_on_device(self, value: Tensor) -> bool:
        return value.is_cuda
