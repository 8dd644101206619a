"""Reductions of arrays and their names in the store, as tests and rule containers for Debugger use them."""

from __future__ import annotations

import re
from typing import Any

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name, split_reduction_name
from sagemaker_debug_ext.store.format.messages import to_array
from sagemaker_debug_ext.trials.values.reductions import check_reduction, compute_reduction

__all__ = ["get_numpy_reduction", "get_reduction_tensor_name", "reverse_reduction_tensor_name"]


def get_numpy_reduction(reduction_name: str, numpy_data: Any, abs: bool = False) -> Any:  # noqa: A002 - smdebug's name
    """Return a reduction of an array; norms of two-dimensional arrays are matrix norms.

    Args:
        reduction_name: One of ``REDUCTIONS`` or ``NORMS``, such as ``mean`` or ``l2``.
        numpy_data: The array, or a number.
        abs: Reduce the absolute values.

    Raises:
        SMDebugValueError: There is no such reduction.
    """
    check_reduction(reduction_name)
    array = to_array(numpy_data)
    is_norm_of_number = array.ndim == 0 and reduction_name.startswith("l")
    return compute_reduction(reduction_name, array.reshape(1) if is_norm_of_number else array, abs)


def get_reduction_tensor_name(
    tensorname: str,
    reduction_name: str,
    abs: bool,  # noqa: A002 - smdebug's name
    remove_colon_index: bool = True,
) -> str:
    """Return the name under which a reduction of a tensor is stored.

    Args:
        tensorname: Name of the tensor.
        reduction_name: Name of the reduction.
        abs: Whether the absolute values are reduced.
        remove_colon_index: Drop the output number of a TensorFlow tensor, such as ``:0``.
    """
    name = reduction_tensor_name(reduction_name, abs, tensorname)
    return re.sub(r":\d+", "", name) if remove_colon_index else name


def reverse_reduction_tensor_name(reduction_tensor_name: str) -> tuple[str, str, bool]:
    """Return tensor, reduction and whether the absolute values are reduced, of a stored name.

    Raises:
        SMDebugValueError: It is not the name of a reduction.
    """
    parts = split_reduction_name(reduction_tensor_name)
    if parts is None:
        raise SMDebugValueError(
            f"the name of a reduction must look like smdebug/reductions/mean/tensor (got {reduction_tensor_name!r})"
        )
    reduction, absolute, tensor_name = parts
    return tensor_name, reduction, absolute


__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
