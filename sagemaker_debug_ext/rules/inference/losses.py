"""`LossObservation`: a loss with its inputs, and the loss of the best constant prediction.

PyTorch expects classes as whole numbers along the first axis. Predictions and targets of less strict frameworks are
converted to that form, and probabilities to scores.
"""

from __future__ import annotations

import collections
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.inference.activations import sums_to_one
from sagemaker_debug_ext.rules.inference.class_labels import ClassIds, best_ids, joined_ids
from sagemaker_debug_ext.rules.inference.training import LOSSES, loss_at, loss_values
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.vocabulary import ModeKeys

Numbers = npt.NDArray[np.float64]

INPUTS: Final = Selection(roles=(Role.PREDICTION_OR_TARGET,))
"""Scores and targets as hooks name them, for `TensorRequirement`."""

LEAST: Final = 1e-7
"""Lower bound of probabilities, as in Keras."""
LEAST_REST: Final = 1 - float(np.float32(1 - LEAST))
"""What the upper bound leaves to 1, as a float32."""
OF_DIFFERENCES: Final = frozenset({"MSE", "L1", "SmoothL1", "Huber"})
"""Kinds of losses that are minimal where predictions equal targets."""
SAME: Final = 0.01
"""Relative difference that is allowed between a loss and its recomputation, because of low-precision predictions."""
TOO_SMALL: Final = 1e-6
"""Losses below which the saved digits do not reveal the kind of loss."""
FEWEST_SUMMED: Final = 8
"""Fewest targets for which a sum can be told from a mean."""
FEWEST_PAIRS: Final = 8
"""Fewest pairs of predictions and targets for a residual variance."""
FEWEST_TARGETS: Final = 8
"""Number of targets below which the loss of a batch is that of its hardest sample."""
OF_CLASSES: Final = frozenset({None, "CrossEntropy"})
"""Kinds of losses whose targets may be classes, including those that names do not identify."""


class _LinearFit(NamedTuple):
    """A linear fit of targets to scores.

    Args:
        whole: Sum of the squares of the targets, less their means.
        explained: Its part that the fit explains.
        slope: How the targets change with the scores.
        num_fitted: Number of numbers that are fitted.
    """

    whole: float
    explained: float
    slope: float
    num_fitted: int


