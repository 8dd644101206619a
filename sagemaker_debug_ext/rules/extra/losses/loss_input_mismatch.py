"""LossInputMismatch: a loss gets another input than it expects."""

from __future__ import annotations

import collections
import math
import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.class_weights import ClassWeights, weights_of
from sagemaker_debug_ext.rules.inference.consequences import OF_SUM
from sagemaker_debug_ext.rules.inference.losses import TOO_SMALL, LossObservation, is_near, observed_losses
from sagemaker_debug_ext.rules.inference.pairings import (
    BROADCAST,
    OVER_SAMPLES,
    Output,
    adds_up_over_samples,
    output_of,
    problem_of_own_loss,
    problem_of_pairing,
)
from sagemaker_debug_ext.rules.inference.training import DeferredMeasurements, StreakCounter, is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import KERAS, Role, naming_scheme_of

SWAPPED: Final = "Swapped"
"""Kind of a cross entropy that takes targets for predictions."""
OF_LOGARITHMS: Final = frozenset({"NLL", "KLDiv"})
DIFFERENCES: Final = frozenset({"MSE", "L1", "SmoothL1", "Huber"})
MIN_OUTSIDE: Final = 0.1
"""Fraction of targets that must be out of reach before the outputs are called bounded."""
MIDDLE: Final = 0.5
"""Value that some outputs of a sigmoid must exceed; scores that hardly differ may all lie between 0 and this value."""
NEAR_ONE: Final = 0.9
NOISE: Final = 0.02
"""Relative difference of two losses that predictions in low precision, or a mean over an epoch, may cause."""
LEAST_FALL: Final = 0.9
"""Fraction of its first value below which the latest value of a sum must lie."""
MOSTLY: Final = 0.5
"""Fraction of the samples that a model gets right, from which on its loss should fall."""
FEW_CLASSES: Final = 3
"""Number of classes from which on they are not the two answers to one question."""
FEWEST_CLASSES: Final = 5
"""Fewest classes of which a model does not get half right by chance."""
STILL_HIGH: Final = 0.9
"""Fraction of the loss of equal scores above which a loss has not fallen."""
ENOUGH: Final = 1_000
"""Number of samples with a single class each that shows that none has several."""
MOST_LOOKS: Final = 5
"""Number of steps at which outputs of the model are read."""
WEIGHED_WRONGLY: Final = "weighs classes the more, the more common they are, so that the rare ones are hardly learnt"
EACH_CLASS: Final = "asks of each class on its own whether it is right, although each sample has a single one"
SQUEEZED: Final = (
    "cannot fall, although most samples are right: their scores lie too close together, as after a division by a large "
    "number"
)
SAMPLE_WEIGHTS: Final = "sample_weights"
"""Weights of the samples of a batch in Keras, which classes may give them."""
_PREDICTIONS: Final = "predictions"
"""Name of the predictions of a Keras model with one output."""
RECENT: Final = 5
"""Number of latest steps whose losses are averaged."""
STAYING: Final = 20
"""Number of latest steps at half of which outputs must be near 1, because those that grow pass it in a few."""


