"""LeakingFeature: an input that reveals the target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.losses import INPUTS, LossObservation, observed_losses
from sagemaker_debug_ext.rules.inference.training import is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role

Numbers = npt.NDArray[np.float64]

FIRST: Final = Selection(roles=(Role.MODEL_INPUT,))
FURTHER: Final = Selection(roles=(Role.FURTHER_INPUT,))
MAX_CATEGORIES: Final = 64
"""Number of columns up to which first inputs that are indices are the categories of a table, not words."""
OF_SERIES: Final = re.compile("LSTM|GRU|RNN|Attention|Transformer|Encoder|Decoder")
"""Types of layers whose further inputs may be targets of earlier times."""
MAX_FEATURES: Final = 4096
MAX_CLASSES: Final = 100
MIN_TIMES: Final = 10
"""Number of rows that a class needs for its spread to be meaningful."""
USUAL: Final = 0.95
"""Fraction of the rows, with usual targets, that must suffice, because one outlier makes a line with any feature."""
MAX_ELEMENTS: Final = 1 << 22
"""Largest number of elements of a batch to store."""
MIN_DISTINCT: Final = 0.5
"""Fraction of the rows that must be distinct, because a few repeated rows determine their targets."""


class _Leak(NamedTuple):
    """An input that reveals the target, with the measured value and the limit that it broke."""

    text: str
    value: float
    threshold: float


@attrs.define
class _Table:
    """Rows of features with their targets, and whole batches of indices that equalled their targets."""

    rows: list[Numbers] = attrs.field(factory=list)
    targets: list[Numbers] = attrs.field(factory=list)
    copies: int = 0
    is_evaluated: bool = False

    @property
    def count(self) -> int:
        return sum(map(len, self.rows))

    def add(self, rows: Array, targets: Array) -> None:
        count = max(MAX_ELEMENTS // rows.shape[1], 1)
        self.rows.append(to_float64(rows[:count]))
        self.targets.append(to_float64(targets.reshape(-1)[:count]))

    def close(self) -> None:
        self.is_evaluated = True
        self.rows.clear()
        self.targets.clear()


def explained(rows: Numbers, targets: Numbers) -> Numbers:
    """Return, for each feature, the fraction of its variance that the target explains.

    A target with few values explains it by value. Features without variance carry no information, and get 0. Rare
    classes and outliers do not count.
    """
    values, classes, counts = np.unique(targets, return_inverse=True, return_counts=True)
    has_classes = len(values) <= min(MAX_CLASSES, len(targets) // MIN_TIMES)
    apart = np.abs(targets - np.median(targets))
    counts_in = counts[classes] >= MIN_TIMES if has_classes else apart <= np.quantile(apart, USUAL)
    rows, targets, classes = rows[counts_in], targets[counts_in], classes[counts_in]
    centred = rows - rows.mean(axis=0)
    total = np.square(centred).sum(axis=0)
    if has_classes:
        sums = np.zeros((len(values), rows.shape[1]))
        np.add.at(sums, classes, centred)
        part = (np.square(sums) / counts[:, None]).sum(axis=0)
    else:
        target = targets - targets.mean()
        part = (target @ centred) ** 2 / (target @ target)
    shares: Numbers = np.divide(part, total, out=np.zeros_like(total), where=total > 0)
    return shares


def _are_numbers_of(targets: Array, num_rows: int) -> bool:
    """Return whether each row has one numeric target."""
    return targets.size == num_rows and targets.dtype.kind != "c" and bool(np.isfinite(to_float64(targets)).all())


def _is_beside_categories(view: StepView, inputs: Array | None, losses: Sequence[LossObservation]) -> bool:
    """Return whether a further input has the numbers of a table, whose categories are the first input.

    Other further inputs may be the labels, for a loss that the model computes, or what the model says next.
    """
    first = [view.value(name) for name in view.selected(FIRST)]
    if len(first) != 1 or first[0] is None or first[0].dtype.kind not in "iu" or first[0].ndim != 2:
        return False
    if inputs is None or inputs.ndim != 2 or inputs.dtype.kind not in "fV" or first[0].shape[1] > MAX_CATEGORIES:
        return False
    layers = view.program.layers
    if not layers or any(OF_SERIES.search(layer.type) for layer in layers):
        return False
    targets = [to_float64(loss.targets).reshape(-1) for loss in losses if loss.targets.size == len(inputs)]
    copies = [column for column in to_float64(inputs).T if any(np.array_equal(column, target) for target in targets)]
    return len(copies) < 2  # a target for each of several losses


class LeakingFeature(BuiltinRule):
    """One input alone reveals the target: it was derived from it, or will be unknown at prediction time.

    Checks inputs of the model and targets of losses, at the first TRAIN steps (or steps without a mode). For tables,
    with one target per row, `samples` rows are collected. The rule fires if the target explains more than `threshold`
    of the variance of any feature among distinct rows. Class targets explain it by class means, numeric targets by a
    straight line. Classes of fewer than ten rows, and the most extreme twentieth of numbers, do not count.

    Of the further inputs of PyTorch's models, only one beside the categories of a table counts, if the program record
    tells that no layer is recurrent or attends.

    For first inputs that are indices, such as words, the rule fires if the targets equal them at each position of as
    many samples. For windows of a series, of shape (samples, times, features), it fires if the target is one of the
    numbers in the window. It does not find targets revealed by several inputs together.

    Parameters:
        tensor_regex: Regular expressions searched in the names of inputs, as a list or separated by commas. When not
            given: those of the whole model, as the framework names them.
        samples: Number of samples to check; 200 when not given.
        copies: Whether targets equal to the inputs count. They are a fault if the next word is to be predicted, but not
            if words are to be reconstructed; True when not given.
        threshold: Largest fraction of a feature's variance that the target may explain; 0.999 when not given.

    Source:
        Kaufman and others, Leakage in Data Mining, ACM Transactions on Knowledge Discovery from Data, 2012.

    Example:
        >>> rule = create_rule("LeakingFeature", trial, {"samples": 1000})
        >>> invoke_rule(rule)
    """

    spec_name = "LeakingFeature"
    advice = "Remove the input, or derive it only from data that are known before the target."

    def configure(self) -> None:
        self.selection = chosen_or(self.parameters["tensor_regex"], Role.MODEL_INPUT, Role.FURTHER_INPUT)
        self._tables: dict[str, _Table] = {}

    def needs(self) -> tuple[TensorRequirement, ...]:
        return TensorRequirement("inputs", self.selection), TensorRequirement("inputs of losses", INPUTS)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if an input reveals the target."""
        if not is_training(view) or (self._tables and all(table.is_evaluated for table in self._tables.values())):
            return None
        losses = list(observed_losses(view))
        was_evaluated = False
        further = view.selected(FURTHER)
        for name in view.selected(self.selection):
            inputs = view.value(name)
            table = self._tables.setdefault(name, _Table())
            if name in further and not (table.is_evaluated or _is_beside_categories(view, inputs, losses)):
                table.close()
            if inputs is None or table.is_evaluated:
                continue
            for loss in losses[:1]:
                was_evaluated = True
                leak = self._observe(table, inputs, loss)
                if leak is not None:
                    text = f"{leak.text} in {name!r}."
                    return [self.found(view, text, tensors=[name], value=leak.value, threshold=leak.threshold)]
        return [] if was_evaluated else None

    def _observe(self, table: _Table, inputs: Array, loss: LossObservation) -> _Leak | None:
        wanted: int = self.parameters["samples"]
        if inputs.dtype.kind in "iu":
            is_copy = loss.targets.dtype.kind in "iu" and inputs.ndim > 1 and np.array_equal(inputs, loss.targets)
            table.copies += len(inputs)
            table.is_evaluated = not is_copy or table.copies >= wanted
            is_wrong = is_copy and table.is_evaluated and self.parameters["copies"]
            text = f"The targets of all {table.copies} samples equal the inputs"
            return _Leak(text, table.copies, wanted) if is_wrong else None
        shape = inputs.shape[1:]
        inputs = inputs.reshape(len(inputs), -1) if inputs.ndim == 3 and inputs.size else inputs  # windows of a series
        is_table = inputs.ndim == 2 and 1 < inputs.shape[1] <= MAX_FEATURES and inputs.dtype.kind in "fV"
        is_series = is_table and table.rows and table.rows[0].shape[1] != inputs.shape[1]  # rows of different lengths
        if not is_table or is_series or not _are_numbers_of(loss.targets, len(inputs)):
            table.close()
            return None
        table.add(inputs, loss.targets)
        if table.count < wanted:
            return None
        rows, targets = np.concatenate(table.rows), np.concatenate(table.targets)
        table.close()
        return self._leak_among(rows, targets, shape)

    def _leak_among(self, rows: Numbers, targets: Numbers, shape: tuple[int, ...]) -> _Leak | None:
        """Return the feature that reveals the target; None if there is none.

        Args:
            rows: The features of each sample.
            targets: The target of each sample.
            shape: Shape of a sample; of several axes for a window of a series.
        """
        distinct = np.unique(rows, axis=0, return_index=True)[1]
        if len(distinct) < MIN_DISTINCT * len(rows) or np.all(targets == targets[0]):
            return None
        share = explained(rows[distinct], targets[distinct])
        column = int(np.argmax(share))
        limit: float = self.parameters["threshold"]
        if not share[column] > limit:
            return None
        if len(shape) > 1:  # numbers of a series lie so close to each other that only an equal one is the target
            place = tuple(map(int, np.unravel_index(column, shape)))
            text = f"The target is among the inputs: it is the number at {place} of each sample"
            return _Leak(text, 1.0, limit) if np.array_equal(rows[:, column], targets) else None
        text = (
            f"A feature reveals the target: the target explains {share[column]:.4%} of the variance (at most {limit:g} "
            f"expected) of feature {column}"
        )
        return _Leak(text, float(share[column]), limit)