@attrs.frozen(slots=False, eq=False)
class LossObservation:
    """A loss at one step, with numbers that several rules use, each of which is computed once.

    Args:
        name: Name of the loss itself.
        value: The loss.
        scores: Predictions of the model, one row for each sample.
        targets: Targets of the predictions.
        answers_name: Name of the tensor with the predictions.
        targets_name: Name of the tensor with the targets.
        kind: PyTorch's name for the kind of loss, without ``Loss``; None if tensor names do not show it.
        ignored: The class that the loss leaves out, such as that of padding; None if there is none, or unknown.
    """

    name: str
    value: float
    scores: Array
    targets: Array
    answers_name: str = ""
    targets_name: str = ""
    kind: str | None = None
    ignored: int | None = None

    @functools.cached_property
    def num_classes(self) -> int | None:
        """Number of classes if there is one score for each class and targets are class indices, else None."""
        of_samples = (self.scores.shape[0], *self.scores.shape[2:])
        if self.targets.dtype.kind not in "iu" or self.scores.ndim < 2 or self.targets.shape != of_samples:
            return None
        return self.scores.shape[1] if self.scores.shape[1] > 1 else None

    @functools.cached_property
    def is_binary(self) -> bool:
        """Whether there is one score for each target, and targets are 0 or 1."""
        if self.scores.shape != self.targets.shape:
            return False
        return bool(np.all((self.targets == 0) | (self.targets == 1)))

    @functools.cached_property
    def expects_logits(self) -> bool:
        """Whether the loss is a binary cross entropy of logits, by its name or its value."""
        if self.scores.shape != self.targets.shape or np.min(self.targets) < 0 or np.max(self.targets) > 1:
            return False
        return self.kind == "BCEWithLogits" or (self.is_binary and self._is_same(self.bce_with_logits))

    @functools.cached_property
    def is_regression_loss(self) -> bool:
        """Whether the loss is minimal where scores equal targets, by its name or its value."""
        if self.scores.shape != self.targets.shape or self.targets.size == 0:
            return False
        if self.kind in OF_DIFFERENCES:
            return True
        apart = to_float64(self.scores) - to_float64(self.targets)
        squared = float(np.mean(apart**2))
        return self.kind is None and any(map(self._is_same, (squared, squared / 2, float(np.mean(np.abs(apart))))))

    def _is_same(self, computed: float) -> bool:
        return abs(abs(self.value) - computed) <= SAME * computed  # a loss with the wrong sign counts too

    @functools.cached_property
    def bce_with_logits(self) -> float:
        """Mean binary cross entropy of the scores as logits."""
        scores, targets = to_float64(self.scores), to_float64(self.targets)
        return float(np.mean(np.logaddexp(0, scores) - scores * targets))

    @functools.cached_property
    def bce_of_probabilities(self) -> float | None:
        """Mean binary cross entropy of the scores as probabilities; None if they are none."""
        scores, targets = to_float64(self.scores), to_float64(self.targets)
        if not (scores.size and scores.min() >= 0 and scores.max() <= 1):
            return None
        shares = np.clip(scores, LEAST, 1 - LEAST)
        return float(-np.mean(targets * np.log(shares) + (1 - targets) * np.log1p(-shares)))

    @functools.cached_property
    def swapped_cross_entropy(self) -> float | None:
        """Mean cross entropy of probabilities that were taken for targets, and targets for probabilities.

        Only its lower bound of probabilities makes it finite. None if the scores are no probabilities.
        """
        found = self._rows()
        if found is not None and sums_to_one(found[0]):
            return float(-math.log(LEAST) * np.mean(1 - found[0][np.arange(len(found[0])), found[1]]))
        if found is not None or not self.is_binary or self.bce_of_probabilities is None:
            return None
        bounds = np.where(self.targets == 1, LEAST_REST, LEAST)
        return float(np.mean(-np.log(bounds) * np.abs(to_float64(self.scores) - self.targets)))

    @functools.cached_property
    def residual_variance(self) -> float | None:
        """Residual variance of the targets after a linear fit to the scores; None for too few values.

        Logits count as the probabilities that they stand for. Of several targets for each sample, each has an offset of
        its own.
        """
        if self._linear_fit is None:
            return None
        whole, explained, _, num_fitted = self._linear_fit
        return (whole - explained) / max(self.targets.size - num_fitted, 1)

    @functools.cached_property
    def share_explained(self) -> float | None:
        """Share of the squares of the targets that a linear fit to the scores explains; None for too few values.

        0 if the targets are smaller where the scores are larger. Otherwise as for `residual_variance`.
        """
        if self._linear_fit is None or not self._linear_fit.whole > 0:
            return None
        return self._linear_fit.explained / self._linear_fit.whole if self._linear_fit.slope > 0 else 0.0

    @functools.cached_property
    def _linear_fit(self) -> _LinearFit | None:
        if self.scores.shape != self.targets.shape or self.targets.size < FEWEST_PAIRS or len(self.targets) < 2:
            return None
        scores, targets = columns_of(to_float64(self.scores)), columns_of(to_float64(self.targets))
        if self.expects_logits:
            scores = np.exp(-np.logaddexp(0, -scores))
        scores, targets = (values - values.mean(axis=0) for values in (scores, targets))
        num_fitted = targets[0].size + 1
        scores, targets = scores.reshape(-1), targets.reshape(-1)
        spread = scores @ scores
        slope = float(scores @ targets / spread) if spread > 0 else 0.0
        return _LinearFit(float(targets @ targets), float(slope**2 * spread), slope, num_fitted)

    @functools.cached_property
    def is_sum(self) -> bool:
        """Whether the loss is a sum over elements or samples, where its kind usually takes the mean."""
        count = self.targets.size
        if count < FEWEST_SUMMED or not self.value > TOO_SMALL:
            return False
        if self.num_classes is not None:
            return is_near(self.cross_entropy, self.value / count)
        if self.scores.shape != self.targets.shape:
            return False
        apart = to_float64(self.scores) - to_float64(self.targets)
        means = [float(np.mean(apart**2)), float(np.mean(np.abs(apart)))]
        if self.is_binary or self.kind == "BCEWithLogits":  # whose targets may be probabilities, such as pixels
            means.append(self.bce_with_logits)
        return any(is_near(mean, self.value / count) for mean in means)

    @functools.cached_property
    def constant_part(self) -> float:
        """Fraction of a mean squared error that would be gone if a constant were added.

        0 for other losses, and for so few samples that a constant fits them by chance.
        """
        if self.num_classes is not None or len(self.targets) < FEWEST_PAIRS or not self.is_regression_loss:
            return 0.0
        apart = columns_of(to_float64(self.scores) - to_float64(self.targets))
        whole = float(np.mean(apart**2))
        return float(np.mean(apart.mean(axis=0) ** 2)) / whole if 0 < whole < np.inf else 0.0

    def _has_class(self) -> npt.NDArray[np.bool_]:
        """Return for each target whether it is one of the classes; others are padding."""
        targets = self.targets.reshape(-1)
        known: npt.NDArray[np.bool_] = (targets >= 0) & (targets < (self.num_classes or 0))
        return known if self.ignored is None else known & (targets != self.ignored)

    @functools.cached_property
    def classes(self) -> Array:
        """The targets that are classes, along one axis, without padding."""
        return self.targets.reshape(-1)[self._has_class()]

    def _rows(self) -> tuple[Numbers, Array] | None:
        """Return the scores of each sample with a class, and these classes; None without classes."""
        if self.num_classes is None or not self.classes.size:
            return None
        scores = np.moveaxis(to_float64(self.scores), 1, -1)
        return scores.reshape(-1, scores.shape[-1])[self._has_class()], self.classes

    @functools.cached_property
    def accuracy(self) -> float | None:
        """Fraction of the samples whose class has the largest score; None without classes."""
        found = self._rows()
        return None if found is None else float(np.mean(found[0].argmax(axis=1) == found[1]))

    @functools.cached_property
    def cross_entropy_of_probabilities(self) -> float | None:
        """Mean cross entropy of the scores as probabilities; None if they are none."""
        found = self._rows()
        if found is None or not sums_to_one(found[0]):
            return None
        rows, targets = found
        return float(-np.log(np.maximum(rows[np.arange(len(rows)), targets], LEAST)).mean())

    @functools.cached_property
    def cross_entropy(self) -> float | None:
        """Mean cross entropy of the scores, independent of the kind of loss; None without classes."""
        found = self._rows()
        if found is None:
            return None
        rows, targets = found
        rows = rows - rows.max(axis=1, keepdims=True)
        logs = rows[np.arange(len(rows)), targets] - np.log(np.exp(rows).sum(axis=1))
        return float(-logs.mean())

    @functools.cached_property
    def share_of_penalties(self) -> float:
        """Share of a cross entropy that its predictions do not give, as of penalties on weights; 0 without classes."""
        of_shares = self.cross_entropy_of_probabilities
        own = self.cross_entropy if of_shares is None else of_shares
        return max(0.0, 1 - own / self.value) if own is not None and self.value > 0 else 0.0


