"""The error of the best constant prediction, with which the error of a model is compared."""

from __future__ import annotations

import collections
import math
import statistics
from typing import Final, NamedTuple

import numpy as np

from sagemaker_debug_ext.rules.inference.class_weights import weighs_classes
from sagemaker_debug_ext.rules.inference.losses import (
    LossObservation,
    class_shares,
    columns_of,
    entropy,
    observed_losses,
)
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of

FEWEST_TARGETS: Final = 200
"""Minimum number of targets for the error of a constant prediction."""
WEIGHED: Final = 0.01
"""Relative difference from the mean cross entropy beyond which a loss has weights."""
FEWEST_OF_A_PLACE: Final = 100
"""Minimum number of different samples for a constant prediction for each of their places, such as pixels."""
MOST_CELLS: Final = 1 << 20
"""Number of places, times that of classes, up to which classes are counted at each place."""
MOST_PLACES: Final = 128
"""Number of places of a sample that are looked at."""
FEWEST_OF_BOX: Final = 5
"""Fewest numbers of a box: two for its place, two for its size, and the flag that it is there."""
GAIN: Final = 4.0
"""Percentage by which the error of a model that has learnt is below that of the best constant prediction."""


def error_of(loss: LossObservation) -> float | None:
    """Return the error to compare with that of the best constant; None if the kind of loss is unknown."""
    if loss.num_classes is not None:
        return loss.cross_entropy
    if loss.expects_logits:
        is_probability = np.min(loss.scores) >= 0 and np.max(loss.scores) <= 1
        return None if is_probability else loss.bce_with_logits
    if loss.kind == "BCE":
        return loss.bce_of_probabilities
    if loss.is_regression_loss:
        return float(np.mean((to_float64(loss.scores) - to_float64(loss.targets)) ** 2))
    return None


def are_of_objects(targets: Array) -> bool:
    """Return whether targets tell by a flag where an object is, and are zeros where none is, as those of a detector.

    A loss of objects takes no notice of the places and sizes that are predicted where there are none.
    """
    if targets.ndim < 2 or targets.shape[-1] < FEWEST_OF_BOX or not targets.size:
        return False
    rows = targets.reshape(-1, targets.shape[-1])
    flags = [flag for flag in rows.T if np.isin(flag, (0, 1)).all() and flag.min() < flag.max()]
    return any(not rows[flag == 0].any() for flag in flags)


