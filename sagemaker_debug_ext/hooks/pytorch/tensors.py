"""Copy PyTorch tensors, reduce them on their device, and convert them to arrays."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.errors import MissingDependencyError, SMDebugTypeError
from sagemaker_debug_ext.store.format.messages import Array

LOG = logging.getLogger(__name__)

_OPERATIONS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    "min": torch.min,
    "max": torch.max,
    "mean": torch.mean,
    "std": torch.std,
    "variance": torch.var,
    "sum": torch.sum,
    "prod": torch.prod,
    "l1": lambda tensor: torch.linalg.vector_norm(tensor, 1),
    "l2": lambda tensor: torch.linalg.vector_norm(tensor, 2),
}
"""Spread is unbiased and norms are entrywise (store format, section 2.6)."""

_COUNTING: Final = frozenset({"min", "max", "sum", "prod"})
"""Operations that return an integer for integers."""

_WIDENED: Final = {
    torch.uint16: torch.int32,
    torch.uint32: torch.int64,
    torch.uint64: torch.float64,
    torch.complex32: torch.complex64,
}
"""dtypes for which PyTorch has no min and max, or no sum, and the wider dtypes in which they are reduced."""

_WITHOUT_NUMPY: Final = {
    torch.bfloat16: ("bfloat16", torch.int16),
    torch.float8_e5m2: ("float8_e5m2", torch.uint8),
    torch.float8_e4m3fn: ("float8_e4m3fn", torch.uint8),
}
"""dtypes that NumPy gets from ml_dtypes only: their name in ml_dtypes, and an integer dtype of the same size."""

_NUMPY_DTYPES: Final = frozenset(
    {
        torch.float16,
        torch.float32,
        torch.float64,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
        torch.bool,
        torch.complex64,
        torch.complex128,
    }
)


_ARRAY_DTYPES: Final = {dtype: torch.empty(0, dtype=dtype, device="cpu").numpy().dtype for dtype in _NUMPY_DTYPES}
_PLAIN_DTYPES: Final = frozenset(_ARRAY_DTYPES.values())
_PLAIN_TYPES: Final = (Tensor, torch.nn.Parameter)


class PlainTensor:
    """The memory of a CPU tensor whose dtype NumPy has, with few calls into PyTorch.

    It keeps the tensor alive. `Tensor.numpy` is not used because it makes the memory permanently non-resizable, and
    sharding libraries free memory by resizing it.

    Args:
        tensor: The tensor.

    Raises:
        RuntimeError: The tensor belongs to a function transform, and has no memory of its own.
    """

    __slots__ = ("address", "dtype", "shape", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.dtype: np.dtype[Any] = _ARRAY_DTYPES[tensor.dtype]
        self.shape = tensor.shape
        self.address = tensor.data_ptr()

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.tensor.numel()

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are in order and without gaps."""
        return self.tensor.is_contiguous()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        width = self.dtype.itemsize
        return {
            "version": 3,
            "typestr": self.dtype.str,
            "shape": self.shape,
            "strides": None if self.is_contiguous else tuple([width * stride for stride in self.tensor.stride()]),
            "data": (self.address, False),
        }

    def to_array(self) -> Array:
        """Return an array that shares the memory."""
        if 0 in self.shape:  # an empty tensor has no memory, which earlier NumPy releases require
            return np.empty(self.shape, self.dtype)
        return np.asarray(self)


def array_over(tensor: Tensor) -> Array:
    """Return an array that shares the memory of a CPU tensor whose dtype NumPy has."""
    return PlainTensor(tensor).to_array()


def plain_tensor(tensor: Tensor) -> PlainTensor | None:
    """Return the memory of an ordinary CPU tensor, or None for any other tensor.

    This is the fast path for most tensors, because no call in it releases the GIL.
    """
    if (
        type(tensor) not in _PLAIN_TYPES
        or not tensor.is_cpu
        or tensor.layout is not torch.strided
        or tensor.dtype not in _NUMPY_DTYPES
        or tensor.is_conj()
        or tensor.is_neg()
    ):
        return None
    try:
        plain = PlainTensor(tensor)
    except RuntimeError:
        return None
    return plain if plain.address else None


def is_plain(array: Array) -> bool:
    """Return whether PyTorch has the dtype of an array, including its byte order."""
    return array.dtype in _PLAIN_DTYPES


def can_capture(tensor: Tensor) -> bool:
    """Return whether a tensor holds data of its own that this process can read.

    Tensors without data or with freed memory cannot be captured. Neither can quantised and nested tensors, tensors of
    libraries that keep the data elsewhere or in parts, and tensors of functions transformed by `torch.func`.
    """
    if tensor.is_meta or tensor.is_quantized or tensor.is_nested:
        return False
    if type(tensor).__torch_dispatch__ is not Tensor.__torch_dispatch__:
        return False
    try:
        return tensor.layout is not torch.strided or tensor.data_ptr() != 0
    except RuntimeError:
        return False


@functools.cache
def can_store(dtype: torch.dtype) -> bool:
    """Return whether tensors of a dtype can be copied and converted to arrays that the store accepts."""
    if dtype in _NUMPY_DTYPES or dtype in _WITHOUT_NUMPY:
        return True
    try:
        tensor_to_array(torch.empty(1, dtype=dtype, device="cpu").clone())
    except (RuntimeError, TypeError):
        return False
    return True


def check_can_store(dtype: torch.dtype) -> None:
    """Raise if a dtype cannot be stored.

    Raises:
        SMDebugTypeError: The dtype cannot be stored.
    """
    if not can_store(dtype):
        raise SMDebugTypeError(f"there is no way to store {dtype}")