def columns_of(numbers: Array) -> Array:
    """Return numbers with one row for each sample; those with a single number for each have no second axis."""
    rows = numbers.reshape(len(numbers), -1) if numbers.ndim > 1 else numbers
    return rows if rows.ndim > 1 and rows.shape[1] > 1 else rows.reshape(-1)


def is_near(value: float | None, loss: float) -> bool:
    """Return whether a computed loss is the saved one, up to rounding."""
    return value is not None and math.isclose(value, loss, rel_tol=1e-3)


def comparable_losses(view: StepView, selection: Selection) -> dict[str, float]:
    """Return the losses of a step, by name: in evaluation, the means of those that are sums over a batch.

    Scripts that average over a set often add up the sums of its batches.
    """
    found = dict(loss_values(view, selection))
    for loss in observed_losses(view) if view.mode is ModeKeys.EVAL else ():
        if loss.name in found and loss.is_sum:
            found[loss.name] /= loss.targets.size
    return found


def is_of_few(view: StepView, name: str) -> bool:
    """Return whether a loss is known to be of so few targets that it says more about them than about the model."""
    return any(loss.name == name and loss.targets.size < FEWEST_TARGETS for loss in observed_losses(view))


def are_gaps(view: StepView, names: Sequence[str]) -> bool:
    """Return whether tensors are targets that are NaN in places, which the losses leave out: these are finite."""
    targets = {known.targets for known in naming_scheme_of(view.trial).answers(view.tensor_names)}
    losses = loss_values(view, LOSSES).values()
    if not (losses and all(map(math.isfinite, losses)) and targets.issuperset(names)):
        return False
    values = [view.value(name) for name in names]
    return all(value is not None and np.isfinite(value).any() and not np.isinf(value).any() for value in values)


