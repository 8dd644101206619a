"""Labels and predictions as class indices (built-in rules, section 3.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import SMDebugCustomerError
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

ClassIds = npt.NDArray[np.int64]
MODEL_INPUTS: Final = Selection(roles=(Role.MODEL_INPUT,))
MODEL_OUTPUTS: Final = Selection(roles=(Role.MODEL_OUTPUT,))
PARAMETERS: Final = Selection(collections=(CollectionKeys.WEIGHTS, CollectionKeys.BIASES))
Matrix = npt.NDArray[np.int64]


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
    ids = [labels for labels in found if labels is not None]
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


def confusion_matrix(labels: ClassIds, predictions: ClassIds, category_no: int | None = None) -> Matrix:
    """Count the pairs of label (row) and prediction (column).

    Args:
        labels: True classes.
        predictions: Predicted classes, as many.
        category_no: Number of classes; one more than the largest when not given.

    Raises:
        SMDebugCustomerError: A class is negative, or not below `category_no`.
    """
    # as unsigned numbers, negative ones are the largest
    highest = int(max(labels.view(np.uint64).max(), predictions.view(np.uint64).max()))
    number = highest + 1 if category_no is None else category_no
    if highest >= min(number, 2**63):
        lowest, highest = (int(extreme([extreme(labels), extreme(predictions)])) for extreme in (np.min, np.max))
        number = highest + 1 if category_no is None else category_no
        raise SMDebugCustomerError(
            f"labels and predictions must be classes from 0 to {number - 1} (got {lowest} to {highest})"
        )
    cells = np.bincount(labels * number + predictions, minlength=number * number)
    return cells.reshape(number, number)


def has_one_for_each_sample(view: StepView, targets: Array) -> bool:
    """Return whether there is one target for each sample of the model's inputs; True if no input was saved."""
    inputs = [value for name in view.selected(MODEL_INPUTS) if (value := view.value(name)) is not None]
    return targets.ndim == 1 and (not inputs or any(len(targets) in _numbers_of_samples(value) for value in inputs))


def _numbers_of_samples(value: Array) -> tuple[int, ...]:
    """Return how many samples an input may hold."""
    # recurrent layers may have the batch on the second axis; a first axis of 1 is a batch of one sequence
    return value.shape[:1] if value.shape[:1] == (1,) else value.shape[:2]


def has_unit_for_each(view: StepView, num_classes: int) -> bool:
    """Return whether a layer may have one unit for each class; True if its parameters were not saved."""
    scheme = naming_scheme_of(view.trial)
    shapes = [value.shape for name in view.selected(PARAMETERS) if (value := view.value(name)) is not None]
    axes = (0, -1) if scheme.framework == "Keras" else (0,)
    return not shapes or any(num_classes == shape[axis] for shape in shapes if shape for axis in axes)