@attrs.define
class _Seen:
    """Statistics of the inputs of a loss so far."""

    steps: int = 0
    low: float = np.inf
    high: float = -np.inf
    zeros: int = 0
    elements: int = 0
    near_one: collections.deque[float] = attrs.field(factory=lambda: collections.deque(maxlen=STAYING))
    targets_above_one: int = 0
    targets_below_zero: int = 0
    targets_below_minus_one: int = 0
    is_simplex: bool = True
    is_log_simplex: bool = True
    rows_of_targets: int = 0
    rows_that_are_no_shares: int = 0

    def add(self, scores: Array, targets: Array | None, kind: str) -> None:
        values = to_float64(scores)
        self.steps += 1
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        self.zeros += int(np.count_nonzero(values == 0))
        self.near_one.append(float(np.mean(np.abs(values) > NEAR_ONE)))
        self.elements += values.size
        if values.ndim > 1 and values.shape[1] > 1:
            self.is_simplex = self.is_simplex and _sums_to_one(values)
            shares = np.exp(np.minimum(values, 1))
            are_shares = _sums_to_one(shares) or (kind == "KLDiv" and _sums_to_one(np.moveaxis(shares, -1, 1)))
            self.is_log_simplex = self.is_log_simplex and self.high <= 0 and are_shares
        else:
            self.is_simplex = False
            self.is_log_simplex = False
        if kind == "CrossEntropy" and targets is not None and targets.shape == values.shape and values.ndim > 1:
            sums = to_float64(targets).sum(axis=1)
            self.rows_of_targets += sums.size
            self.rows_that_are_no_shares += int(np.count_nonzero(np.abs(sums - 1) > MIN_OUTSIDE))
        if kind in DIFFERENCES and targets is not None:
            wanted = to_float64(targets)
            self.targets_above_one += int(np.count_nonzero(wanted > 1))
            self.targets_below_zero += int(np.count_nonzero(wanted < 0))
            self.targets_below_minus_one += int(np.count_nonzero(wanted < -1))

    @property
    def is_squashed(self) -> bool:
        """Whether values stay within 1 and lie near it, like saturated outputs of a tanh or sigmoid."""
        # a linear output is small at first as well, but then passes 1 without staying near it
        return self.low >= -1 and self.high <= 1 and statistics.median(self.near_one) > MIN_OUTSIDE

    @property
    def out_of_reach(self) -> int:
        """Number of targets outside the range of the activation whose bounds the outputs respect."""
        if self.low >= 0 and self.zeros > MIN_OUTSIDE * self.elements:
            return self.targets_below_zero
        if not self.is_squashed:
            return 0
        return self.targets_above_one + (self.targets_below_zero if self.low >= 0 else self.targets_below_minus_one)


def _sums_to_one(values: Array) -> bool:
    return bool(np.all(values >= 0) and np.allclose(values.sum(axis=1), 1, atol=1e-3))


def problem_of(kind: str, seen: _Seen, *, is_activation_known: bool = False) -> str:
    """Return the problem with the inputs of a loss seen so far; empty if there is none.

    Args:
        kind: Kind of the loss.
        seen: What is known of its inputs.
        is_activation_known: Whether numbers need not tell what the predictions have gone through.
    """
    takes_scores = kind in ("CrossEntropy", "BCEWithLogits") and not is_activation_known
    checks = (
        (
            kind == "BCE" and seen.low == seen.high and seen.low in (0, 1),
            f"gets {seen.low:g} for every sample at every step, as from a softmax or log-softmax of a single unit",
        ),
        (
            kind == SWAPPED,
            "takes targets for predictions and predictions for targets, as a cross entropy with swapped arguments",
        ),
        (
            takes_scores and kind == "CrossEntropy" and seen.is_simplex,
            "gets probabilities that add up to 1, but applies softmax itself",
        ),
        (
            takes_scores and seen.low >= 0 and MIDDLE < seen.high <= 1,
            "gets numbers from 0 to 1, as from a sigmoid, but expects scores of any size",
        ),
        (
            takes_scores and seen.low >= 0 and seen.zeros > MIN_OUTSIDE * seen.elements,
            "gets no negative numbers and many zeros, as from a ReLU, but expects scores of any size",
        ),
        (
            takes_scores and seen.is_squashed,
            "gets numbers from -1 to 1, as from a tanh, but expects scores of any size",
        ),
        (
            seen.rows_that_are_no_shares > MIN_OUTSIDE * seen.rows_of_targets,
            "gets targets that do not add up to 1 for each sample, as with several classes per sample",
        ),
        (
            kind in OF_LOGARITHMS and not seen.is_log_simplex,
            "expects logarithms of probabilities, but gets other values",
        ),
        (
            kind in DIFFERENCES and not is_activation_known and seen.out_of_reach > MIN_OUTSIDE * seen.elements,
            "gets outputs of an activation that cannot reach many of the targets",
        ),
    )
    return next((problem for holds, problem in checks if holds), "")


