"""PredictionCollapse: one class is predicted for nearly all samples, or all labels are the same."""

from __future__ import annotations

import collections
import math
import statistics
from collections.abc import Iterable
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.class_labels import ClassIds, class_ids, has_unit_for_each
from sagemaker_debug_ext.rules.inference.losses import class_answers, class_labels, observed_losses
from sagemaker_debug_ext.rules.inference.moving_goals import AdversarialLosses
from sagemaker_debug_ext.rules.inference.training import is_final, is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role

OFTEN: Final = 0.1
"""Fraction of all labels so far above which a class without recent labels comes in an order, and is not rare."""
NEVER: Final = 0.005
"""Fraction of all labels so far up to which a class without recent labels is rare."""
NUM_BATCHES: Final = 10
"""Number of batches over which scores and labels are correlated."""
TELLING: Final = 0.5
"""Correlation of either sign above which the model distinguishes classes, wherever its threshold is."""


def knowledge(scores: Array, labels: ClassIds) -> float | None:
    """Return the correlation of the scores of a batch with its labels, after removing the mean over the samples.

    Return None if scores do not belong to the labels, are complex, or do not differ between samples.
    """
    if scores.dtype.kind == "c":
        return None
    values = to_float64(scores)
    if values.size == len(labels):
        values, wanted = values.reshape(-1, 1), labels.reshape(-1, 1).astype(np.float64)
    elif values.ndim == 2 and len(values) == len(labels) and labels.min() >= 0 and labels.max() < values.shape[1]:
        values = np.exp(values - values.max(axis=1, keepdims=True))
        values /= values.sum(axis=1, keepdims=True)
        wanted = np.eye(values.shape[1])[labels]
    else:
        return None
    values, wanted = values - values.mean(axis=0), wanted - wanted.mean(axis=0)
    size = math.sqrt(float(np.square(values).sum() * np.square(wanted).sum()))
    return float((values * wanted).sum()) / size if size > 0 and math.isfinite(size) else None


def predicted_ids(scores: Array) -> ClassIds | None:
    """Return the predicted class of each sample, or None if the scores are not class predictions."""
    if scores.dtype.kind == "c" or not np.isfinite(scores.astype(np.float64)).all():
        return None
    if scores.ndim == 2 and scores.shape[1] > 1:
        classes: ClassIds = np.argmax(scores, axis=1).astype(np.int64)
        return classes
    flat = scores.reshape(-1)
    if flat.dtype.kind != "f" or np.array_equal(flat, np.trunc(flat)):
        return flat.astype(np.int64)
    is_probability = flat.min() >= 0 and flat.max() <= 1
    return (flat > (0.5 if is_probability else 0.0)).astype(np.int64)