def observed_losses(view: StepView, *, keeps_shares: bool = False) -> tuple[LossObservation, ...]:
    """Return the losses of a step whose predictions and targets were saved, if these are numbers of a batch.

    Args:
        view: The step.
        keeps_shares: Do not convert probabilities to scores.
    """
    return view.once(_observed_losses, keeps_shares=keeps_shares and naming_scheme_of(view.trial).hides_kinds)


def _observed_losses(view: StepView, *, keeps_shares: bool) -> tuple[LossObservation, ...]:
    return tuple(_iter_losses(view, keeps_shares=keeps_shares))


def _iter_losses(view: StepView, *, keeps_shares: bool) -> Iterator[LossObservation]:
    scheme, program = naming_scheme_of(view.trial), view.program
    for names in scheme.answers(view.tensor_names):
        if scheme.loss_of(names.answers) == program.model and program.model not in program.fed_models:
            continue  # a model that returns its loss, and gets data and targets
        value = math.nan if names.loss == names.answers else loss_at(view, names.loss)
        scores, targets = view.value(names.answers), view.value(names.targets)
        if value is None or scores is None or targets is None:
            continue
        if scores.ndim == 0 or scores.shape[:1] != targets.shape[:1] or targets.dtype.kind == "c":
            continue
        if scores.dtype.kind in "fV" and np.isfinite(to_float64(scores)).all():
            kind = scheme.kind_of_loss(names.answers)
            if scheme.has_loose_targets:
                has_classes = kind in OF_CLASSES
                scores, targets = to_class_index_form(
                    scores, targets, has_classes, may_be_shares=scheme.hides_kinds and not keeps_shares
                )
            ignored = _ignored_class(view, names.answers)
            yield LossObservation(names.loss, value, scores, targets, names.answers, names.targets, kind, ignored)


def _ignored_class(view: StepView, answers: str) -> int | None:
    """Return the class that a loss leaves out, by the program record."""
    loss = view.program.loss(naming_scheme_of(view.trial).loss_of(answers))
    ignored = loss.arguments.get("ignore_index", loss.arguments.get("ignore_class")) if loss else None
    return ignored if isinstance(ignored, int) and ignored >= 0 else None


def class_labels(view: StepView, name: str) -> Array | None:
    """Return labels as saved, without those that a loss leaves out.

    None if neither their names nor their values show that they are classes.
    """
    scheme = naming_scheme_of(view.trial)
    if not scheme.hides_kinds:
        labels = view.value(name)
        answers = [found.answers for found in scheme.answers(view.tensor_names) if found.targets == name]
        ignored = [number for each in answers if (number := _ignored_class(view, each)) is not None]
        return labels if labels is None or not ignored else labels[~np.isin(labels, ignored)]
    for loss in observed_losses(view):
        if loss.targets_name == name and (loss.num_classes is not None or loss.is_binary):
            return (loss.targets if loss.ignored is None else loss.classes).astype(np.int64)
    return None


def class_answers(view: StepView, name: str) -> Array | None:
    """Return predictions as saved; with one row for each label if names do not show that they are class scores."""
    if not naming_scheme_of(view.trial).hides_kinds:
        return view.value(name)
    for loss in observed_losses(view):
        if loss.answers_name == name and loss.num_classes is not None:
            return np.moveaxis(loss.scores, 1, -1).reshape(-1, loss.num_classes)
        if loss.answers_name == name and loss.is_binary:
            return loss.scores
    return None


def count_classes(ids: ClassIds) -> collections.Counter[int]:
    """Return how often each class comes up."""
    labels, numbers = np.unique(ids, return_counts=True)
    return collections.Counter(dict(zip(labels.tolist(), numbers.tolist(), strict=True)))


