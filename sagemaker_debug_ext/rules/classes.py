"""Labels and predictions as whole numbers of classes (built-in rules, section 3.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import SMDebugCustomerError
from sagemaker_debug_ext.rules.step import Array, StepView, to_float64

ClassIds = npt.NDArray[np.int64]


def class_ids(value: Array) -> ClassIds | None:
    """Return the class of each element, flattened; None if they are neither classes nor probabilities.

    Whole numbers are classes as they are; other values, if all lie in [0, 1], are probabilities of class 1.
    """
    if value.dtype.kind in "iu":
        return value.reshape(-1).astype(np.int64)
    numbers = to_float64(value).reshape(-1)
    if numbers.dtype.kind != "c" and np.isfinite(numbers).all():
        if np.array_equal(numbers, np.trunc(numbers)):
            return numbers.astype(np.int64)
        if numbers.min() >= 0 and numbers.max() <= 1:
            return (numbers >= 0.5).astype(np.int64)
    return None


def best_ids(scores: Array) -> ClassIds:
    """Return the class with the highest score, for each place of all axes but the last, flattened."""
    ids: ClassIds = np.argmax(scores, axis=-1).reshape(-1)
    return ids


def joined_ids(view: StepView, names: Sequence[str], *, argmax: bool = False) -> ClassIds | None:
    """Return the classes in some tensors of a step, one tensor after the other; None if none of them has a value.

    Args:
        view: The step.
        names: The tensors.
        argmax: Take the arg-max over the last axis of each first.

    Raises:
        SMDebugCustomerError: A tensor holds neither classes nor probabilities.
    """
    found = [_ids(view, name, best_ids if argmax else class_ids) for name in names]
    ids = [each for each in found if each is not None]
    if len(ids) < 2:
        return ids[0] if ids else None
    return np.concatenate(ids)


def _ids(view: StepView, name: str, function: Callable[[Array], ClassIds | None]) -> ClassIds | None:
    ids = view.statistic(name, function)
    value = view.value(name) if ids is None else None
    if value is None:
        return ids
    numbers = to_float64(value)
    raise SMDebugCustomerError(
        f"tensor {name!r} must be whole numbers of classes, or probabilities from 0 to 1 (got values from "
        f"{numbers.min():g} to {numbers.max():g}); for scores of several classes take the arg-max first"
    )