class PredictionCollapse(BuiltinRule):
    """One class is predicted for nearly all samples, although the labels differ; or all labels are the same.

    Checks the latest `samples` samples of TRAIN steps (or steps without a mode). The rule fires if more than
    `max_share` of the predictions are one class, while no class has more than `max_label_share` of the labels. It also
    fires if all labels are the same. The message then states whether all earlier labels were too, whether other labels
    are as rare as one in two hundred, or whether labels come in an order. Labels of a loss that chooses among
    candidates may all be the same: see LabelMix.

    Predictions do not count while the scores distinguish the labels of each class, with a correlation of more than a
    half, of either sign. The model then knows the classes, and only its threshold is still off, or its scores are
    distances. Predictions are scores, one per class, or probabilities or margins of class 1. Labels are class indices.
    Of a batch with more labels, such as one for each pixel, as many as `samples` from all over it are checked.
    Adversarial labels are not evaluated: a model that cannot distinguish their classes may face a good generator.

    Parameters:
        labels_regex: Regular expressions searched in the names of labels. When not given: targets of cross entropy,
            binary cross entropy and negative log likelihood, as the framework names them, and ``labels``.
        predictions_regex: The same for predictions. When not given: the inputs of these losses, and ``predictions``.
        samples: Number of samples to check; 200 when not given.
        patience: Number of steps with labels before the first verdict; 40 when not given.
        patience_running: The same while the job runs on; 40 when not given. Predictions that collapse later
            have to do so for as many steps as there are between the two.
        max_share: Largest fraction of one predicted class; 0.98 when not given.
        max_label_share: Largest fraction of one class in the labels for which predictions are evaluated; 0.8 when not
            given.

    Source:
        Networks that give the same answer to everything are a symptom of many faults; see Zhang, Zhai, Ma and Shen,
        AutoTrainer, ICSE 2021.

    Example:
        >>> rule = create_rule("PredictionCollapse", trial, {"samples": 1000, "max_share": 0.95})
        >>> invoke_rule(rule)
    """

    spec_name = "PredictionCollapse"
    advice = (
        "Look for dead or saturated layers before the output, a learning rate that is too high, unscaled "
        "inputs, and misread labels. If the classes are unbalanced, weight the loss."
    )

    def configure(self) -> None:
        self._labels = chosen_or(self.parameters["labels_regex"], Role.CLASS_LABEL)
        self._predictions = chosen_or(self.parameters["predictions_regex"], Role.CLASS_SCORES)
        self._recent_labels: collections.deque[int] = collections.deque(maxlen=self.parameters["samples"])
        self._recent_predictions: collections.deque[int] = collections.deque(maxlen=self.parameters["samples"])
        self._all_labels: collections.Counter[int] = collections.Counter()
        self._known: collections.deque[float] = collections.deque(maxlen=NUM_BATCHES)
        self._adversarial = AdversarialLosses()
        self._num_steps = 0
        self._length = 0
        self._pending: dict[str, tuple[StepView, list[Issue]]] = {}

    def needs(self) -> tuple[TensorRequirement, ...]:
        return TensorRequirement("labels", self._labels), TensorRequirement(
            "predictions", self._predictions, is_required=False
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if nearly all predictions, or all labels, are one class."""
        names = view.selected(self._labels) if is_training(view) else []
        if names:
            self._adversarial.observe(view)
        values = [class_labels(view, name) for name in names]
        labels = [found for value in values if value is not None and (found := _whole(value)) is not None]
        if not labels:
            return None
        self._num_steps += 1
        samples: int = self.parameters["samples"]
        for classes in labels:
            self._recent_labels.extend(_spread(classes, samples))
            ids, counts = np.unique(classes, return_counts=True)
            self._all_labels.update(dict(zip(ids.tolist(), counts.tolist(), strict=True)))
        scores = [class_answers(view, name) for name in view.selected(self._predictions)]
        if len(labels) == len(scores) == 1 and scores[0] is not None:
            known = knowledge(scores[0], labels[0])
            self._known.extend([] if known is None else [known])
        for score in scores:
            predicted = None if score is None else predicted_ids(score)
            self._recent_predictions.extend([] if predicted is None else _spread(predicted, samples))
        if self._num_steps < self.parameters["patience"] or len(self._recent_labels) < samples:
            return None
        if all(map(self._adversarial.has, names)):
            return None
        issues = self._evaluate(view, names)
        for name in names:
            self._pending.pop(name, None)
        if not issues or self._is_late(of_labels=_commonest(self._recent_labels)[1] == 1) or _any_is_final(view, names):
            self._length = self._length if issues else 0
            return issues
        self._pending |= dict.fromkeys(names, (view, issues))
        return []

    def _is_late(self, *, of_labels: bool) -> bool:
        """Count a step with an issue, and return whether training has had the time to mend it."""
        running: int = self.parameters["patience_running"]
        if of_labels:
            return self._num_steps >= running
        self._length += 1
        patience: int = self.parameters["patience"]
        return self._length > running - patience

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last steps, if no more steps will follow."""
        ended = {view.step: issues for name, (view, issues) in self._pending.items() if _any_is_final(view, [name])}
        if ended:
            self._pending.clear()
        return [issue for step in sorted(ended) for issue in ended[step]]

    def _evaluate(self, view: StepView, names: list[str]) -> list[Issue]:
        label, label_share = _commonest(self._recent_labels)
        if label_share == 1:
            text = self._of_one_class(view, names, label)
            if not text:
                return []
            return [self.found(view, text, tensors=names, value=1.0, threshold=self.parameters["max_label_share"])]
        if (
            len(self._recent_predictions) < self.parameters["samples"]
            or label_share > self.parameters["max_label_share"]
        ):
            return []
        predicted, share = _commonest(self._recent_predictions)
        limit: float = self.parameters["max_share"]
        if share <= limit or (self._known and abs(statistics.fmean(self._known)) > TELLING):
            return []
        text = (
            f"The model predicts class {predicted} for nearly all samples: {share:.1%} of the latest predictions "
            f"(at most {limit:.1%} expected), while the most common class has {label_share:.1%} of the labels."
        )
        tensors = view.selected(self._predictions) or names
        return [self.found(view, text, tensors=tensors, value=share, threshold=limit)]

    def _of_one_class(self, view: StepView, names: list[str], label: int) -> str:
        """Return the message on labels that are all the same; empty for candidates and for rare events."""
        total = self._all_labels.total()
        numbers = {loss.num_classes for loss in observed_losses(view) if loss.targets_name in names}
        if numbers and None not in numbers and not any(has_unit_for_each(view, number) for number in numbers if number):
            return ""
        others = 1 - self._all_labels[label] / total
        latest = f"the latest {len(self._recent_labels)} labels are all of class {label}"
        if not others:
            return f"All of the {total} labels so far are of class {label}: there is nothing to learn."
        if others > OFTEN:
            return f"Labels come sorted: {latest}, but {others:.0%} of all labels so far are not."
        if others > NEVER:
            return ""
        return f"Other classes hardly ever come up: {latest}, and only {others:.2%} of all labels so far are not."


def _spread(ids: ClassIds, number: int) -> list[int]:
    """Return classes, or that number of them from all over the batch: the last pixels of a picture are all alike."""
    return ids[np.linspace(0, len(ids) - 1, min(number, len(ids))).astype(np.int64)].tolist() if len(ids) else []


def _any_is_final(view: StepView, names: Iterable[str]) -> bool:
    """Return whether the job has ended, and one of the tensors was saved at no later step."""
    return any(is_final(view, name) for name in names)


def _commonest(ids: collections.deque[int]) -> tuple[int, float]:
    ((found, number),) = collections.Counter(ids).most_common(1)
    return found, number / len(ids)


def _whole(value: Array) -> ClassIds | None:
    """Return labels as class indices, or None if they are not, such as regression targets."""
    if value.dtype.kind == "f" and not np.array_equal(value, np.trunc(value)):
        return None
    return class_ids(value)