class _Given(NamedTuple):
    """The inputs and the kind of a loss."""

    kind: str
    scores: Array
    targets: Array | None


def _given(view: StepView, name: str) -> _Given | None:
    """Return the inputs of the loss that a prediction goes into, or None if its kind is unknown."""
    scheme = naming_scheme_of(view.trial)
    kind = scheme.kind_of_loss(name) or ("KLDiv" if "KLDivLoss" in name else None)
    if not scheme.has_loose_targets:
        scores = None if kind is None else view.value(name)
        return (
            None if kind is None or scores is None else _Given(kind, scores, view.value(name.removesuffix("0") + "1"))
        )
    for loss in observed_losses(view, keeps_shares=True):
        if loss.answers_name == name:
            known = kind if kind in DIFFERENCES else kind_by_value(loss)
            return _Given(known, loss.scores, loss.targets) if known is not None and kind in (None, known) else None
    return None


def kind_by_value(loss: LossObservation) -> str | None:
    """Return the kind of loss whose value for the given inputs equals the saved loss; None if none or several do.

    Predictions that all are alike have the same loss as probabilities and as scores of any size, up to noise. Then the
    value does not tell which of them the loss expects.
    """
    candidates: dict[str, float | None] = {}
    if loss.num_classes is not None:
        of_scores, of_shares = loss.cross_entropy, loss.cross_entropy_of_probabilities
        if not _are_alike(of_scores, of_shares):
            candidates["CrossEntropy"] = of_scores
    elif loss.scores.shape == loss.targets.shape:
        scores, targets = to_float64(loss.scores), to_float64(loss.targets)
        candidates["MSE"] = float(np.mean((scores - targets) ** 2))
        candidates["L1"] = float(np.mean(np.abs(scores - targets)))
        if loss.is_binary:
            of_scores, of_shares = loss.bce_with_logits, loss.bce_of_probabilities
            if not _are_alike(of_scores, of_shares):
                candidates["BCEWithLogits"] = of_scores
    candidates[SWAPPED] = loss.swapped_cross_entropy
    is_told = loss.value > TOO_SMALL
    return next((kind for kind, value in candidates.items() if is_told and is_near(value, loss.value)), None)


def _are_alike(value: float | None, other: float | None) -> bool:
    """Return whether two losses differ by no more than predictions in low precision do."""
    return value is not None and other is not None and math.isclose(value, other, rel_tol=NOISE)


@attrs.define
class _Sums:
    """Records whether a loss has been a sum at each step so far, with its first and latest values."""

    first: float
    is_sum: bool = True
    latest: collections.deque[float] = attrs.field(factory=lambda: collections.deque(maxlen=RECENT))

    def add(self, value: float, *, is_sum: bool) -> None:
        self.is_sum = self.is_sum and is_sum
        self.latest.append(value)

    @property
    def stays(self) -> bool:
        """Whether the loss has always been a sum, and has not fallen."""
        return self.is_sum and not statistics.fmean(self.latest) < LEAST_FALL * self.first


@attrs.define
class _SingleClasses:
    """Counts samples of which each has a single class, by targets with a number for each class."""

    num_samples: int = 0
    have_several: bool = False
    classes: set[int] = attrs.field(factory=set)

    def add(self, targets: Array) -> None:
        """Add the targets of a batch."""
        values = to_float64(targets)
        are_single = values.ndim == 2 and np.all((values == 0) | (values == 1)) and np.all(values.sum(axis=1) == 1)
        # a batch whose samples are compared with each other has a match for each
        are_pairs = are_single and values.shape[0] == values.shape[1] and np.all(values.sum(axis=0) == 1)
        self.have_several = self.have_several or not are_single or bool(are_pairs)
        if not self.have_several and len(self.classes) < FEW_CLASSES:
            self.classes.update(np.argmax(values, axis=1).tolist())
        self.num_samples += len(values)

    @property
    def are_all(self) -> bool:
        """Whether enough samples have been seen, of several classes, and each had one."""
        return not self.have_several and self.num_samples >= ENOUGH and len(self.classes) >= FEW_CLASSES


