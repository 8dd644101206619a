"""A table of what follows each token, with which a model of sequences is compared: a bigram model, as it is called."""

from __future__ import annotations

import collections
import statistics
from typing import Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.rules.inference.class_labels import MODEL_INPUTS
from sagemaker_debug_ext.rules.inference.losses import LossObservation, observed_losses
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.samples import MAX_KEPT, sample_hashes
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import ModeKeys

MOST_CELLS: Final = 1 << 22
"""Number of pairs of a token and a class up to which they are counted."""
FEWEST_TOKENS: Final = 4
"""Fewest different tokens, and places of a sequence."""
NUM_LATEST: Final = 20
"""Number of latest steps whose cross entropies are averaged."""
MOST_COPIES: Final = 0.5
"""Fraction of targets that may be the tokens themselves, which a model may have to pass on through a narrow code."""
PRIOR: Final = 4.0
"""Number of occurrences of a token that weigh as much as the shares of the classes whatever the token."""


class CrossEntropies(NamedTuple):
    """Mean cross entropies of the latest steps, in nats.

    Attributes:
        model: That of the model, in training or evaluation, whichever is lower.
        table: That of the table, in training.
    """

    model: float
    table: float


@attrs.define
class _Table:
    """Counts each pair of a token and a class in the first pass through the data."""

    counts: Array
    is_first_pass: bool = True
    known: set[bytes] = attrs.field(factory=set)
    of_model: collections.deque[float] = attrs.field(factory=lambda: collections.deque(maxlen=NUM_LATEST))
    of_table: collections.deque[float] = attrs.field(factory=lambda: collections.deque(maxlen=NUM_LATEST))

    def observe(self, tokens: Array, classes: Array, samples: tuple[bytes, ...]) -> float:
        """Return the mean cross entropy of the classes of a step, and count its pairs unless they have been counted."""
        self.is_first_pass = self.is_first_pass and self.known.isdisjoint(samples) and len(self.known) < MAX_KEPT
        itself = 0 if self.is_first_pass else 1
        totals = self.counts.sum(axis=0) + 1.0
        shares = totals[classes] / totals.sum()
        of_pairs = np.maximum(self.counts[tokens, classes] - itself, 0)
        of_tokens = np.maximum(self.counts.sum(axis=1)[tokens] - itself, 0)
        if self.is_first_pass:
            self.known.update(samples)
            np.add.at(self.counts, (tokens, classes), 1)
        return float(-np.mean(np.log((of_pairs + PRIOR * shares) / (of_tokens + PRIOR))))


class TokenTables:
    """Compares the predictions of a class for each token of a sequence with those of a table for the token.

    The table counts the pairs of a first pass through the data, and leaves each pair out that it predicts.
    """

    def __init__(self) -> None:
        self._tables: dict[str, _Table] = {}
        self._evaluated: dict[str, collections.deque[float]] = {}

    def observe(self, view: StepView) -> None:
        """Observe a step of training or evaluation."""
        for loss in observed_losses(view):
            if loss.num_classes is None or loss.cross_entropy is None:
                continue
            if view.mode is ModeKeys.EVAL:
                self._evaluated.setdefault(loss.name, collections.deque(maxlen=NUM_LATEST)).append(loss.cross_entropy)
                continue
            found = _tokens_of(view, loss)
            if found is not None:
                tokens, samples = found
                self._compare(loss, tokens, samples)

    def _compare(self, loss: LossObservation, tokens: Array, samples: tuple[bytes, ...]) -> None:
        classes, num_classes = loss.targets.reshape(-1), loss.num_classes or 0
        known = (classes >= 0) & (classes < num_classes)
        tokens, classes = tokens.reshape(-1)[known], classes[known]
        is_known_otherwise = len(classes) != len(loss.classes)  # other places do not count either
        if is_known_otherwise or not len(classes) or np.mean(tokens == classes) > MOST_COPIES:
            return
        table = self._tables.setdefault(loss.name, _Table(np.zeros((0, num_classes))))
        num_tokens = max(int(tokens.max()) + 1, len(table.counts))
        if num_tokens * num_classes > MOST_CELLS or table.counts.shape[1] != num_classes:
            del self._tables[loss.name]  # what it says of earlier steps is no longer that of the latest
            return
        more = np.zeros((num_tokens - len(table.counts), num_classes))
        table.counts = np.concatenate([table.counts, more]) if len(more) else table.counts
        table.of_model.append(loss.cross_entropy or 0.0)
        table.of_table.append(table.observe(tokens, classes, samples))

    def cross_entropies(self) -> dict[str, CrossEntropies]:
        """Return the cross entropies of each loss of tokens."""
        return {
            name: CrossEntropies(
                min(statistics.fmean(values) for values in (table.of_model, self._evaluated.get(name)) if values),
                statistics.fmean(table.of_table),
            )
            for name, table in self._tables.items()
            if len(table.of_table) == NUM_LATEST
        }


def _tokens_of(view: StepView, loss: LossObservation) -> tuple[Array, tuple[bytes, ...]] | None:
    """Return the tokens of the places that a loss has targets for, and hashes of the sequences; None if unknown."""
    for name in view.selected(MODEL_INPUTS):
        tokens, samples = view.value(name), view.statistic(name, sample_hashes)
        if tokens is None or samples is None or tokens.dtype.kind not in "iu" or tokens.ndim != 2:
            continue
        if tokens.size == loss.targets.size and min(*tokens.shape, len(np.unique(tokens))) >= FEWEST_TOKENS:
            return (tokens, samples) if tokens.min() >= 0 else None
    return None
