"""Simple models of the data, with which a trained model is compared: a straight line, and the nearest neighbours.

Each predicts the targets of a sample from all other samples (leave-one-out), so that it cannot know them by heart.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.rules.inference.activations import sums_to_one
from sagemaker_debug_ext.rules.inference.class_labels import MODEL_INPUTS
from sagemaker_debug_ext.rules.inference.losses import LossObservation, Numbers, observed_losses
from sagemaker_debug_ext.rules.reading.numeric import Array, holds_quantities, to_float64
from sagemaker_debug_ext.rules.reading.step_view import StepView

MOST_SAMPLES: Final = 600
"""Number of latest samples that are kept."""
MOST_ELEMENTS: Final = 1 << 14
"""Number of elements of a sample beyond which its inputs are not kept, such as a large picture."""
MOST_FEATURES: Final = 4096
"""Number of features of a sample that are looked at."""
MOST_TARGETS: Final = 100
"""Number of targets of a sample, or of classes, up to which simple models are fitted."""
FEW_INDICES: Final = 4
"""Number of indices of a sample, such as a user and a film, up to which each has its own place."""
MOST_INDICES: Final = 5000
"""Number of different indices up to which they are counted."""
FEWEST_SAMPLES: Final = 10
"""Number of different samples that simple models need."""
MOST_OF_TABLE: Final = 8
"""Number of different samples up to which models of whole truth tables, as of XOR, are to know each by heart."""
REPEATS: Final = 10
"""Number of times that each of these, or each class, has to come up."""
FEWEST_CLASSES: Final = 3
MOST_CLASSES: Final = 20
"""Numbers of different whole numbers that may be those of classes; two suit a quantity as well."""
NEIGHBOURS: Final = 5
DAMPING: Final = (1e-6, 1e-4, 1e-2, 1e-1, 1.0)
"""Ridge penalties that are tried, relative to the largest eigenvalue."""
TINY: Final = 1e-12
LINEAR: Final = "a linear model"
"""Name of ridge regression, as in a sentence."""


@attrs.frozen(eq=False)
class SimpleFit:
    """How well a simple model predicts.

    Attributes:
        name: The simple model, as in a sentence.
        explained: Share of the variance of the targets that it explains.
    """

    name: str
    explained: float


class _Batch(NamedTuple):
    """Samples of a step; `restored` has inputs with the samples along their second axis, as if they were reshaped."""

    inputs: tuple[Array, ...]
    restored: tuple[Array, ...]
    answers: Numbers
    targets: Numbers


class LatestSamples:
    """The latest samples of each loss, with the model's predictions and the targets.

    Args:
        keeps_inputs: Whether simple models are to be fitted to the samples.
    """

    def __init__(self, *, keeps_inputs: bool) -> None:
        self._keeps_inputs = keeps_inputs
        self._batches: dict[str, collections.deque[_Batch]] = {}
        self._num_samples: collections.Counter[str] = collections.Counter()
        self._num_unknown: collections.Counter[str] = collections.Counter()

    def observe(self, view: StepView) -> None:
        """Add the samples of a step."""
        for loss in observed_losses(view, keeps_shares=True):
            found = answers_and_targets(loss)
            # the kind of a loss may be unknown at single steps
            self._num_unknown[loss.name] += -1 if found else 1
            if found:
                number = len(loss.targets)
                inputs = self._inputs(view, number, _rows_of)
                restored = self._inputs(view, number, _restored_rows_of)
                self._keep(loss.name, _Batch(inputs, restored, *map(_first_of, found)))

    def _inputs(self, view: StepView, number: int, rows_of: Callable[[Array, int], Array | None]) -> tuple[Array, ...]:
        """Return the inputs of a number of samples, unless they are too large to keep."""
        values = [view.value(name) for name in view.selected(MODEL_INPUTS)] if self._keeps_inputs and number else []
        rows = [each for value in values if value is not None and (each := rows_of(value, number)) is not None]
        is_small = sum(value[0].size for value in rows) <= MOST_ELEMENTS
        return tuple(map(_first_of, rows)) if is_small else ()

    def _keep(self, name: str, batch: _Batch) -> None:
        kept = self._batches.setdefault(name, collections.deque())
        kept.append(batch)
        self._num_samples[name] += len(batch.targets)
        while len(kept) > 1 and self._num_samples[name] - len(kept[0].targets) >= MOST_SAMPLES:
            self._num_samples[name] -= len(kept.popleft().targets)

    def names(self) -> list[str]:
        """Return the names of the losses."""
        return list(self._batches)

    def explained(self, name: str) -> float | None:
        """Return the share of the variance of the targets that the predictions explain; None if it is unknown."""
        batches = self._known(name)
        return share_explained(*_joined(batches)) if batches else None

    def simple_fits(self, name: str, *, restored: bool = False) -> list[SimpleFit]:
        """Return how well simple models predict the targets of the samples, the best first; empty if unknown.

        Args:
            name: The loss.
            restored: Whether to take inputs with the samples along their second axis for those of whole samples, one
                after the other, that were reshaped; other inputs are then left out.
        """
        table = self._features_and_targets(name, restored=restored)
        return sorted(_fits(*table), key=lambda fit: -fit.explained) if table else []

    def explained_by_order(self, name: str) -> float | None:
        """Return the share of the variance of the targets that neighbours in the order of a batch explain.

        None if it is unknown. It is large where samples are sorted, as positives before negatives.
        """
        batches = self._known(name)
        places = np.concatenate([np.arange(len(batch.targets)) for batch in batches]) if batches else np.empty(0, int)
        if not batches or places.max() < FEWEST_SAMPLES - 1:
            return None
        targets = _joined(batches)[1]
        sums = np.zeros((int(places.max()) + 1, targets.shape[1]))
        np.add.at(sums, places, targets)
        means = sums / np.bincount(places)[:, None]
        answers = _answers_of_neighbours(_products(np.arange(float(len(means)))[:, None]), means)
        return share_explained(answers[places], targets)

    def shares_named(self, name: str) -> tuple[float, float] | None:
        """Return the shares of samples whose target the model, rounded, and the nearest neighbours, by vote, name.

        None unless the targets may be numbers of classes that are learnt as quantities: one for each sample, of three
        to twenty consecutive whole numbers that all come up often, of at least ten different samples.
        """
        table = self._features_and_targets(name)
        if table is None or not _may_be_classes(table[1]):
            return None
        features, firsts = np.unique(table[0], axis=0, return_index=True)
        if len(features) < FEWEST_SAMPLES:
            return None
        classes = (table[1][:, 0] - table[1].min()).astype(int)
        votes = _answers_of_neighbours(_products(features), np.eye(classes.max() + 1)[classes[firsts]])
        answers = _joined(self._known(name))[0][:MOST_SAMPLES]
        by_neighbours = float(np.mean(votes.argmax(axis=1) == classes[firsts]))
        return float(np.mean(np.rint(answers) == table[1])), by_neighbours

    def share_of_ties(self, name: str) -> float:
        """Return the share of the different samples of the latest batch whose predictions equal others to the bit.

        0 where all predictions are equal.
        """
        batches = self._known(name)
        if not batches or not batches[-1].inputs:
            return 0.0
        latest = batches[-1]
        samples = np.hstack([value.reshape(len(value), -1) for value in latest.inputs])
        _, firsts = np.unique(samples, axis=0, return_index=True)
        _, counts = np.unique(latest.answers[firsts], axis=0, return_counts=True)
        return float(counts[counts > 1].sum() / len(firsts)) if len(counts) > 1 else 0.0

    def _features_and_targets(self, name: str, *, restored: bool = False) -> tuple[Numbers, Numbers] | None:
        """Return a row of features and one of targets for each sample; None if they are unknown, or the same."""
        batches = self._known(name)
        inputs = [batch.restored if restored else batch.inputs for batch in batches]
        if not batches or len({tuple(value.shape[1:] for value in given) for given in inputs}) > 1 or not inputs[0]:
            return None
        values = [np.concatenate(column)[:MOST_SAMPLES] for column in zip(*inputs, strict=True)]
        targets = _joined(batches)[1][:MOST_SAMPLES]
        if _are_copies(values, targets):
            return None
        features = np.hstack([features_of(value) for value in values])
        is_finite = np.isfinite(features).all() and np.isfinite(targets).all()
        return (features, targets) if is_finite else None

    def _known(self, name: str) -> list[_Batch]:
        """Return the batches; none if those of most steps, or of different shapes, cannot be compared."""
        batches = list(self._batches.get(name, ()))
        are_alike = len({batch.targets.shape[1:] for batch in batches}) == 1
        return batches if are_alike and self._num_unknown[name] < 0 else []


def _first_of(rows: Array) -> Array:
    """Return as many rows as are kept; a copy of them, so that the others do not stay in memory."""
    return rows if len(rows) <= MOST_SAMPLES else rows[:MOST_SAMPLES].copy()


def _joined(batches: list[_Batch]) -> tuple[Numbers, Numbers]:
    """Return the predictions and targets of all samples."""
    return np.concatenate([batch.answers for batch in batches]), np.concatenate([batch.targets for batch in batches])


def _rows_of(value: Array, number: int) -> Array | None:
    """Return an input with one row for each of a number of samples; None if it is of other samples."""
    if value.shape[:1] == (number,):
        return value
    if _has_samples_second(value, number):
        return np.moveaxis(value, 1, 0)
    return value[None] if number == 1 and value.ndim == 1 else None


def _restored_rows_of(value: Array, number: int) -> Array | None:
    """Return an input with one row for each sample, as if it had been reshaped to have them along the second axis."""
    return value.reshape(number, -1) if _has_samples_second(value, number) else None


def _has_samples_second(value: Array, number: int) -> bool:
    """Return whether an input has one place for each of a number of samples along its second axis, not its first."""
    return value.ndim > 2 and value.shape[0] != value.shape[1] == number


def answers_and_targets(loss: LossObservation) -> tuple[Numbers, Numbers] | None:
    """Return predictions and targets in the same units, with one row for each sample: classes as their probabilities.

    None for other than one target, or a few, for each sample, and for losses that do not aim at the targets themselves.
    """
    scores = to_float64(loss.scores)
    if loss.num_classes is not None:
        if scores.ndim != 2 or scores.shape[1] > MOST_TARGETS or len(loss.classes) < len(loss.targets):
            return None
        return scores if sums_to_one(scores) else _softmax(scores), np.eye(scores.shape[1])[loss.classes]
    if scores.shape != loss.targets.shape or scores.size > MOST_TARGETS * len(scores):
        return None
    are_shares = bool(np.min(scores) >= 0 and np.max(scores) <= 1)
    if loss.expects_logits:
        scores = 1 / (1 + np.exp(-scores))
    elif not (loss.is_regression_loss or (loss.kind in (None, "BCE") and loss.is_binary and are_shares)):
        return None
    return scores.reshape(len(scores), -1), to_float64(loss.targets).reshape(len(scores), -1)


def _softmax(scores: Numbers) -> Numbers:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Numbers = powers / powers.sum(axis=1, keepdims=True)
    return shares


def share_explained(answers: Numbers, targets: Numbers) -> float | None:
    """Return the share of the variance of the targets that predictions explain (R²); None if all are equal."""
    spread = float(np.sum((targets - targets.mean(axis=0)) ** 2))
    return 1 - float(np.sum((answers - targets) ** 2)) / spread if spread > 0 else None


def _are_copies(values: list[Array], targets: Numbers) -> bool:
    """Return whether the targets may be the inputs, as of an autoencoder, or a part of them."""
    return targets.shape[1] > 1 and any(value[0].size == targets.shape[1] for value in values)


def features_of(value: Array) -> Numbers:
    """Return a row of numbers for each sample: indices, such as words, are counted."""
    rows = value.reshape(len(value), -1)
    are_indices = rows.dtype.kind in "iu" and rows.min(initial=0) >= 0 and rows.max(initial=0) < MOST_INDICES
    if holds_quantities(value) or not are_indices:
        return to_float64(rows)[:, :: -(-rows.shape[1] // MOST_FEATURES) or 1]
    if rows.shape[1] <= FEW_INDICES:
        return np.hstack([np.eye(int(column.max()) + 1, dtype=np.float64)[column] for column in rows.T])
    counts = np.zeros((len(rows), int(rows.max()) + 1))
    np.add.at(counts, (np.arange(len(rows))[:, None], rows), 1)
    return counts


def _may_be_classes(targets: Numbers) -> bool:
    """Return whether targets are three to twenty consecutive whole numbers, each of them often."""
    if targets.shape[1] > 1:
        return False
    values, counts = np.unique(targets, return_counts=True)
    are_consecutive = np.array_equal(values, np.rint(values[0]) + np.arange(len(values)))
    return are_consecutive and FEWEST_CLASSES <= len(values) <= MOST_CLASSES and bool(counts.min() >= REPEATS)


def _products(features: Numbers) -> Numbers:
    """Return the scalar products of all pairs of samples, with features of mean 0 and the same spread."""
    scaled = (features - features.mean(axis=0)) / (features.std(axis=0) + TINY)
    products: Numbers = scaled @ scaled.T
    return products


def _fits(features: Numbers, targets: Numbers) -> list[SimpleFit]:
    distinct, firsts, places = np.unique(features, axis=0, return_index=True, return_inverse=True)
    if len(distinct) < FEWEST_SAMPLES:
        is_table = len(distinct) <= MOST_OF_TABLE and len(features) >= REPEATS * len(distinct)
        return [_of_table(places.reshape(-1), targets)] if is_table and np.isin(targets, (0, 1)).all() else []
    products = _products(distinct)
    targets = targets[firsts]
    names = (LINEAR, "the five nearest neighbours")
    answers = (_linear_answers(products, targets), _answers_of_neighbours(products, targets))
    return [
        SimpleFit(name, share)
        for name, each in zip(names, answers, strict=True)
        if (share := share_explained(each, targets)) is not None
    ]


def _of_table(places: Array, targets: Numbers) -> SimpleFit:
    """Return the fit of a table that has the mean of the targets for each different sample."""
    sums = np.zeros((int(places.max()) + 1, targets.shape[1]))
    np.add.at(sums, places, targets)
    means = sums / np.bincount(places)[:, None]
    return SimpleFit("a table of all inputs", share_explained(means[places], targets) or 0.0)


def _linear_answers(products: Numbers, targets: Numbers) -> Numbers:
    """Return the predictions of ridge regression for each sample without itself, with the best of some penalties.

    They follow from a fit to all samples: Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, 7.10.
    """
    sizes, vectors = np.linalg.eigh(products)
    sizes = np.maximum(sizes, 0)
    means = targets.mean(axis=0)
    along = vectors.T @ (targets - means)
    best, least = targets, np.inf
    for damping in DAMPING:
        shrunk = sizes / (sizes + damping * max(float(sizes[-1]), TINY))
        own = vectors**2 @ shrunk + 1 / len(targets)
        apart = (targets - means - vectors @ (shrunk[:, None] * along)) / np.maximum(1 - own, TINY)[:, None]
        error = float(np.sum(apart**2))
        if error < least:
            best, least = targets - apart, error
    return best


def _answers_of_neighbours(products: Numbers, targets: Numbers) -> Numbers:
    """Return the mean of the targets of the nearest other samples, for each sample."""
    sizes = np.diag(products)
    distances = sizes[:, None] + sizes - 2 * products
    np.fill_diagonal(distances, np.inf)
    nearest = np.argpartition(distances, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
    means: Numbers = targets[nearest].mean(axis=1)
    return means
