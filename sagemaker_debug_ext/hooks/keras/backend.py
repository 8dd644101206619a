"""Values of Keras' back ends: recognition, snapshots and conversion to arrays.

Tensors of TensorFlow are immutable, and reading a variable returns a tensor that later updates do not modify, because
TensorFlow copies on write. Such values are copied only from devices other than the CPU. Tensors of PyTorch and arrays
of JAX are copied when they are captured.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import keras
import numpy as np

from sagemaker_debug_ext.hooks.capture.step_buffer import PooledValue
from sagemaker_debug_ext.store.format.messages import Array, to_array

VARIABLE: Final[Any] = next(
    (kind for kind in keras.Variable.__mro__ if kind.__name__ == "KerasVariable"), keras.Variable
)
"""Base class of all Keras variables; in early releases of Keras 3, `keras.Variable` is a subclass of it."""

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


def backend_name() -> str:
    """Return the name of the back end that Keras runs on."""
    name: str = keras.backend.backend()
    return name


def is_tensorflow() -> bool:
    """Return whether Keras runs on TensorFlow."""
    return backend_name() == "tensorflow"


def do_not_convert(function: _FunctionT) -> _FunctionT:
    """Exclude a function from AutoGraph conversion when a script calls it in a `tf.function`."""
    if not is_tensorflow():
        return function
    import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

    untouched: _FunctionT = tf.autograph.experimental.do_not_convert(function)
    return untouched


class HeldTensor(PooledValue):
    """A tensor of TensorFlow, on the CPU and outside of any graph."""

    __slots__ = ("_tensor", "nbytes", "shape")

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.shape = tuple(tensor.shape)
        self.nbytes = int(np.prod(self.shape, dtype=np.int64)) * max(tensor.dtype.size or 0, 1)

    def to_array(self) -> Array:
        """Return the value; numbers share the tensor's memory."""
        return tensor_to_array(self._tensor)

    def release(self) -> None:
        """Release the tensor."""
        self._tensor = None


def tensor_to_array(tensor: Any) -> Array:
    """Return a TensorFlow tensor as an array that must not be modified."""
    if tensor.dtype.name == "string":
        texts = np.asarray(tensor.numpy())
        return to_array([text.decode(errors="replace") for text in texts.reshape(-1)])
    try:
        array = np.asarray(memoryview(tensor))
    except (TypeError, ValueError, NotImplementedError):  # an extension dtype, which numpy itself lacks
        array = np.asarray(tensor.numpy())
    return array.reshape(1) if array.shape == () else array


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor of the back end, including symbolic tensors."""
    kind = _tensor_class()
    return kind is not None and isinstance(value, kind)


def is_variable(value: Any) -> bool:
    """Return whether a value is a variable of Keras, or of TensorFlow if that is loaded."""
    tensorflow = sys.modules.get("tensorflow")
    return isinstance(value, VARIABLE) or (tensorflow is not None and isinstance(value, tensorflow.Variable))


def is_numeric(value: Any) -> bool:
    """Return whether a tensor holds numbers, booleans or strings, rather than a resource."""
    return getattr(value.dtype, "name", "") not in ("resource", "variant")


@functools.lru_cache(maxsize=1)
def _tensor_class() -> type[Any] | None:
    if is_tensorflow():
        import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

        kind: type[Any] = tf.Tensor
        return kind
    if backend_name() == "torch":
        import torch  # noqa: PLC0415 - not there with other back ends

        return torch.Tensor
    return None


def flatten_tensors(values: Any) -> Iterator[Any]:
    """Yield the tensors in nested tuples, lists and mappings."""
    if is_tensor(values):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from flatten_tensors(value)
    elif isinstance(values, Mapping):
        yield from flatten_tensors(list(values.values()))


def read(variable: Any) -> Any:
    """Return the current value of a variable, as an argument for `snapshot`."""
    value = variable.value if isinstance(variable, VARIABLE) else variable
    if is_tensorflow():
        import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

        return tf.convert_to_tensor(value)
    return value


def snapshot(value: Any) -> Any:
    """Return a value that later updates do not modify: a copy, or a tensor of TensorFlow itself."""
    if hasattr(value, "detach"):
        from sagemaker_debug_ext.hooks.pytorch.tensors import copy_tensor  # noqa: PLC0415 - loads PyTorch

        return copy_tensor(value.detach())
    if is_tensor(value):
        if ":CPU:" not in value.device:
            import tensorflow as tf  # noqa: PLC0415 - not there with other back ends

            with tf.device("CPU:0"):
                value = tf.identity(value)
        return HeldTensor(value)
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        # A copy, because JAX may reuse the memory; made in two steps, because `tf.Variable` refuses NumPy 2's `copy`.
        value = np.array(value.__array__())
        return value.reshape(1) if value.shape == () else value
    return np.array(to_array(value))


def view(value: Any) -> Array:
    """Return a value, held or not, as an array for immediate reading."""
    if isinstance(value, PooledValue):
        return value.to_array()
    if hasattr(value, "detach"):
        from sagemaker_debug_ext.hooks.pytorch import tensors  # noqa: PLC0415 - loads PyTorch

        array = tensors.tensor_to_array(tensors.as_dense(value))
        return array.reshape(1) if array.shape == () else array
    if is_tensor(value):
        return tensor_to_array(value)
    return to_array(value if isinstance(value, (np.ndarray, np.generic)) else np.asarray(value))
