"""Buffer pool for copies of PyTorch tensors.

Fresh memory makes copying slow, because the operating system allocates it page by page, which takes ten times as long
as the copy itself. A job captures the same shapes at every saved step, so the buffers of a written step serve a later
one.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sagemaker_debug_ext._imports.cuda_runtime import beside_recordings
from sagemaker_debug_ext.hooks.capture.step_buffer import PooledValue
from sagemaker_debug_ext.hooks.pytorch.tensors import PlainTensor, shares_memory, tensor_to_array
from sagemaker_debug_ext.store.format.messages import Array

_IDLE_STEPS: Final = 100
"""After this many consecutive steps without a copy, the memory is freed."""


_COPY_ALL: Final = getattr(torch, "_foreach_copy_", None)
"""A private function of PyTorch, and therefore optional."""


_WORTH_SHARING: Final = 1 << 18
"""At or above this many elements, several threads copy faster than one."""

_AT_ONCE_BYTES: Final = 4 << 20
"""Up to this many bytes are copied in one call without releasing the GIL, which takes at most half a millisecond.

Releasing the GIL takes longer, because it has to be acquired again and other threads evict the processor's cache.
"""

_copy_bytes: Final = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(
    ctypes.cast(ctypes.memmove, ctypes.c_void_p).value or 0
)
"""`ctypes.memmove` without releasing the GIL."""


def _is_shared(num_elements: int) -> bool:
    """Return whether PyTorch copies this many elements on several threads."""
    return num_elements >= _WORTH_SHARING and torch.get_num_threads() > 1


class _Kind(NamedTuple):
    """The tensors that a buffer fits; `device` is the source if the copy may outlast the call."""

    dtype: torch.dtype
    shape: torch.Size
    device: torch.device | None


_ArrayKind: TypeAlias = tuple[np.dtype[Any], tuple[int, ...]]


class PooledArray(PooledValue):
    """A copy of one array in a pooled buffer."""

    __slots__ = ("_kind", "_pool", "address", "array", "nbytes", "shape")

    def __init__(self, kind: _ArrayKind, pool: BufferPool) -> None:
        dtype, shape = kind
        self.array: Array = np.empty(shape, dtype)
        self.address = self.array.ctypes.data
        self.nbytes = self.array.nbytes
        self.shape = self.array.shape
        self._kind = kind
        self._pool = pool

    def to_array(self) -> Array:
        """Return the copy."""
        return self.array

    def release(self) -> None:
        """Return the buffer to the pool."""
        self._pool.take_back(self, self._kind)


class PooledTensor(PooledValue):
    """A copy of one tensor in a pooled CPU buffer."""

    __slots__ = ("_array", "_arrival", "_kind", "_pool", "nbytes", "shape", "tensor")

    def __init__(self, kind: _Kind, pool: BufferPool) -> None:
        with torch.inference_mode(False):  # inference tensors cannot be written to outside inference mode
            self.tensor = torch.empty(kind.shape, dtype=kind.dtype, device="cpu", pin_memory=kind.device is not None)
        self.nbytes: int = self.tensor.nbytes
        self.shape = tuple(kind.shape)
        self._kind = kind
        self._pool = pool
        self._array: Array | None = None
        self._arrival: Any = None if kind.device is None else torch.cuda.Event()  # type: ignore[no-untyped-call]

    def note_arrival(self) -> None:
        """Record the event on the device stream after which the copy is complete."""
        if self._arrival is not None:
            self._arrival.record(torch.cuda.current_stream(self._kind.device))

    def to_array(self) -> Array:
        """Return the copy as an array, which shares its memory if NumPy has the dtype."""
        if self._arrival is not None:
            with beside_recordings():
                self._arrival.synchronize()
        if self._array is not None:
            return self._array
        array = tensor_to_array(self.tensor)
        if shares_memory(self.tensor.dtype):
            self._array = array
        return array

    def release(self) -> None:
        """Return the buffer to the pool."""
        self._pool.take_back(self, self._kind)


class BufferPool:
    """Copies tensors into reusable buffers.

    Args:
        max_free_bytes: The most unused memory to keep.
    """

    def __init__(self, max_free_bytes: int) -> None:
        self._max_free_bytes = max_free_bytes
        self._free: dict[_Kind | _ArrayKind, deque[Any]] = {}
        self._free_bytes = 0
        self._num_idle_steps = 0
        self._is_resting = False
        self._lock = threading.Lock()  # the training thread takes buffers, and the writing thread returns them

    def copy(self, tensor: Tensor) -> PooledTensor:
        """Copy a detached tensor.

        A tensor of another device is copied in stream order, and the copy may be incomplete when this returns.
        """
        made = self._find_memory(tensor)
        made.tensor.copy_(tensor, non_blocking=tensor.is_cuda)
        made.note_arrival()
        return made

    def copy_array(self, source: Array | PlainTensor) -> PooledArray:
        """Copy an array or an ordinary CPU tensor."""
        kind = (source.dtype, source.shape)
        made: PooledArray = self._take(kind) or PooledArray(kind, self)
        if not isinstance(source, PlainTensor):
            np.copyto(made.array, source)
        elif source.is_contiguous and made.nbytes <= _AT_ONCE_BYTES and not _is_shared(source.size):
            _copy_bytes(made.address, source.address, made.nbytes)
        elif source.size >= _WORTH_SHARING:
            torch.from_numpy(made.array).copy_(source.tensor.detach())
        else:
            np.copyto(made.array, source.to_array())
        return made

    def copy_all(self, tensors: Sequence[Tensor]) -> list[PooledTensor]:
        """Copy several tensors as `copy` does, in one call if PyTorch has a function for it."""
        made = [self._find_memory(tensor) for tensor in tensors]
        if _COPY_ALL is None or len(made) < 2:
            for copy, tensor in zip(made, tensors, strict=True):
                copy.tensor.copy_(tensor, non_blocking=tensor.is_cuda)
        else:
            on_device = any(tensor.is_cuda for tensor in tensors)
            _COPY_ALL([copy.tensor for copy in made], list(tensors), non_blocking=on_device)
        for copy in made:
            copy.note_arrival()
        return made

    def _find_memory(self, tensor: Tensor) -> PooledTensor:
        kind = _Kind(tensor.dtype, tensor.shape, tensor.device if tensor.is_cuda else None)
        made: PooledTensor | None = self._take(kind)
        return made or PooledTensor(kind, self)

    def _take(self, kind: _Kind | _ArrayKind) -> Any:
        """Return an unused buffer of a kind, or None if there is none."""
        self._num_idle_steps = 0
        with self._lock:
            self._is_resting = False
            free = self._free.get(kind)
            if not free:
                return None
            made = free.pop()
            self._free_bytes -= made.nbytes
        return made

    def take_back(self, copy: PooledTensor | PooledArray, kind: _Kind | _ArrayKind) -> None:
        """Return the buffer of a copy to the pool; above the limit, free the least recently used buffers."""
        with self._lock:
            if not self._is_resting:
                self._keep(copy, kind)

    def _keep(self, copy: PooledTensor | PooledArray, kind: _Kind | _ArrayKind) -> None:
        self._free_bytes += copy.nbytes
        # The dictionary is ordered by last use, so that the first kind is the oldest.
        free = self._free.pop(kind, None) or deque()
        free.append(copy)
        self._free[kind] = free
        while self._free_bytes > self._max_free_bytes:
            oldest = next(iter(self._free.values()))
            if oldest:
                self._free_bytes -= oldest.popleft().nbytes
            else:
                del self._free[next(iter(self._free))]

    def rest(self, num_more: int = 0) -> None:
        """Count a step without copies, and the known number of such steps to follow.

        After many such steps all memory is freed; the buffers of unwritten copies are freed once they are written.
        """
        self._num_idle_steps += 1
        if self._num_idle_steps + num_more >= _IDLE_STEPS:
            self._is_resting = True
            self.clear()

    def clear(self) -> None:
        """Free all unused memory."""
        with self._lock:
            self._free.clear()
            self._free_bytes = 0
