"""Confusion: a poor confusion matrix."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.class_labels import ClassIds, Matrix, confusion_matrix
from sagemaker_debug_ext.rules.inference.losses import labels_in, predicted_in
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.screening import Screen, Screening, undecided
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepView

Flags = npt.NDArray[np.bool_]

_MAX_CELLS: Final = 2**20
"""Number of cells of confusion matrices that are counted at once."""
_MAX_LABELS: Final = 2**11
"""Steps with more labels are counted one by one, because counting them together takes more memory and no less time."""


def confusion_matrices(labels: ClassIds, predictions: ClassIds, category_no: int | None = None) -> Matrix | None:
    """Count the pairs of label and prediction of each row, for all rows at once.

    Args:
        labels: ``(N, M)``.
        predictions: ``(N, M)``.
        category_no: As for `confusion_matrix`.

    Returns:
        ``(N, K, K)``; None if there are not as many predictions as labels, if one is no class, or if there are too many
        classes to count them at once.
    """
    if labels.shape != predictions.shape:
        return None
    lowest, highest = (int(extreme([extreme(labels), extreme(predictions)])) for extreme in (np.min, np.max))
    number = highest + 1 if category_no is None else category_no
    num_cells = len(labels) * number**2
    if lowest < 0 or highest >= number or num_cells > _MAX_CELLS:
        return None
    first_cells = np.arange(0, num_cells, number**2)[:, np.newaxis]
    cells = np.bincount((first_cells + labels * number + predictions).reshape(-1), minlength=num_cells)
    return cells.reshape(-1, number, number)


def are_clear(matrices: Matrix, least: float, most: float) -> Flags:
    """Return whether the predictions in confusion matrices are within the limits for each class.

    Args:
        matrices: ``(..., K, K)``. Classes that have neither labels nor predictions do not count.
        least: Smallest fraction of correct predictions of a class.
        most: Largest fraction of one wrong class.
    """
    totals = np.add.reduce(matrices, axis=-2)
    shares = matrices / totals[..., np.newaxis, :]  # NaN for a class that is never predicted
    right = np.diagonal(shares, axis1=-2, axis2=-1)
    is_right = (right >= least) | ((totals == 0) & ~matrices.any(axis=-1))
    num_excesses = np.count_nonzero(shares > most, axis=(-2, -1)) - np.count_nonzero(right > most, axis=-1)
    clear: Flags = is_right.all(axis=-1) & (num_excesses == 0)
    return clear


class _Failure(NamedTuple):
    excess: float
    value: float
    threshold: float
    text: str


class Confusion(BuiltinRule):
    """A classifier confuses classes too often.

    Checks the labels and predictions of each saved step on their own. For each predicted class, the rule fires if less
    than `min_diag` of its predictions are correct. It also fires if more than `max_off_diag` of them belong to one
    other class. A class that has labels but is never predicted counts as never correct.

    Whole numbers are class indices; other values from 0 to 1 are probabilities of class 1. Any other value makes the
    rule end with an error. In Keras, the loss tells whether labels are classes, one-hot or not; numbers to regress are
    not evaluated. A step at which the numbers of predictions and labels differ is not evaluated.

    Parameters:
        category_no: Number of classes; the largest class index of the step plus one when not given.
        labels: Tensor with the true classes; ``labels`` when not given.
        predictions: Tensor with the predicted classes; ``predictions`` when not given.
        labels_collection: Collection used if the tensor with the labels was not saved; ``labels`` when not given.
        predictions_collection: The same for predictions; ``predictions`` when not given.
        min_diag: Smallest fraction of correct predictions of a class; 0.9 when not given.
        max_off_diag: Largest fraction of one wrong class; 0.1 when not given.

    Example:
        >>> rule = create_rule("Confusion", trial, {"category_no": 10, "min_diag": "0.8", "max_off_diag": "0.15"})
        >>> invoke_rule(rule)
    """

    spec_name = "Confusion"
    is_stateless = True
    evaluates_only_tensors = True
    advice = (
        "Inspect examples of the confused classes: check their labels, collect more of them or weight them "
        "more, and add features that distinguish them."
    )

    def configure(self) -> None:
        self._collections = {
            what: Selection(collections=(self.parameters[f"{what}_collection"],)) for what in ("labels", "predictions")
        }

    def needs(self) -> tuple[TensorRequirement, ...]:
        return tuple(
            TensorRequirement(what, Selection(selection.collections, (f"^{re.escape(self.parameters[what])}$",)))
            for what, selection in self._collections.items()
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue for the most confused class."""
        of_labels, of_predictions = self._names(view, "labels"), self._names(view, "predictions")
        labels, predictions = labels_in(view, of_labels), predicted_in(view, of_predictions)
        if labels is None or predictions is None or len(labels) != len(predictions):
            return None
        failures = self._failures(confusion_matrix(labels, predictions, self.parameters["category_no"]))
        if not failures:
            return []
        worst = max(failures, key=lambda failure: failure.excess)
        names = [*of_labels, *of_predictions]
        return [self.found(view, worst.text, tensors=names, value=worst.value, threshold=worst.threshold)]

    def screen_block(self, series: Mapping[str, TensorSeries], num_steps: int) -> Screening:
        """Pass the steps at which no classes are confused, if labels and predictions are integers."""
        screening = undecided(num_steps)
        found = [series[name].uniform for what in self._collections if (name := self.parameters[what]) in series]
        chunks = [
            chunk for chunk in found if chunk and chunk.dtype.kind in "iu" and math.prod(chunk.shape) <= _MAX_LABELS
        ]
        if len(chunks) == 2 and np.array_equal(chunks[0].positions, chunks[1].positions):
            labels, predictions = (chunk.flat.astype(np.int64) for chunk in chunks)
            matrices = confusion_matrices(labels, predictions, self.parameters["category_no"])
            if matrices is not None:
                clear = are_clear(matrices, self.parameters["min_diag"], self.parameters["max_off_diag"])
                screening[chunks[0].positions[clear]] = Screen.PASS
        return screening

    def _names(self, view: StepView, what: str) -> list[str]:
        name: str = self.parameters[what]
        return [name] if name in view.tensor_names else view.selected(self._collections[what])

    def _failures(self, matrix: Matrix) -> list[_Failure]:
        found = []
        least: float = self.parameters["min_diag"]
        most: float = self.parameters["max_off_diag"]
        if are_clear(matrix, least, most):
            return []
        for index, column in enumerate(matrix.T):
            total = int(column.sum())
            if not total and not matrix[index].any():
                continue
            shares = column / total if total else np.zeros(len(column))
            right = float(shares[index])
            if right < least:
                text = (
                    f"Of {total} predictions of class {index}, {right:.1%} are right; at least {least:.1%} should be."
                )
                found.append(_Failure(least - right, right, least, text))
            others = np.delete(shares, index)
            if others.size and others.max() > most:
                wrong = int(np.argmax(np.where(np.arange(len(shares)) == index, -1.0, shares)))
                share = float(shares[wrong])
                text = (
                    f"Of {total} predictions of class {index}, {share:.1%} are of class {wrong}; at most "
                    f"{most:.1%} should be."
                )
                found.append(_Failure(share - most, share, most, text))
        return found
