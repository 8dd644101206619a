"""LabelMix: classes that never come, or come one after the other."""

from __future__ import annotations

import collections
import statistics
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.class_labels import (
    MODEL_INPUTS,
    PARAMETERS,
    has_one_for_each_sample,
    has_unit_for_each,
)
from sagemaker_debug_ext.rules.inference.losses import INPUTS, entropy, observed_losses
from sagemaker_debug_ext.rules.inference.training import is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role

MIN_BATCH: Final = 8
MAX_CLASSES: Final = 20
FEW: Final = 8
"""How many batches there must be before anything is said of how they are mixed."""
MIN_ENTROPY: Final = 0.3
"""Entropy of all labels below which nothing is said of how they are mixed."""
METRICS_OF_NUMBERS: Final = Selection(
    patterns=[
        (
            r"-(rmse|rmsle|mae|mape|mphe|quantile|(poisson|gamma|cox|aft)-nloglik|gamma-deviance|tweedie-nloglik.*"
            r"|interval-regression-accuracy|pre|ndcg|map)(@.*)?$"
        )
    ]
)
"""What boosted trees report of counts, ranks and other numbers."""


@attrs.define
class _Labels:
    """Numbers of each class, in all batches and in the latest ones."""

    total: collections.Counter[int] = attrs.field(factory=collections.Counter)
    batches: collections.deque[Array] = attrs.field(factory=collections.deque)


def mixing(batches: list[Array]) -> float | None:
    """Return the mean entropy of the labels of a batch, in terms of that of all batches; None if that is too small.

    Entropies of small samples are too small; they are corrected by the number of classes over twice the sample, as
    Miller and Madow do.
    """
    classes, everything = np.unique(np.concatenate(batches), return_inverse=True)
    pooled = np.bincount(everything, minlength=len(classes))
    whole = entropy(pooled / pooled.sum())
    if whole < MIN_ENTROPY:
        return None
    parts = np.split(everything, np.cumsum([len(batch) for batch in batches])[:-1])
    counts = [np.bincount(part, minlength=len(classes)) for part in parts]
    mixed = [entropy(count / count.sum()) + (np.count_nonzero(count) - 1) / (2 * count.sum()) for count in counts]
    return statistics.fmean(mixed) / whole


