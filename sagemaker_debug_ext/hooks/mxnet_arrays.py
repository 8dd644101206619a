"""MXNet's arrays: found among a block's arguments, copied without waiting for them, and turned into numpy's."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import mxnet as mx
import numpy as np
from mxnet import autograd
from mxnet.ndarray import NDArray

from sagemaker_debug_ext.store.messages import Array

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


def _dense(array: NDArray) -> NDArray:
    """Return an array laid out in full, of a type that numpy has."""
    if array.stype != "default":
        array = array.tostype("default")
    return array.astype("float32") if array.dtype == _BFLOAT16 else array


def arrays_in(values: Any) -> Iterator[NDArray]:
    """Yield the arrays in nested tuples, lists and mappings; what stands for an array in a graph is none."""
    if isinstance(values, NDArray):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from arrays_in(value)
    elif isinstance(values, Mapping):
        yield from arrays_in(list(values.values()))


def has_symbols(values: Any) -> bool:
    """Tell whether a block is called to describe its graph, and not to compute."""
    if isinstance(values, (tuple, list)):
        return any(has_symbols(value) for value in values)
    return isinstance(values, mx.sym.Symbol)
