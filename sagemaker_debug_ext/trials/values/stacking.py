"""Stack the values of a tensor at several steps into one array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.format.messages import Array

if TYPE_CHECKING:
    pass


def stack_values(name: str, values: Mapping[int, Array]) -> Array:
    """Return the values of a tensor as one read-only array with steps on the first axis.

    Raises:
        SMDebugValueError: There are no values, or shape or dtype differ between steps.
    """
    if not values:
        raise SMDebugValueError(f"tensor {name!r} has no values at the steps asked for")
    first_step, first = next(iter(values.items()))
    for step, value in values.items():
        same_dtype = value.dtype == first.dtype or (value.dtype.kind in "UO" and first.dtype.kind in "UO")
        if value.shape != first.shape or not same_dtype:
            raise SMDebugValueError(
                f"values of tensor {name!r} must be alike to be stacked (step {first_step}: {first.dtype}"
                f" {first.shape}, step {step}: {value.dtype} {value.shape}): use values()"
            )
    stacked: Array = np.stack(list(values.values()))
    stacked.flags.writeable = False
    return stacked