class LabelMix(BuiltinRule):
    """A class of the output never or hardly ever comes up, or the data come sorted by their label.

    Looks at targets of losses at TRAIN steps (all steps that have no mode), as far as they are numbers of classes, one
    for each sample: the words of a sentence or the pixels of an image do not come independently of each other, and some
    classes, such as that of the beginning, are none of theirs. Where inputs of the model were saved, they tell how many
    samples there are. The rule fires if after `samples_per_class` samples for each class of the output, 20 classes at
    most, one of them has not come up, unless parameters were saved and none has a unit for each: a loss that chooses
    among candidates, as in contrastive learning, may have the right one always in the same place. It fires too if
    batches, over the latest `window`, have labels whose entropy is in the mean below `min_mixing` of that of all their
    labels together. Of tensors that hold all labels at each step, as boosted trees save them, it fires if the commonest
    class is more than `max_ratio` times as frequent as the rarest, unless the trial has a metric of numbers, such as
    the root of the mean squared error: counts and ranks are no classes. See also ClassImbalance.

    Parameters:
        samples_per_class: How many samples of each class there should have been; 100 when not given.
        window: How many batches are looked at; 20 when not given.
        min_mixing: Least entropy of a batch, as a part of that of all; 0.6 when not given.
        labels_regex: Regular expressions searched in the names of labels, as a list or separated by commas. When
            not given: ``labels`` of boosted trees.
        max_ratio: Largest ratio of the commonest to the rarest class in these; 10 when not given.

    Source:
        Batches should be drawn at random: Bengio, Practical Recommendations for Gradient-Based Training of Deep
        Architectures, 2012, section 3.1.3.

    Example:
        >>> rule = create_rule("LabelMix", trial, {"samples_per_class": 1000})
        >>> invoke_rule(rule)
    """

    spec_name = "LabelMix"
    advice = "Shuffle the data before each epoch, and check that all classes are in the training set and are read."

    def configure(self) -> None:
        self._labels = chosen_or(self.parameters["labels_regex"], Role.ALL_LABELS)
        self._seen: dict[str, _Labels] = {}

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("inputs of losses", INPUTS, is_required=False),
            TensorRequirement("labels", self._labels, is_required=False),
            TensorRequirement("inputs of the model", MODEL_INPUTS, is_required=False),
            TensorRequirement("parameters", PARAMETERS, is_required=False),
            TensorRequirement("metrics", METRICS_OF_NUMBERS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if classes are missing or sorted."""
        issues: list[Issue] = []
        was_judged = False
        for loss in observed_losses(view) if is_training(view) else ():
            if loss.num_classes is None or not has_one_for_each_sample(view, loss.targets):
                continue
            was_judged = True
            seen = self._seen.setdefault(loss.name, _Labels())
            targets = loss.targets.reshape(-1)
            seen.total.update(targets.tolist())
            if len(targets) >= MIN_BATCH:
                seen.batches.append(targets)
            if len(seen.batches) > self.parameters["window"]:
                seen.batches.popleft()
            mixed = mixing(list(seen.batches)) if len(seen.batches) > FEW else None
            if mixed is not None and mixed < self.parameters["min_mixing"]:
                issues += self._sorted(view, loss.name, seen, mixed)
            else:
                issues += self._missing(view, loss.name, loss.num_classes, seen)
        are_classes = is_training(view) and not view.selected(METRICS_OF_NUMBERS)
        for name in view.selected(self._labels) if are_classes else ():
            labels = view.value(name)
            if labels is not None and labels.dtype.kind in "biuf" and np.array_equal(labels, np.trunc(labels)):
                was_judged = True
                issues += self._rare(view, name, labels)
        return issues[:1] if was_judged else None

    def _missing(self, view: StepView, name: str, num_classes: int, seen: _Labels) -> list[Issue]:
        missing = [number for number in range(num_classes) if number not in seen.total]
        enough = num_classes * self.parameters["samples_per_class"]
        if not missing or num_classes > MAX_CLASSES or seen.total.total() < enough:
            return []
        if not has_unit_for_each(view, num_classes):
            return []
        text = (
            f"Class {missing[0]} never comes up among the {seen.total.total()} labels of {name!r} so far, although the "
            f"output has {num_classes} classes; {len(missing)} in all do not."
        )
        return [self.found(view, text, tensors=[name], value=len(missing), threshold=0)]

    def _rare(self, view: StepView, name: str, labels: Array) -> list[Issue]:
        """Evaluate the labels that boosted trees save at each round, which are always the same."""
        classes, counts = np.unique(labels, return_counts=True)
        limit: float = self.parameters["max_ratio"]
        if not 2 <= len(classes) <= MAX_CLASSES or counts.max() <= limit * counts.min():
            return []
        text = (
            f"Class {classes[counts.argmin()]:g} hardly ever comes up in {name!r}: {counts.min()} of {labels.size} "
            f"labels, and {counts.max()} of the commonest class."
        )
        return [self.found(view, text, tensors=[name], value=counts.max() / counts.min(), threshold=limit)]

    def _sorted(self, view: StepView, name: str, seen: _Labels, found: float) -> list[Issue]:
        if len(seen.batches) < self.parameters["window"]:
            return []
        limit: float = self.parameters["min_mixing"]
        text = (
            f"Labels come sorted in {name!r}: those of a batch have {found:.0%} of the entropy of those of "
            f"{len(seen.batches)} batches together."
        )
        return [self.found(view, text, tensors=[name], value=found, threshold=limit)]
