"""ClassImbalance: unbalanced labels, or a class that is mostly mispredicted."""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping
from typing import Final

import attrs

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.class_labels import MODEL_INPUTS, ClassIds, has_one_for_each_sample
from sagemaker_debug_ext.rules.inference.losses import (
    INPUTS,
    LossObservation,
    class_labels,
    count_classes,
    labels_in,
    observed_losses,
    predicted_classes,
    predicted_in,
)
from sagemaker_debug_ext.rules.inference.training import is_final, is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView

MOST_CLASSES: Final = 30
"""Number of classes beyond which labels are rather those of a vocabulary."""
LATEST: Final = 40
"""Number of latest steps in which a class must have been predicted."""
ENOUGH: Final = 1000
"""Fewest places of a class in these steps, where samples have several labels."""
RARE: Final = 0.05
"""Fraction of all places up to which a class is rare."""
HARDLY: Final = 0.01
"""Fraction of the places of a class up to which it is hardly ever predicted."""
ENOUGH_SAMPLES: Final = 30
"""Fewest samples of a class in these steps, where each has one label."""
RARE_SAMPLES: Final = 0.15
"""Fraction of all samples up to which a class is rare."""
EQUAL: Final = 0.5
"""Fraction of an equal share of all classes up to which a class is rare."""
PLAIN: Final = 0.01
"""Relative difference up to which a loss is taken for the mean cross entropy."""


def imbalance(counts: Mapping[int, int]) -> float | None:
    """Return the ratio of the largest class to the smallest, or None for fewer than two classes."""
    return max(counts.values()) / min(counts.values()) if len(counts) > 1 else None


def worst_misprediction(counts: Mapping[int, int], wrong: Mapping[int, int]) -> tuple[int, float] | None:
    """Return the class with the largest fraction of wrong predictions, and that fraction; None without predictions.

    Args:
        counts: Number of predictions for samples of each class, by label.
        wrong: Number of these that named another class.
    """
    shares = {label: wrong.get(label, 0) / number for label, number in counts.items()}
    if not shares:
        return None
    worst = max(shares, key=lambda label: (shares[label], -label))
    return worst, shares[worst]


@attrs.define
class _Counted:
    """Numbers of labels, of those with a prediction, and of those with a wrong one, for each class."""

    labels: collections.Counter[int] = attrs.field(factory=collections.Counter)
    predicted: collections.Counter[int] = attrs.field(factory=collections.Counter)
    wrong: collections.Counter[int] = attrs.field(factory=collections.Counter)

    def add(self, labels: ClassIds, predictions: ClassIds | None) -> None:
        ids = labels.tolist()
        self.labels.update(ids)
        if predictions is not None and len(predictions) == len(labels):
            self.predicted.update(ids)
            wrong = labels[labels != predictions]
            if wrong.size:
                self.wrong.update(wrong.tolist())


@attrs.define
class _PlacesOfClasses:
    """How many places of each class the latest steps had, and at how many of these it was predicted."""

    _latest: collections.deque[tuple[collections.Counter[int], collections.Counter[int]]] = attrs.field(
        factory=lambda: collections.deque(maxlen=LATEST)
    )

    def add(self, labels: ClassIds, predictions: ClassIds) -> None:
        """Add a step."""
        found = labels[labels == predictions]
        self._latest.append((count_classes(labels), count_classes(found)))

    def unpredicted(self, *, of_samples: bool = False) -> tuple[int, int, int] | None:
        """Return the rarest class that is hardly ever predicted, its number of places, and that of all; None if none.

        Only a class that few places have is one that weights would help. Of samples, a class must never be predicted.
        """
        enough, rare, hardly = (ENOUGH_SAMPLES, RARE_SAMPLES, 0) if of_samples else (ENOUGH, RARE, HARDLY)
        if len(self._latest) < LATEST:
            return None
        of_class = sum((labels for labels, _ in self._latest), collections.Counter[int]())
        found = sum((right for _, right in self._latest), collections.Counter[int]())
        total = of_class.total()
        rare = min(rare, EQUAL / len(of_class)) if of_samples else rare
        for label, number in reversed(of_class.most_common()):
            if enough <= number < rare * total and found[label] <= hardly * number:
                return label, number, total
        return None


def _is_per_sample(view: StepView, name: str) -> bool:
    """Return whether each sample has one label, evaluating by shapes and by the inputs of the model."""
    value, labels = view.value(name), class_labels(view, name)
    if value is None or value.ndim == 0 or labels is None:
        return True
    return labels.size == len(value) and has_one_for_each_sample(view, labels.reshape(-1))