def predicted_classes(loss: LossObservation) -> tuple[ClassIds, ClassIds] | None:
    """Return the labels and the predicted classes of samples; None if the loss is not of classes."""
    labels = loss.targets.reshape(-1).astype(np.int64)
    if loss.num_classes is not None:
        return labels, np.argmax(loss.scores, axis=1).reshape(-1)
    if not loss.is_binary:
        return None
    are_shares = loss.kind == "BCE" or (loss.kind is None and loss.bce_of_probabilities is not None)
    middle = 0.5 if are_shares else 0.0
    return labels, (loss.scores.reshape(-1) > middle).astype(np.int64)


def predicted_in(view: StepView, names: Sequence[str], *, argmax: bool = False) -> ClassIds | None:
    """Return the concatenated classes that some tensors of a step predict; None if none of them has any.

    Where names do not tell whether predictions are of classes, the loss does, and scores of several classes need no
    `argmax`.

    Raises:
        SMDebugCustomerError: A tensor, whose name tells that it is of classes, holds neither classes nor probabilities.
    """
    if argmax or not naming_scheme_of(view.trial).hides_kinds:
        return joined_ids(view, names, argmax=argmax)
    found = [answers for name in names if (answers := class_answers(view, name)) is not None]
    ids = [best_ids(each) if _has_classes(each) else (each.reshape(-1) > 0).astype(np.int64) for each in found]
    return np.concatenate(ids) if ids else None


def _has_classes(answers: Array) -> bool:
    return answers.ndim > 1 and answers.shape[-1] > 1


def labels_in(view: StepView, names: Sequence[str]) -> ClassIds | None:
    """Return the concatenated labels of some tensors of a step; None if none of them has any."""
    if not naming_scheme_of(view.trial).hides_kinds:
        return joined_ids(view, names)
    found = [labels.reshape(-1) for name in names if (labels := class_labels(view, name)) is not None]
    return np.concatenate(found) if found else None


def to_class_index_form(
    scores: Array, targets: Array, has_classes: bool, *, may_be_shares: bool
) -> tuple[Array, Array]:
    """Return scores and targets in the form of PyTorch.

    Args:
        scores: Predictions of the model.
        targets: Targets of the predictions.
        has_classes: Whether targets may be classes.
        may_be_shares: Whether scores in the range of probabilities are probabilities.
    """
    are_shares = may_be_shares and sums_to_one(scores)
    classes = as_class_ids(scores, targets) if has_classes else None
    if classes is not None:
        values = np.log(np.maximum(to_float64(scores), LEAST)) if are_shares else scores
        return np.moveaxis(values, -1, 1), classes
    if targets.size == scores.size:
        targets = targets.reshape(scores.shape)
    is_binary = targets.shape == scores.shape and bool(np.all((targets == 0) | (targets == 1)))
    if may_be_shares and is_binary and np.min(scores) >= 0 and np.max(scores) <= 1:
        shares = np.clip(to_float64(scores), LEAST, 1 - LEAST)
        return np.log(shares) - np.log1p(-shares), targets
    return scores, targets


def as_class_ids(scores: Array, targets: Array) -> Array | None:
    """Return targets as class indices, one for each row of scores; None if they are not classes."""
    num_classes = scores.shape[-1] if scores.ndim > 1 else 1
    if num_classes == 1 or targets.dtype.kind not in "biuf":
        return None
    if targets.shape == scores.shape:
        is_one_hot = np.all((targets == 0) | (targets == 1)) and np.all(targets.sum(axis=-1) == 1)
        return np.argmax(targets, axis=-1).astype(np.int64) if is_one_hot else None
    if targets.size * num_classes != scores.size:
        return None
    is_whole = np.array_equal(targets, np.trunc(targets)) and targets.min() >= 0 and targets.max() < num_classes
    return targets.astype(np.int64).reshape(scores.shape[:-1]) if is_whole else None


def entropy(shares: Numbers) -> float:
    """Return the entropy of probabilities, in nats."""
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum())


def class_shares(labels: Array) -> Numbers:
    """Return the share of each class that is among class indices."""
    _, counts = np.unique(labels, return_counts=True)
    shares: Numbers = counts / counts.sum()
    return shares


def label_entropy(labels: Array) -> float:
    """Return the entropy of class indices: the cross entropy of the best constant prediction."""
    return entropy(class_shares(labels))