def has_loss_of_equal_scores(loss: LossObservation) -> bool:
    """Return whether the cross entropy of several classes is nearly that of equal scores."""
    if loss.num_classes is None or loss.num_classes < FEWEST_CLASSES:
        return False
    plain = loss.cross_entropy
    return plain is not None and plain >= STILL_HIGH * math.log(loss.num_classes)


class LossInputMismatch(TensorRule):
    """A loss gets another input than it expects: the output has an extra, a missing or a wrong activation.

    Checks the inputs of losses at TRAIN steps (or steps without a mode). The names of losses tell their kind. In Keras,
    losses have no names, so the rule looks for the loss that has the saved value. It does the same for MXNet inputs
    that may be scores or probabilities. The rule fires after `patience` saved steps if

    - a cross entropy got only probabilities, numbers from 0 to 1, or outputs of a tanh or ReLU;
    - a cross entropy got targets per class that do not add up to 1, as in multi-label data;
    - a cross entropy in Keras took targets for predictions and predictions for targets;
    - a negative log likelihood or a divergence got inputs other than log probabilities;
    - a binary cross entropy with logits got only numbers from 0 to 1, or outputs of a tanh or ReLU;
    - a binary cross entropy of probabilities got nothing but 1, or nothing but 0, as from a softmax of a single unit;
    - a loss of differences (MSE, L1, …) got only outputs in the range of a sigmoid, tanh or ReLU, while many targets
      are outside;
    - a cross entropy of at least five classes is nearly that of equal scores, although most samples are right: their
      scores lie too close together;
    - a loss is the sum over all elements or samples instead of the mean, and has not fallen by a tenth. Its gradients
      are that many times larger, and so are the updates at a learning rate chosen for the mean.

    In Keras, it fires after 1,000 samples if a binary cross entropy gets targets per class, of which exactly one is 1
    for each sample, and the outputs of at least three sigmoids: a softmax and a cross entropy of classes make classes
    compete. In PyTorch, nobody makes such targets by accident.

    It fires after 300 labels if a cross entropy weighs the most common class more than the rarest, and classes the
    more, the more common they are. Hooks for PyTorch record the weights, and hooks for Keras save those of samples.

    It fires immediately if a loss of differences gets outputs and targets of different shapes, which are broadcast, and
    if the outputs of the model add up to 1 over the samples of a batch instead of the classes. With
    ``sagemaker-debug run``, it also finds targets of shape (N,) that spread outputs of shape (N, 1) in a loss of the
    script's own, of PyTorch or under a gradient tape, and answers picked by a product, as with the actions
    taken, whose sum goes over all samples in place of the answers of each.

    If the hook recorded the program, loss and last activation are known, and the rule checks them with the targets of
    the first batch, if these were saved. It fires for softmax or a cross entropy of classes on a single unit, a cross
    entropy of outputs that are no probabilities, or of those of a second softmax, a binary cross entropy of quantities
    or of a softmax, a cross entropy of classes of a sigmoid, targets of 0 with a loss that needs 1 and -1, and targets
    that the activation cannot reach. It also fires for a softmax over samples, a ReLU before a softmax or sigmoid,
    classes that the output has no unit for, one-hot classes with a loss of differences and no activation, quantities
    with a cross entropy of classes, several answers for one target, and dropout between the last layer and the loss.
    Then it does not guess from numbers what a cross entropy expects. Numbers that suit several losses decide nothing.

    Parameters:
        tensor_regex: Regular expressions searched in tensor names; the first inputs of losses among these tensors are
            checked. When not given: all first inputs of losses, as the framework names them.
        patience: Number of saved steps before a verdict; 20 when not given.
        patience_running: Number of saved steps, while the job runs, before a sum counts as not falling, and scores as
            too close together; 20 when not given.

    Source:
        Wrong activations at the output and wrong losses are checked for in the same way by Schoop, Huang and Hartmann,
        UMLAUT, CHI 2021.

    Example:
        >>> rule = create_rule("LossInputMismatch", trial, {"patience": 5})
        >>> invoke_rule(rule)
    """

    spec_name = "LossInputMismatch"
    has_per_tensor_state = True
    begins_anew = True
    advice = (
        "Pass the plain output of the last layer to cross entropy and to binary cross entropy with logits, "
        "and the output of log-softmax to negative log likelihood. Use no activation for regression, and make "
        "outputs and targets the same shape."
    )

    def configure(self) -> None:
        patterns = self.parameters["tensor_regex"]
        self._outputs = Selection() if patterns else Selection(roles=[Role.MODEL_OUTPUT])
        self._of_loops = Selection() if patterns else Selection(roles=[Role.LOSS_OF_LOOP])
        self.selection = chosen_or(patterns, Role.PREDICTION).united_with(self._outputs).united_with(self._of_loops)
        self._seen: dict[str, _Seen] = {}
        self._sums: dict[str, _Sums] = {}
        self._squeezed = StreakCounter()
        self._pending = DeferredMeasurements()
        self._problems: dict[str, str] = {}
        self._num_looks: collections.Counter[str] = collections.Counter()
        self._num_squeezed: collections.Counter[str] = collections.Counter()
        self._weights: dict[str, ClassWeights] = {}
        self._single: dict[str, _SingleClasses] = {}

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the problem with the input of a loss."""
        if not is_training(view):
            return None
        if name in view.selected(self._outputs) and (problem := self._problem_of_output(view, name)):
            self._problems[name] = problem
            return Measurement(1, fires=True, threshold=1, severity=np.inf, text=problem)
        if name in view.selected(self._of_loops):
            return self._measure_loop(view, name)
        output = self._output(view, name)
        if output is not None:
            self._problems.setdefault(name, problem_of_pairing(output))
        problem = self._problems.get(name, "") or (WEIGHED_WRONGLY if self._weighs_wrongly(view, name) else "")
        if not problem and output is not None and output.asks_each_class and view.program.framework == KERAS.framework:
            single = self._single.setdefault(name, _SingleClasses())
            single.add(output.targets)
            problem = EACH_CLASS if single.are_all else ""
        if problem:
            return Measurement(1, fires=True, threshold=1, severity=np.inf, text=problem)
        given = _given(view, name)
        if given is None or given.scores.dtype.kind not in "fV":
            return None
        return self._measure_numbers(view, name, given, output)

    def _measure_numbers(self, view: StepView, name: str, given: _Given, output: Output | None) -> Measurement | None:
        """Return the problem that the numbers of the steps so far show."""
        kind, scores, targets = given
        patience: int = self.parameters["patience"]
        if kind in DIFFERENCES and targets is not None and targets.shape != scores.shape:
            text = f"gets outputs of shape {scores.shape} and targets of shape {targets.shape}, which are {BROADCAST}"
            return Measurement(1, fires=True, threshold=1, severity=np.inf, text=text)
        self._observe_sum(view, name)
        seen = self._seen.setdefault(name, _Seen())
        if np.isfinite(to_float64(scores)).all():
            seen.add(scores, targets, kind)
        num_squeezed = self._count_squeezed(view, name)
        if num_squeezed:
            found = Measurement(num_squeezed, fires=True, threshold=patience, severity=np.inf, text=SQUEEZED)
            return self._pending.settle(view, name, found, is_late=num_squeezed >= self.parameters["patience_running"])
        if seen.steps < patience:
            return None
        is_known = output is not None and output.activation is not None
        problem = problem_of(kind, seen, is_activation_known=is_known)
        sums = self._sums.get(name)
        if problem or sums is None or not sums.stays:
            return Measurement(seen.steps, fires=bool(problem), threshold=patience, text=problem)
        text = f"returns {OF_SUM}, which has not fallen: the updates suit the mean"
        found = Measurement(seen.steps, fires=True, threshold=patience, text=text)
        is_late = seen.steps >= self.parameters["patience_running"]
        return self._pending.settle(view, name, found, is_late=is_late)

    def _count_squeezed(self, view: StepView, name: str) -> int:
        """Return for how many steps in a row scores have lain too close together; 0 for fewer than `patience`.

        Once there were enough, only a loss that falls makes them none, because a small batch may name few samples.
        """
        loss = next((loss for loss in observed_losses(view) if loss.answers_name == name), None)
        if loss is None or not has_loss_of_equal_scores(loss):
            self._squeezed.observe(name, False)
            self._num_squeezed[name] = 0
            return 0
        streak = self._squeezed.observe(name, (loss.accuracy or 0) >= MOSTLY)
        if streak >= self.parameters["patience"]:
            self._num_squeezed[name] = streak
        return self._num_squeezed[name]

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last steps, if no more steps will follow."""
        return [issue for view, measurements in self._pending.take() for issue in self.issues_of(view, measurements)]

    def _measure_loop(self, view: StepView, name: str) -> Measurement | None:
        """Return the problem that the record shows of a loss whose predictions were not saved."""
        numbered = (loss.name for loss in view.program.losses if loss.name.startswith(_PREDICTIONS))
        answers = next(numbered, _PREDICTIONS)  # of the output that the loop has a loss of
        targets = naming_scheme_of(view.trial).targets_of(answers)
        if {answers, targets} <= set(view.tensor_names):
            return None
        labels = view.value(targets) if targets in view.tensor_names else None
        output = output_of(view.program, answers, np.empty(0) if labels is None else labels)
        if output is not None:
            problem = problem_of_pairing(output)
        else:  # of a model with outputs, `_problem_of_output` tells it
            problem = "" if view.selected(self._outputs) else problem_of_own_loss(view.program)
        self._problems[name] = problem
        return Measurement(1, fires=True, threshold=1, severity=np.inf, text=problem) if problem else None

    def _problem_of_output(self, view: StepView, name: str) -> str:
        """Return the problem of an output of the model, whatever the loss is; empty if there is none."""
        self._num_looks[name] += 1
        is_only_one = len(view.selected(self._outputs)) == 1  # another one may be weights of attention over samples
        value = view.value(name) if is_only_one and self._num_looks[name] <= MOST_LOOKS else None
        if value is not None and adds_up_over_samples(value):
            return OVER_SAMPLES
        return problem_of_own_loss(view.program)

    def _output(self, view: StepView, name: str) -> Output | None:
        """Return what the record of the program tells of the output with these predictions."""
        scheme = naming_scheme_of(view.trial)
        targets = view.value(scheme.targets_of(name))
        return None if targets is None else output_of(view.program, scheme.loss_of(name), targets, view.value(name))

    def _weighs_wrongly(self, view: StepView, name: str) -> bool:
        """Return whether weights make common classes count for more than rare ones."""
        scheme = naming_scheme_of(self.base_trial)
        if name not in self._weights:
            self._weights[name] = ClassWeights(weights_of(view.program, scheme.loss_of(name)))
        targets = view.value(scheme.targets_of(name))
        if targets is not None and targets.dtype.kind in "iuf":
            self._weights[name].observe(targets, view.value(SAMPLE_WEIGHTS))
        return self._weights[name].favours_common

    def _observe_sum(self, view: StepView, name: str) -> None:
        known = self._sums.get(name)
        if known is not None and not known.is_sum:
            return
        for loss in observed_losses(view):
            if loss.answers_name == name and math.isfinite(loss.value):
                sums = self._sums.setdefault(name, _Sums(loss.value))
                sums.add(loss.value, is_sum=loss.is_sum)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        if names and self._problems.get(names[0]):
            return f"The loss, the output and the targets do not fit in {describe_tensors(names)}: {first.text}."
        return f"The loss does not suit the output in {describe_tensors(names)}: it {first.text}."
