"""Labels and predictions as whole numbers of classes (built-in rules, section 3.8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import SMDebugCustomerError
from sagemaker_debug_ext.rules.step import Array, StepView, to_float64

ClassIds = npt.NDArray[np.int64]


def class_ids(value: Array, what: str) -> ClassIds:
    """Return the class of each element, flattened.

    Whole numbers are classes as they are; other values, if all lie in [0, 1], are probabilities of class 1.

    Args:
        value: The numbers.
        what: What they are, for the error message.

    Raises:
        SMDebugCustomerError: They are neither.
    """
    numbers = to_float64(value).reshape(-1)
    if numbers.dtype.kind != "c" and np.isfinite(numbers).all():
        if np.array_equal(numbers, np.trunc(numbers)):
            return numbers.astype(np.int64)
        if numbers.min() >= 0 and numbers.max() <= 1:
            return (numbers >= 0.5).astype(np.int64)
    raise SMDebugCustomerError(
        f"{what} must be whole numbers of classes, or probabilities from 0 to 1 (got values from {numbers.min():g} to "
        f"{numbers.max():g}); for scores of several classes take the arg-max first"
    )


def joined_ids(view: StepView, names: Sequence[str], *, argmax: bool = False) -> ClassIds | None:
    """Return the classes in some tensors of a step, one tensor after the other; None if none of them has a value.

    Args:
        view: The step.
        names: The tensors.
        argmax: Take the arg-max over the last axis of each first.
    """
    values = [(name, value) for name in names if (value := view.value(name)) is not None]
    if not values:
        return None
    if argmax:
        return np.concatenate([np.argmax(value, axis=-1).reshape(-1) for _, value in values])
    return np.concatenate([class_ids(value, f"tensor {name!r}") for name, value in values])
