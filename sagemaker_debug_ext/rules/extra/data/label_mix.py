"""LabelMix: classes that never occur, or occur one after the other."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Collection
from typing import Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.class_labels import (
    MODEL_INPUTS,
    PARAMETERS,
    has_one_for_each_sample,
    has_unit_for_each,
)
from sagemaker_debug_ext.rules.inference.losses import INPUTS, class_shares, entropy, label_entropy, observed_losses
from sagemaker_debug_ext.rules.inference.training import is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role
from sagemaker_debug_ext.vocabulary import ModeKeys

MIN_BATCH: Final = 8
MAX_CLASSES: Final = 20
FEW: Final = 8
"""Number of batches required to evaluate how labels are mixed."""
MIN_ENTROPY: Final = 0.3
"""Entropy of all labels below which their mixing is not evaluated."""
ONLY_EVALUATED: Final = "comes up in evaluation, but never"
"""Text of the issue of classes that training does not have."""
SORTED_SPLIT: Final = "as where data that lie sorted by class are split"
"""Text of the issue of missing classes that are the first or the last ones."""
METRICS_OF_NUMBERS: Final = Selection(
    patterns=[
        (
            r"-(rmse|rmsle|mae|mape|mphe|quantile|(poisson|gamma|cox|aft)-nloglik|gamma-deviance|tweedie-nloglik.*"
            r"|interval-regression-accuracy|pre|ndcg|map)(@.*)?$"
        )
    ]
)
"""Metrics that boosted trees report for counts, ranks and other numbers."""


@attrs.define
class _Labels:
    """Number of labels of each class, in all batches and in the latest ones."""

    total: collections.Counter[int] = attrs.field(factory=collections.Counter)
    batches: collections.deque[Batch] = attrs.field(factory=collections.deque)


class Batch(NamedTuple):
    """The labels of a batch, and their entropy.

    Entropies of small samples are biased downwards. The correction of Miller and Madow adds the number of classes over
    twice the sample size.
    """

    labels: Array
    entropy: float

    @classmethod
    def of(cls, labels: Array) -> Batch:
        """Return the batch with some labels."""
        shares = class_shares(labels)
        return cls(labels, entropy(shares) + (len(shares) - 1) / (2 * len(labels)))


def mixing(batches: Collection[Batch]) -> float | None:
    """Return the mean entropy of a batch relative to that of all batches; None if that is too small."""
    whole = label_entropy(np.concatenate([batch.labels for batch in batches]))
    return None if whole < MIN_ENTROPY else statistics.fmean(batch.entropy for batch in batches) / whole


def _are_at_an_end(missing: list[int], num_classes: int) -> bool:
    """Return whether several classes are the first or the last ones, without others between."""
    block = list(range(missing[0], missing[-1] + 1))
    return len(missing) > 1 and missing == block and (block[0] == 0 or block[-1] == num_classes - 1)


def _is_computed_word_by_word(view: StepView, name: str) -> bool:
    """Return whether a step computes a loss for the first, the second, and the third word at least."""
    return name.endswith("_output_0") and f"{name.removesuffix('0')}2" in view.tensor_names


def _are_words(view: StepView, num_classes: int) -> bool:
    """Return whether the model embeds as many words as it has classes: it predicts words, of which some never occur."""
    layers = view.program.layers
    sizes = {layer.units for layer in layers if layer.type == "Embedding"}
    shapes = [value.shape for name in view.selected(PARAMETERS) if (value := view.value(name)) is not None]
    return any((num_classes, size) in shapes for size in sizes)


class LabelMix(BuiltinRule):
    """A class of the output never or hardly ever occurs, or the data are sorted by label.

    Checks targets of losses at TRAIN steps (or steps without a mode), if they are class indices, one per sample. The
    words of a sentence or the pixels of an image are skipped: they are not independent of each other, and some classes,
    such as the start token, never occur as targets; so are classes that the model also embeds. Saved inputs of the
    model give the number of samples. A loss that is computed more than twice in a step is taken for that of words which
    come one by one.

    The rule fires if one of the classes has not occurred after `samples_per_class` samples for each class of the
    output, counting at most 20 classes. Classes that occur at EVAL steps are named as such: training and evaluation
    have other parts of the data, as when data that lie in the order of their classes are split. The rule does not fire
    if parameters were saved and none has a unit per class: a contrastive loss, which chooses among candidates, may have
    the right one always in the same position. It also fires if the mean entropy of the labels of the latest `window`
    batches is below `min_mixing` of that of all their labels together.

    Boosted trees save all labels at each step. For these, the rule fires if the most frequent class is more than
    `max_ratio` times as frequent as the rarest. Labels are skipped if the trial has a regression metric, such as the
    root mean squared error, because counts and ranks are not classes. See also ClassImbalance.

    Parameters:
        samples_per_class: Number of samples required per class; 100 when not given.
        window: Number of batches to check; 20 when not given.
        min_mixing: Smallest entropy of a batch, relative to that of all batches; 0.6 when not given.
        labels_regex: Regular expressions searched in the names of labels, as a list or separated by commas. When
            not given: ``labels`` of boosted trees.
        max_ratio: Largest ratio of the most frequent to the rarest class in these; 10 when not given.

    Source:
        Batches should be drawn at random: Bengio, Practical Recommendations for Gradient-Based Training of Deep
        Architectures, 2012, section 3.1.3.

    Example:
        >>> rule = create_rule("LabelMix", trial, {"samples_per_class": 1000})
        >>> invoke_rule(rule)
    """

    spec_name = "LabelMix"
    advice = (
        "Shuffle the data before each epoch, and check that the training set contains all classes and that "
        "all of them are read. Shuffle before data are split for evaluation."
    )

    def configure(self) -> None:
        self._labels = chosen_or(self.parameters["labels_regex"], Role.ALL_LABELS)
        self._seen: dict[tuple[str, int], _Labels] = {}
        self._evaluated: dict[str, set[int]] = {}

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("inputs of losses", INPUTS, is_required=False),
            TensorRequirement("labels", self._labels, is_required=False),
            TensorRequirement("inputs of the model", MODEL_INPUTS, is_required=False),
            TensorRequirement("parameters", PARAMETERS, is_required=False),
            TensorRequirement("metrics", METRICS_OF_NUMBERS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if classes are missing, or labels are sorted."""
        issues: list[Issue] = []
        was_evaluated = False
        trains = is_training(view)
        for loss in observed_losses(view) if trains or view.mode is ModeKeys.EVAL else ():
            if loss.num_classes is None or not has_one_for_each_sample(view, loss.targets):
                continue
            if _is_computed_word_by_word(view, loss.name):
                continue
            if not trains:
                self._evaluated.setdefault(loss.name, set()).update(loss.targets.reshape(-1).tolist())
                continue
            was_evaluated = True
            seen = self._seen.setdefault((loss.name, loss.num_classes), _Labels())
            targets = loss.targets.reshape(-1)
            seen.total.update(targets.tolist())
            if len(targets) >= MIN_BATCH:
                seen.batches.append(Batch.of(targets))
            if len(seen.batches) > self.parameters["window"]:
                seen.batches.popleft()
            mixed = mixing(seen.batches) if len(seen.batches) > FEW else None
            if mixed is not None and mixed < self.parameters["min_mixing"]:
                issues += self._sorted(view, loss.name, seen, mixed)
            else:
                issues += self._missing(view, loss.name, loss.num_classes, seen)
        are_classes = is_training(view) and not view.selected(METRICS_OF_NUMBERS)
        for name in view.selected(self._labels) if are_classes else ():
            labels = view.value(name)
            if labels is not None and labels.dtype.kind in "biuf" and np.array_equal(labels, np.trunc(labels)):
                was_evaluated = True
                issues += self._rare(view, name, labels)
        return issues[:1] if was_evaluated else None

    def _missing(self, view: StepView, name: str, num_classes: int, seen: _Labels) -> list[Issue]:
        missing = [number for number in range(num_classes) if number not in seen.total]
        enough = num_classes * self.parameters["samples_per_class"]
        if not missing or num_classes > MAX_CLASSES or seen.total.total() < enough:
            return []
        if not has_unit_for_each(view, num_classes) or _are_words(view, num_classes):
            return []
        text = (
            f"Class {missing[0]} never comes up among the {seen.total.total()} labels of {name!r} so far, although "
            f"the output has {num_classes} classes; {len(missing)} classes are missing in total"
        )
        if _are_at_an_end(missing, num_classes) and self._is_evaluation_unknown(view):
            text = f"{text}, all at one end, {SORTED_SPLIT} into training and evaluation"
        text = f"{text}."
        evaluated = [number for number in missing if number in self._evaluated.get(name, ())]
        if evaluated:
            text = (
                f"Class {evaluated[0]} {ONLY_EVALUATED} among the {seen.total.total()} labels of {name!r} in training; "
                f"{len(evaluated)} classes do so."
            )
        return [self.found(view, text, tensors=[name], value=len(missing), threshold=0)]

    def _is_evaluation_unknown(self, view: StepView) -> bool:
        """Return whether there is an evaluation whose labels were not saved."""
        return not self._evaluated and bool(view.trial.steps(mode=ModeKeys.EVAL))

    def _rare(self, view: StepView, name: str, labels: Array) -> list[Issue]:
        """Evaluate the labels that boosted trees save unchanged at each round."""
        classes, counts = np.unique(labels, return_counts=True)
        limit: float = self.parameters["max_ratio"]
        if not 2 <= len(classes) <= MAX_CLASSES or counts.max() <= limit * counts.min():
            return []
        text = (
            f"Class {classes[counts.argmin()]:g} hardly ever comes up in {name!r}: it has {counts.min()} of "
            f"{labels.size} labels, and the most common class has {counts.max()}."
        )
        return [self.found(view, text, tensors=[name], value=counts.max() / counts.min(), threshold=limit)]

    def _sorted(self, view: StepView, name: str, seen: _Labels, found: float) -> list[Issue]:
        if len(seen.batches) < self.parameters["window"]:
            return []
        limit: float = self.parameters["min_mixing"]
        text = (
            f"Labels come sorted in {name!r}: those of one batch have only {found:.0%} of the entropy of "
            f"{len(seen.batches)} batches together."
        )
        return [self.found(view, text, tensors=[name], value=found, threshold=limit)]
