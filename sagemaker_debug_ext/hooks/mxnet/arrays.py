"""MXNet's arrays: found among a block's arguments, copied without waiting for them, and turned into numpy's."""

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
"""How MXNet spells a type that numpy does not have."""


@attrs.frozen(eq=False)
class Parts:
    """A tensor that is the sum of arrays of one shape, as a gradient is of its parts on several contexts.

    Args:
        arrays: The parts, at least one; MXNet may still have to compute them.
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
        """Return a copy in the memory of the CPU.

        MXNet makes it once the arrays are computed, and changes them only afterwards; nobody waits here.
        """
        with autograd.pause():
            return Parts(tuple(_dense(array).copyto(mx.cpu()) for array in self.arrays))

    def to_array(self) -> Array:
        """Wait for the parts and return their sum."""
        arrays: list[Array] = [_dense(array).asnumpy() for array in self.arrays]
        return functools.reduce(operator.add, arrays)


class Reductions:
    """Reductions of a tensor, computed when the first of them is asked for; the tensor is held until then.

    Args:
        parts: A copy of the tensor.
        wanted: What to compute.
    """

    def __init__(self, parts: Parts, wanted: Iterable[Reduction]) -> None:
        self._parts: Parts | None = parts
        self._wanted = tuple(wanted)
        self._found: dict[Reduction, Array] = {}
        self.nbytes_each = parts.nbytes // len(self._wanted)

    def find(self, reduction: Reduction) -> Array:
        """Wait for the tensor if need be, and return one of the reductions."""
        if self._parts is not None:
            array, self._parts = self._parts.to_array(), None
            self._found = {each: reduce_array(array, each) for each in self._wanted}
        return self._found[reduction]


@attrs.frozen(eq=False)
class Reduced:
    """One of the reductions of a tensor, that is still to be computed."""

    reductions: Reductions
    reduction: Reduction

    @property
    def shape(self) -> tuple[int, ...]:
        """That of a number."""
        return ()

    @property
    def nbytes(self) -> int:
        """Its share of the memory that the tensor holds until then."""
        return self.reductions.nbytes_each

    def to_array(self) -> Array:
        """Wait for the tensor if need be, and return the number."""
        return self.reductions.find(self.reduction)


def _dense(array: NDArray) -> NDArray:
    """Return an array laid out in full, of a type that numpy has."""
    if array.stype != "default":
        array = array.tostype("default")
    return array.astype("float32") if array.dtype == _BFLOAT16 else array


def flatten_arrays(values: Any) -> Iterator[NDArray]:
    """Yield the arrays in nested tuples, lists and mappings; what stands for an array in a graph is none."""
    if isinstance(values, NDArray):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from flatten_arrays(value)
    elif isinstance(values, Mapping):
        yield from flatten_arrays(list(values.values()))


def has_symbols(values: Any) -> bool:
    """Tell whether a block is called to describe its graph, and not to compute."""
    if isinstance(values, (tuple, list)):
        return any(has_symbols(value) for value in values)
    return isinstance(values, mx.sym.Symbol)
