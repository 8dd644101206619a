"""MXNet arrays: finding them among a block's arguments, asynchronous copies, and conversion to numpy."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import mxnet as mx
import numpy as np
from mxnet import autograd
from mxnet.ndarray import NDArray

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.statistics.reductions import reduce_array
from sagemaker_debug_ext.store.format.messages import Array

_BFLOAT16 = np.dtype([("bfloat16", np.uint16)])
"""MXNet's representation of bfloat16, which numpy lacks."""


@attrs.frozen(eq=False)
class Parts:
    """A tensor that is the sum of arrays of the same shape, such as a gradient with parts on several contexts.

    Args:
        arrays: The parts, at least one; MXNet may not have computed them yet.
    """

    arrays: tuple[NDArray, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of each part, and of the sum."""
        return tuple(self.arrays[0].shape)

    @property
    def nbytes(self) -> int:
        """Memory of all parts."""
        return sum(np.dtype(array.dtype).itemsize * int(array.size) for array in self.arrays)

    def copy(self) -> Parts:
        """Return a copy in CPU memory.

        The copy is asynchronous: MXNet makes it when the arrays are computed, and modifies them only afterwards.
        """
        with autograd.pause():
            return Parts(tuple(_dense(array).copyto(mx.cpu()) for array in self.arrays))

    def to_array(self) -> Array:
        """Wait for the parts and return their sum."""
        arrays: list[Array] = [_dense(array).asnumpy() for array in self.arrays]
        return functools.reduce(operator.add, arrays)


class Reductions:
    """Reductions of a tensor, computed when the first one is requested; the tensor is held until then.

    Args:
        parts: A copy of the tensor.
        wanted: The reductions to compute.
    """

    def __init__(self, parts: Parts, wanted: Iterable[Reduction]) -> None:
        self._parts: Parts | None = parts
        self._wanted = tuple(wanted)
        self._found: dict[Reduction, Array] = {}
        self.nbytes_each = parts.nbytes // len(self._wanted)

    def find(self, reduction: Reduction) -> Array:
        """Return one of the reductions; wait for the tensor if necessary."""
        if self._parts is not None:
            array, self._parts = self._parts.to_array(), None
            self._found = {wanted: reduce_array(array, wanted) for wanted in self._wanted}
        return self._found[reduction]


@attrs.frozen(eq=False)
class Reduced:
    """One reduction of a tensor, computed on demand."""

    reductions: Reductions
    reduction: Reduction

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a scalar."""
        return ()

    @property
    def nbytes(self) -> int:
        """The reduction's share of the memory of the tensor, which is held until the reduction is computed."""
        return self.reductions.nbytes_each

    def to_array(self) -> Array:
        """Return the number; wait for the tensor if necessary."""
        return self.reductions.find(self.reduction)


def _dense(array: NDArray) -> NDArray:
    """Return a dense array with a dtype that numpy supports."""
    if array.stype != "default":
        array = array.tostype("default")
    return array.astype("float32") if array.dtype == _BFLOAT16 else array


def flatten_arrays(values: Any) -> Iterator[NDArray]:
    """Yield the arrays in nested tuples, lists and mappings; symbols are skipped."""
    if isinstance(values, NDArray):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from flatten_arrays(value)
    elif isinstance(values, Mapping):
        yield from flatten_arrays(list(values.values()))


def has_symbols(values: Any) -> bool:
    """Return whether a block is called with symbols, to build its graph."""
    if isinstance(values, (tuple, list)):
        return any(has_symbols(value) for value in values)
    return isinstance(values, mx.sym.Symbol)