class BaselineComparison:
    """Compares the predictions of the latest steps with the best constant prediction.

    Args:
        window: Number of steps to average; more if they have fewer than `FEWEST_TARGETS` targets together.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._answered: dict[str, collections.deque[_Answered]] = {}
        self._num_targets: collections.Counter[str] = collections.Counter()
        self._seen: collections.Counter[str] = collections.Counter()
        self._weighed: set[str] = set()
        self._of_objects: set[str] = set()

    def observe(self, view: StepView) -> list[str]:
        """Observe a step, and return the names of the losses that could be compared."""
        names = []
        for loss in observed_losses(view):
            error = self._error_of(view, loss)
            of_classes = (
                error is not None
                and loss.name not in self._weighed
                and (loss.num_classes is not None or loss.expects_logits or loss.kind == "BCE")
            )
            if error is None:
                if are_of_objects(to_float64(loss.targets)):
                    self._of_objects.add(loss.name)
                is_other = loss.kind is not None or loss.name in self._of_objects
                error = None if is_other else loss.residual_variance
            if error is None:
                continue
            targets = columns_of(loss.targets) if loss.num_classes is None else loss.classes
            known = loss.share_explained if loss.is_binary else None
            self._keep(loss.name, _Answered(error, targets, of_classes, loss.constant_part, _places_of(loss), known))
            self._seen[loss.name] += 1
            names.append(loss.name)
        return names

    def _error_of(self, view: StepView, loss: LossObservation) -> float | None:
        """Return the error of predictions. For a loss with weights, it is the residual variance of the targets.

        Weights of classes shift the predictions, so that their cross entropy is no measure of success. Where targets
        are indices of classes, nothing is compared then.
        """
        if loss.num_classes is not None and (weighs_classes(view, loss) or _is_lowered(view, loss)):
            return None
        is_weighed_here = is_weighed(loss) or (loss.is_binary and view.program.is_weighted)
        if loss.name not in self._weighed and is_weighed_here:
            self._weighed.add(loss.name)
            self._answered.pop(loss.name, None)
            self._num_targets.pop(loss.name, None)
        return loss.residual_variance if loss.name in self._weighed else error_of(loss)

    def _keep(self, name: str, latest: _Answered) -> None:
        kept = self._answered.setdefault(name, collections.deque())
        kept.append(latest)
        self._num_targets[name] += latest.targets.size
        while len(kept) > self._window and self._num_targets[name] - kept[0].targets.size >= FEWEST_TARGETS:
            self._num_targets[name] -= kept.popleft().targets.size

    def num_seen(self, name: str) -> int:
        """Return the number of steps at which a loss could be compared."""
        return self._seen[name]

    def gain(self, name: str) -> float | None:
        """Return the percentage by which the error behind a loss is below that of the best constant prediction.

        None if there are too few targets, or if all of them are equal.
        """
        answered = self._answered.get(name)
        if not answered or self._num_targets[name] < FEWEST_TARGETS:
            return None
        # the kind of a loss may be unknown at single steps, as at the last batch of an epoch, which is smaller
        (of_classes, _), *_ = collections.Counter(observation.of_classes for observation in answered).most_common()
        kept = [observation for observation in answered if observation.of_classes == of_classes]
        if any(observation.targets.shape[1:] != kept[-1].targets.shape[1:] for observation in kept):
            return None
        targets = np.concatenate([observation.targets for observation in kept])
        constant = error_of_constant(targets, of_classes)
        if kept[-1].num_places > 1 and all(observation.num_places == kept[-1].num_places for observation in kept):
            constant = min(constant, error_of_places(targets.reshape(-1, kept[-1].num_places)))
        if not (constant > 0 and np.isfinite(constant)):
            return None
        return 100 * (1 - statistics.fmean(observation.loss for observation in kept) / constant)

    def gains(self) -> dict[str, float]:
        """Return the gain of each loss that is known; see `gain`."""
        known = {name: self.gain(name) for name in self._seen}
        return {name: gain for name, gain in known.items() if gain is not None}

    def constant_part(self, name: str) -> float:
        """Return the mean of `LossObservation.constant_part`; 0 if nothing was compared."""
        return statistics.fmean([observation.constant_part for observation in self._answered.get(name, ())] or [0.0])

    def share_explained(self, name: str) -> float:
        """Return the mean of `LossObservation.share_explained` of binary predictions; 0 if it is unknown."""
        shares = [observation.share_explained for observation in self._answered.get(name, ())]
        return statistics.fmean([share for share in shares if share is not None] or [0.0])


def _is_lowered(view: StepView, loss: LossObservation) -> bool:
    """Return whether a loop has a loss below the cross entropy of TensorFlow that it calls, so that it weights this."""
    record = view.program.loss(naming_scheme_of(view.trial).loss_of(loss.answers_name))
    is_of_loop = record is not None and record.type.endswith("softmax_cross_entropy_with_logits")
    return is_of_loop and loss.cross_entropy is not None and loss.value < (1 - WEIGHED) * loss.cross_entropy


class _Answered(NamedTuple):
    loss: float
    targets: Array
    of_classes: bool
    constant_part: float
    num_places: int
    share_explained: float | None


def _places_of(loss: LossObservation) -> int:
    """Return how many targets each sample has, if they are the indices of classes, all of them known; 1 otherwise."""
    is_whole = loss.num_classes is not None and loss.classes.size == loss.targets.size
    return loss.targets[:1].size if is_whole else 1


def error_of_places(classes: Array) -> float:
    """Return the mean cross entropy of predictions that each place of the samples, such as a pixel, makes alone.

    Each class is predicted from the same place of all other different samples, with one sample's weight for the shares
    of the classes at all places. Few samples, or rare classes, thus make the error too large, never too small.

    Args:
        classes: Indices of classes, with one row for each sample.

    Returns:
        The mean in nats; infinity for few different samples.
    """
    width = classes.shape[1]
    places = np.random.default_rng(0).permutation(width)[:MOST_PLACES] if width > MOST_PLACES else np.arange(width)
    some = np.unique(classes[:, places], axis=0)
    labels, some = np.unique(some, return_inverse=True)
    some = some.reshape(-1, len(places))
    if len(some) < FEWEST_OF_A_PLACE or len(labels) * len(places) > MOST_CELLS:
        return math.inf
    cells = some + len(labels) * np.arange(len(places))
    counts = np.bincount(cells.reshape(-1), minlength=len(labels) * len(places))
    shares = np.bincount(some.reshape(-1)) / some.size
    return float(-np.mean(np.log((counts[cells] - 1 + shares[some]) / len(some))))


def error_of_constant(targets: Array, of_classes: bool) -> float:
    """Return the error of the best constant prediction: entropy or variance; of several targets, of each on its own."""
    if not of_classes:
        return float(np.var(to_float64(targets), axis=0, ddof=1).mean()) if len(targets) > 1 else 0.0
    are_whole = targets.dtype.kind in "iu" or np.array_equal(targets, np.trunc(targets))
    if targets.ndim == 1 and are_whole:
        shares = class_shares(targets)
        entropy_of_sample = entropy(shares)
        # The entropy of a small sample is too small: the correction of Miller and Madow.
        return entropy_of_sample + (len(shares) - 1) / (2 * targets.size) if entropy_of_sample else 0.0
    of_each = binary_entropy(np.mean(to_float64(targets), axis=0))
    return float(np.mean(of_each + np.where(of_each > 0, are_whole / (2 * len(targets)), 0)))


def binary_entropy(shares: Array) -> Array:
    """Return the entropy for each probability of class 1."""
    of_both = np.stack([shares, 1 - shares])
    return np.asarray(-np.sum(of_both * np.log(np.where(of_both > 0, of_both, 1)), axis=0))


def is_weighed(loss: LossObservation) -> bool:
    """Return whether a binary cross entropy is not the mean, because it weighs classes or samples, or adds them up."""
    if loss.num_classes is not None or loss.scores.shape != loss.targets.shape:
        return False
    if loss.kind == "BCEWithLogits" and loss.is_binary:
        plain = loss.bce_with_logits
    elif loss.kind == "BCE" and loss.bce_of_probabilities is not None:
        plain = loss.bce_of_probabilities
    else:
        return False
    return np.isfinite(loss.value) and abs(loss.value - plain) > WEIGHED * plain
