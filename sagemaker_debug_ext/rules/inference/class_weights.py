"""The classes of targets: how much each counts in a loss (`ClassWeights`), and how common it is (`ClassCounts`)."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.inference.class_labels import has_one_for_each_sample
from sagemaker_debug_ext.rules.inference.losses import LossObservation, observed_losses
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.store.format.program import ProgramRecord
from sagemaker_debug_ext.vocabulary import ModeKeys

FEWEST_LABELS: Final = 300
"""Number of labels from which on the frequencies of classes are known."""
MOST_CLASSES: Final = 1000
MORE_COMMON: Final = 2
"""Ratio of the most common class to the rarest from which on weights matter."""
HEAVIER: Final = 1.5
"""Ratio of their weights above which the most common class is favoured on purpose or by mistake."""


FEWEST_OF_A_SET: Final = 64
FEWEST_OF_A_CLASS: Final = 10
"""Mean number of targets of a class from which on shares of classes can be compared."""
MOST_COMPARED: Final = 20
"""Number of classes up to which their shares are compared."""


def weights_of(program: ProgramRecord, name: str) -> dict[int, float]:
    """Return the weight of each class in a loss, by the record of a program; empty if there are none, or unknown.

    A single ``pos_weight`` is that of class 1, and that of class 0 is 1.
    """
    loss = program.loss(name)
    arguments = loss.arguments if loss else {}
    weights, of_yes = arguments.get("weight"), arguments.get("pos_weight")
    if isinstance(weights, list) and len(weights) > 1:
        return dict(enumerate(weights))
    of_yes = of_yes[0] if isinstance(of_yes, list) and len(of_yes) == 1 else of_yes
    return {0: 1.0, 1: of_yes} if isinstance(of_yes, float) else {}


def weighs_classes(view: StepView, loss: LossObservation) -> bool:
    """Return whether the program record has weights of classes for a loss, or of samples for the model."""
    name = naming_scheme_of(view.trial).loss_of(loss.answers_name)
    return view.program.is_weighted or len(set(weights_of(view.program, name).values())) > 1


class ClassWeights:
    """The weights of classes in a loss, and the number of their labels so far.

    Args:
        weights: Weight of each class; empty if weights of samples show them.
    """

    def __init__(self, weights: Mapping[int, float]) -> None:
        self._weights = dict(weights)
        self._is_given = bool(weights)
        self._counts = collections.Counter[int]()

    def observe(self, labels: Array, of_samples: Array | None = None) -> None:
        """Add the labels of a step.

        Args:
            labels: The class of each sample, or a vector with a 1 at its class.
            of_samples: Weight of each sample, which weights of classes give all samples of a class alike.
        """
        if not self._weights and of_samples is None:
            return
        values = to_float64(labels)
        if values.ndim == 2 and values.shape[1] > 1 and np.all(values.max(axis=1) == values.sum(axis=1)):
            values = values.argmax(axis=1)
        values = values.reshape(-1)
        if values.size == 0 or not np.all((values == np.trunc(values)) & (values < MOST_CLASSES)):
            return
        known, counts = np.unique(values[values >= 0].astype(np.int64), return_counts=True)
        self._counts.update(dict(zip(known.tolist(), counts.tolist(), strict=True)))
        if self._is_given or of_samples is None or of_samples.size != values.size:
            return
        weights = to_float64(of_samples).reshape(-1)
        for label in known.tolist():
            mine = weights[values == label]
            first = self._weights.setdefault(label, float(mine[0]))
            if np.any(mine != first):  # weights of single samples
                self._weights[label] = math.nan

    @property
    def favours_common(self) -> bool:
        """Whether classes weigh the more, the more common they are, as weights in the wrong order do."""
        known = sorted((count, self._weights[label]) for label, count in self._counts.items() if label in self._weights)
        if sum(self._counts.values()) < FEWEST_LABELS or len(known) < 2 or known[-1][0] < MORE_COMMON * known[0][0]:
            return False
        weights = [weight for _, weight in known]
        grows = all(weight <= following for weight, following in itertools.pairwise(weights))
        return grows and weights[-1] > HEAVIER * weights[0]


class ClassCounts:
    """Counts the classes of targets, of one for each sample, in training and in evaluation."""

    def __init__(self) -> None:
        self._counts = collections.defaultdict[str, dict[bool, collections.Counter[int]]](
            lambda: {False: collections.Counter(), True: collections.Counter()}
        )

    def observe(self, view: StepView) -> None:
        """Observe a step of training or evaluation."""
        for loss in observed_losses(view):
            if loss.num_classes is None and not loss.is_binary:
                continue
            targets = loss.targets if loss.targets.shape[1:] != (1,) else loss.targets.reshape(-1)
            if has_one_for_each_sample(view, targets):
                counts = self._counts[loss.targets_name][view.mode is ModeKeys.EVAL]
                counts.update(targets.astype(np.int64).tolist())

    def difference(self, name: str) -> float | None:
        """Return by how much the shares of classes in evaluation differ from those in training, from 0 to 1.

        It is the sum of all that a class has more in evaluation. None if there are too few targets, or too many classes
        for them, and if training has a single class.
        """
        training, evaluation = self._counts[name].values()
        num_classes = len(training.keys() | evaluation.keys())
        fewest = max(FEWEST_OF_A_SET, FEWEST_OF_A_CLASS * num_classes)
        if len(training) < 2 or num_classes > MOST_COMPARED or min(training.total(), evaluation.total()) < fewest:
            return None
        return sum(
            max(number / evaluation.total() - training[label] / training.total(), 0.0)
            for label, number in evaluation.items()
        )

    def names(self) -> tuple[str, ...]:
        """Return the names of the tensors with targets."""
        return tuple(self._counts)
