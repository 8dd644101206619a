"""The error of the best constant prediction, with which the error of a model is compared."""

from __future__ import annotations

import collections
import statistics
from typing import Final, NamedTuple

import numpy as np

from sagemaker_debug_ext.rules.inference.losses import LossObservation, entropy, label_entropy, observed_losses
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.step_view import StepView

FEWEST_TARGETS: Final = 200
"""How many targets there must be for the error of a constant to be known."""
WEIGHED: Final = 0.01
"""Part of the mean cross entropy by which a loss differs from it if it weighs what it adds up."""
GAIN: Final = 4.0
"""By how many percent answers must be better than the best constant for the model to have learnt something."""


def error_of(loss: LossObservation) -> float | None:
    """Return what can be compared with the best constant; None if there is no telling what the loss wants."""
    if loss.num_classes is not None:
        return loss.cross_entropy()
    if loss.expects_logits:
        is_probability = np.min(loss.scores) >= 0 and np.max(loss.scores) <= 1
        return None if is_probability else loss.bce_with_logits()
    if loss.is_regression_loss:
        return float(np.mean((to_float64(loss.scores) - to_float64(loss.targets)) ** 2))
    return None


class BaselineComparison:
    """By how much answers of the latest steps are better than the best constant answer.

    Args:
        window: How many steps are averaged; more if they have fewer than `FEWEST_TARGETS` targets together.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._answered: dict[str, collections.deque[_Answered]] = {}
        self._num_targets: collections.Counter[str] = collections.Counter()
        self._seen: collections.Counter[str] = collections.Counter()
        self._weighed: set[str] = set()

    def observe(self, view: StepView) -> list[str]:
        """Observe a step, and return the names of the losses that could be compared."""
        names = []
        for loss in observed_losses(view):
            error = self._error_of(loss)
            has_classes = loss.num_classes is not None or loss.expects_logits
            of_classes = error is not None and loss.name not in self._weighed and has_classes
            if error is None:
                error = None if loss.kind is not None else loss.residual_variance()
            if error is None:
                continue
            targets = loss.targets.reshape(-1)
            if loss.num_classes is not None:  # others are ignored, as padding is
                targets = targets[(targets >= 0) & (targets < loss.num_classes)]
            self._keep(loss.name, _Answered(error, targets, of_classes))
            self._seen[loss.name] += 1
            names.append(loss.name)
        return names

    def _error_of(self, loss: LossObservation) -> float | None:
        """Return the error of answers; of those that a loss weighs, what goes with the targets counts.

        Where yes counts more than no, answers lean towards it.
        """
        if loss.name not in self._weighed and is_weighed(loss):
            self._weighed.add(loss.name)
            self._answered.pop(loss.name, None)
            self._num_targets.pop(loss.name, None)
        return loss.residual_variance() if loss.name in self._weighed else error_of(loss)

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
        """Return by how many percent the error behind a loss is below that of a constant; None if that cannot be told.

        Few targets tell nothing, nor do those that are all the same.
        """
        kept = self._answered.get(name)
        if not kept or self._num_targets[name] < FEWEST_TARGETS:
            return None
        targets = np.concatenate([observation.targets for observation in kept])
        constant = error_of_constant(targets, kept[-1].of_classes)
        if not (constant > 0 and np.isfinite(constant)):
            return None
        return 100 * (1 - statistics.fmean(observation.loss for observation in kept) / constant)


class _Answered(NamedTuple):
    loss: float
    targets: Array
    of_classes: bool


def error_of_constant(targets: Array, of_classes: bool) -> float:
    """Return the error of the best constant prediction: entropy or variance."""
    if not of_classes:
        return float(np.var(to_float64(targets), ddof=1)) if targets.size > 1 else 0.0
    if targets.dtype.kind in "iu" or np.array_equal(targets, np.trunc(targets)):
        entropy_of_sample = label_entropy(targets)
        # of a small sample it is too small; Miller and Madow's correction
        return entropy_of_sample + (len(np.unique(targets)) - 1) / (2 * targets.size) if entropy_of_sample else 0.0
    mean = float(np.mean(to_float64(targets)))  # shares of class 1
    return entropy(np.array([mean, 1 - mean]))


def is_weighed(loss: LossObservation) -> bool:
    """Return whether a loss of yes and no with margins is another number than their mean cross entropy."""
    if loss.num_classes is not None or not loss.is_binary or loss.kind != "BCEWithLogits":
        return False
    plain = loss.bce_with_logits()
    return np.isfinite(loss.value) and abs(loss.value - plain) > WEIGHED * plain