def capturable(tensor: Tensor) -> Tensor | None:
    """Return a tensor as a plain `Tensor`, or None if it holds no data that this process can read.

    Raises:
        SMDebugTypeError: The dtype cannot be stored.
    """
    plain = without_subclass(tensor)
    if not can_capture(plain):
        return None
    check_can_store(plain.dtype)
    return plain


def is_single(tensor: Tensor) -> bool:
    """Return whether a tensor is a single number."""
    return not tensor.is_nested and tensor.numel() == 1


def without_subclass(tensor: Tensor) -> Tensor:
    """Return a detached plain `Tensor` if the subclass only extends `Tensor`; otherwise return the tensor itself.

    No method of the subclass is called, because it may record or change operations on its tensors.
    """
    kind = type(tensor)
    if kind in _PLAIN_TYPES or kind.__torch_dispatch__ is not Tensor.__torch_dispatch__:
        return tensor
    with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001 - the documented API
        return Tensor.detach(tensor)


def copy_tensor(tensor: Tensor) -> Tensor:
    """Copy a tensor to the CPU in one pass."""
    dense = as_dense(tensor)
    if dense.device.type != "cpu":
        return dense.to("cpu")
    if tensor.layout is not torch.strided:
        return dense  # a new tensor that nothing else references
    return dense.clone(memory_format=torch.contiguous_format)


def tensor_to_array(tensor: Tensor) -> Array:
    """Convert a copied or reduced tensor to an array.

    bfloat16 and float8 dtypes are kept if ml_dtypes is installed. Otherwise they become float32, which represents all
    their values.
    """
    tensor = tensor.cpu()
    if tensor.dtype in _WITHOUT_NUMPY:
        name, bits = _WITHOUT_NUMPY[tensor.dtype]
        try:
            extension = getattr(import_optional("ml_dtypes", f"Saving dtype {name}"), name)
        except MissingDependencyError:
            tensor = tensor.to(torch.float32)
        else:
            array: Array = array_over(tensor.view(bits)).view(extension)
            return array
    elif tensor.dtype not in _NUMPY_DTYPES:
        tensor = tensor.to(torch.complex64 if tensor.is_complex() else torch.float32)
    return array_over(tensor.resolve_conj().resolve_neg())


def shares_memory(dtype: torch.dtype) -> bool:
    """Return whether `tensor_to_array` converts tensors of a dtype without a copy."""
    return dtype in _NUMPY_DTYPES


def reduce_tensor(tensor: Tensor, reductions: Iterable[Reduction]) -> Iterator[tuple[Reduction, Tensor]]:
    """Yield reductions of a tensor as zero-dimensional tensors on its device.

    Integers are reduced in float64 if the result need not be an integer, and floats below 32 bits in float32. The
    spread of a single element is NaN. Complex tensors have no min and max.
    """
    dense = as_dense(tensor)
    if dense.dtype is torch.bool:
        dense = dense.to(torch.uint8)
    elif dense.is_floating_point() and dense.element_size() < 4:
        dense = dense.to(torch.float32)
    else:
        dense = dense.to(_WIDENED.get(dense.dtype, dense.dtype))
    for reduction in reductions:
        if dense.is_complex() and not reduction.abs and reduction.name in ("min", "max"):
            LOG.debug("%s of complex numbers does not exist", reduction.name)
            continue
        yield reduction, _reduce(dense, reduction)


def _reduce(tensor: Tensor, reduction: Reduction) -> Tensor:
    if not (tensor.is_floating_point() or tensor.is_complex()) and reduction.name not in _COUNTING:
        tensor = tensor.to(torch.float64)
    if reduction.abs:
        tensor = tensor.abs()
    if reduction.name in ("std", "variance") and tensor.numel() < 2:
        return torch.full((), torch.nan, dtype=tensor.real.dtype, device=tensor.device)
    return _OPERATIONS[reduction.name](tensor)


def as_dense(tensor: Tensor) -> Tensor:
    """Return a tensor's own data, dense and detached, so that no result derived from it has a gradient."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_complex():
        tensor = tensor.resolve_conj()
    return tensor.resolve_neg() if tensor.is_neg() else tensor


def flatten_tensors(values: Any) -> list[Tensor]:
    """Return the tensors in nested tuples, lists, mappings and dataclasses.

    A container that contains itself is visited once.
    """
    if isinstance(values, Tensor):
        return [values]
    found: list[Tensor] = []
    if not _collect(values, found, set(), each_once=False):
        found.clear()
        # A cyclic structure may have exponentially many paths, so that the second pass enters each container once.
        _collect(values, found, set(), each_once=True)
    return found


def _collect(values: Any, found: list[Tensor], entered: set[int], each_once: bool) -> bool:
    """Add the tensors in `values`, which is not a tensor itself; return whether no container contains itself.

    Args:
        values: The container to search.
        found: The list to which tensors are added.
        entered: The `id` of every container around `values`.
        each_once: Skip every container entered before, not only the containers around `values`.
    """
    members: Iterable[Any]
    if isinstance(values, (tuple, list)):
        members = values
    elif isinstance(values, Mapping):
        members = values.values()
    elif dataclasses.is_dataclass(values) and not isinstance(values, type):
        # A field with `init=False` may be unset.
        members = [getattr(values, field.name, None) for field in dataclasses.fields(values)]
    else:
        return True
    place = id(values)
    if place in entered:
        return each_once
    entered.add(place)
    for member in members:
        if isinstance(member, Tensor):
            found.append(member)
        elif member is not None and not _collect(member, found, entered, each_once):
            return False
    if not each_once:
        entered.discard(place)
    return True