def is_weighed(view: StepView, labels: str) -> bool:
    """Return whether a loss differs from the mean cross entropy of its labels, evaluating by the saved predictions."""
    for loss in observed_losses(view):
        if loss.targets_name == labels and math.isfinite(loss.value):
            plain = loss.cross_entropy if loss.num_classes is not None else None
            if plain is None and loss.is_binary:
                shares = to_float64(loss.scores)
                are_shares = shares.min() >= 0 and shares.max() <= 1
                plain = None if are_shares else loss.bce_with_logits
            if plain is not None:
                return abs(loss.value - plain) > PLAIN * abs(plain)
    return False


class ClassImbalance(BuiltinRule):
    """Labels are unbalanced, or one class is mostly mispredicted.

    Counts the labels of all saved steps of every mode. Once `samples` labels have been counted, it can fire at each
    step with labels. It fires if the largest class is more than `threshold_imbalance` times as frequent as the
    smallest. It also fires if more than `threshold_misprediction` of a class were predicted as another class.

    Predictions count at steps at which as many predictions as labels were saved. Whole numbers are class indices; other
    values from 0 to 1 are probabilities of class 1. Any other value makes the rule end with an error. In Keras, the
    loss tells whether labels are classes, one-hot or not; numbers to regress are not evaluated.

    Parameters:
        threshold_imbalance: Largest ratio of the largest to the smallest class; 10 when not given.
        threshold_misprediction: Largest fraction of wrong predictions for a class; 0.7 when not given.
        samples: Labels to count before the first verdict; 500 when not given.
        argmax: Whether to take the arg-max over the last axis of predictions first; False when not given.
        per_sample: Whether to skip labels of which a sample has several at any step, such as words of a text, pixels of
            an image or lists of tags, and those of more than 30 classes, such as the next character of a text, which
            are naturally unbalanced; False when not given. The labels of losses with different numbers of classes are
            then counted apart, because they are of different tasks. When the job has ended, the rule still fires for a
            class of pixels that has less than a twentieth of them, and that the latest 40 training steps hardly ever
            predicted, or for a class of less than 15 % of the samples, and half of an equal share, that these never
            predicted.
        unless_weighed: Whether to skip labels of a loss that is not the plain mean over the samples, such as a loss
            that weights rare classes more; False when not given.
        labels_regex: Regular expressions searched in the names of label tensors; ``.*labels`` when not given.
        predictions_regex: The same for predictions; ``.*predictions`` when not given.

    Example:
        >>> parameters = {"labels_regex": "CrossEntropyLoss_input_1", "predictions_regex": "CrossEntropyLoss_input_0"}
        >>> rule = create_rule("ClassImbalance", trial, {**parameters, "argmax": True})
        >>> invoke_rule(rule)
    """

    spec_name = "ClassImbalance"
    evaluates_only_tensors = True
    advice = (
        "Weight the loss by class, sample rare classes more often, or collect more data for them. If only "
        "predictions of one class are wrong, check its labels."
    )

    def configure(self) -> None:
        self._labels = Selection(patterns=self.parameters["labels_regex"])
        self._predictions = Selection(patterns=self.parameters["predictions_regex"])
        self._counted: dict[tuple[int, ...], _Counted] = {}
        self._weighed: set[str] = set()
        self._several: set[str] = set()
        self._places: dict[str, _PlacesOfClasses] = {}
        self._pending: dict[str, tuple[StepView, Issue]] = {}

    def needs(self) -> tuple[TensorRequirement, ...]:
        labels, predictions = (
            TensorRequirement("labels", self._labels),
            TensorRequirement("predictions", self._predictions, is_required=False),
        )
        found = [labels, predictions]
        if self.parameters["per_sample"]:
            found.append(TensorRequirement("inputs of the model", MODEL_INPUTS, is_required=False))
        if self.parameters["unless_weighed"]:
            found.append(TensorRequirement("inputs of losses", INPUTS, is_required=False))
        return tuple(found)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Count the labels and predictions of the step, and return an issue if they are unbalanced."""
        names = view.selected(self._labels)
        if self.parameters["per_sample"]:
            self._several |= {name for name in names if not _is_per_sample(view, name)}
            of_places = [name for name in names if name in self._several]
            names = [name for name in names if name not in self._several]
            if of_places and not names:
                return self._evaluate_places(view, of_places)
        if self.parameters["unless_weighed"]:
            self._weighed |= {name for name in names if is_weighed(view, name)}
            names = [name for name in names if name not in self._weighed]
        labels = labels_in(view, names)
        if labels is None:
            return None
        predictions = predicted_in(view, view.selected(self._predictions), argmax=self.parameters["argmax"])
        counted = self._counted.setdefault(self._task_of(view, names), _Counted())
        counted.add(labels, predictions)
        unpredicted = self._evaluate_samples(view, names)
        if counted.labels.total() < self.parameters["samples"]:
            return None
        if self.parameters["per_sample"] and len(counted.labels) > MOST_CLASSES:
            return None
        return (
            self._evaluate_balance(view, names, counted)
            or self._evaluate_predictions(view, names, counted)
            or unpredicted
        )

    def _task_of(self, view: StepView, names: list[str]) -> tuple[int, ...]:
        """Return the numbers of classes of the losses of labels, which tell tasks apart; empty to count all of them."""
        if not self.parameters["per_sample"]:
            return ()
        losses = [loss for loss in observed_losses(view) if loss.targets_name in names]
        return tuple(sorted(loss.num_classes for loss in losses if loss.num_classes is not None))

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last steps, if no more steps will follow."""
        return [self._pending.pop(name)[1] for name, (view, _) in list(self._pending.items()) if is_final(view, name)]

    def _evaluate_samples(self, view: StepView, names: list[str]) -> list[Issue]:
        """Return an issue if the job has ended and a rare class of samples is never predicted."""
        losses = observed_losses(view) if self.parameters["per_sample"] and is_training(view) else ()
        classified = [
            (loss, ids)
            for loss in losses
            if loss.targets_name in names and (ids := predicted_classes(loss)) is not None
        ]
        return [issue for loss, ids in classified if (issue := self._add_places(view, loss, *ids)) is not None]

    def _evaluate_places(self, view: StepView, names: list[str]) -> list[Issue] | None:
        """Return an issue if the job has ended and a rare class of pixels is hardly ever predicted; None if unknown."""
        found: list[Issue] = []
        losses = [loss for loss in observed_losses(view) if loss.targets_name in names and loss.targets.ndim > 2]
        for loss in losses if is_training(view) else ():
            ids = predicted_classes(loss)
            if ids is None or (self.parameters["unless_weighed"] and is_weighed(view, loss.targets_name)):
                continue
            issue = self._add_places(view, loss, *ids)
            found += [] if issue is None else [issue]
        return found if losses else None

    def _add_places(
        self, view: StepView, loss: LossObservation, labels: ClassIds, predictions: ClassIds
    ) -> Issue | None:
        """Add the labels of a step, and return an issue if it is the last one and a rare class is not predicted."""
        places = self._places.setdefault(loss.targets_name, _PlacesOfClasses())
        places.add(labels, predictions)
        self._pending.pop(loss.targets_name, None)
        of_samples = loss.targets_name not in self._several
        unpredicted = places.unpredicted(of_samples=of_samples)
        if unpredicted is None:
            return None
        issue = self._issue_of_places(view, loss, *unpredicted, of_samples=of_samples)
        if is_final(view, loss.targets_name):
            return issue
        self._pending[loss.targets_name] = (view, issue)
        return None

    def _issue_of_places(
        self, view: StepView, loss: LossObservation, label: int, number: int, total: int, *, of_samples: bool
    ) -> Issue:
        how, what, rare = (
            ("never predicted", "samples", RARE_SAMPLES) if of_samples else ("hardly ever predicted", "places", RARE)
        )
        text = (
            f"Class {label} is {how} where it is right: it has {number / total:.2%} of the {what} of "
            f"{loss.targets_name!r}, and the loss counts all {what} alike."
        )
        tensors = [loss.targets_name, loss.answers_name]
        return self.found(view, text, tensors=tensors, value=total / number, threshold=1 / rare)

    def _evaluate_balance(self, view: StepView, names: list[str], counted: _Counted) -> list[Issue]:
        ratio = imbalance(counted.labels)
        limit: float = self.parameters["threshold_imbalance"]
        if ratio is None or ratio <= limit:
            return []
        (big, most), *_, (small, least) = counted.labels.most_common()
        text = (
            f"Labels are unbalanced: class {big} occurs {most} times and class {small} {least} times, a ratio of "
            f"{ratio:.3g} (at most {limit:g} allowed)."
        )
        return [self.found(view, text, tensors=names, value=ratio, threshold=limit)]

    def _evaluate_predictions(self, view: StepView, names: list[str], counted: _Counted) -> list[Issue]:
        if not counted.wrong:
            return []
        worst = worst_misprediction(counted.predicted, counted.wrong)
        limit: float = self.parameters["threshold_misprediction"]
        if worst is None or worst[1] <= limit:
            return []
        text = (
            f"Class {worst[0]} is mostly mispredicted: {worst[1]:.1%} of its {counted.predicted[worst[0]]} "
            f"predictions were another class (at most {limit:.1%} allowed)."
        )
        tensors = [*view.selected(self._predictions), *names]
        return [self.found(view, text, tensors=tensors, value=worst[1], threshold=limit)]
