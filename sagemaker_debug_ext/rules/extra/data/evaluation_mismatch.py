"""EvaluationMismatch: evaluation data differ from training data."""

from __future__ import annotations

import collections
import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.extra.data._reports import ReportedOrder
from sagemaker_debug_ext.rules.inference.class_weights import ClassCounts
from sagemaker_debug_ext.rules.inference.losses import INPUTS, LossObservation, comparable_losses, observed_losses
from sagemaker_debug_ext.rules.inference.moving_averages import MovingAverages
from sagemaker_debug_ext.rules.inference.samples.own_scaling import OwnScaling
from sagemaker_debug_ext.rules.inference.samples.series import TimeOrder
from sagemaker_debug_ext.rules.inference.samples.spreads import (
    Numbers,
    Spread,
    is_scaled_otherwise,
    share_that_differs,
    share_that_shifts,
)
from sagemaker_debug_ext.rules.inference.training import LOSSES, is_final, loss_values, mean_loss
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, holds_quantities, root_mean_square, to_float64
from sagemaker_debug_ext.rules.reading.samples import MAX_KEPT, sample_hashes
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role
from sagemaker_debug_ext.vocabulary import ModeKeys

MIN_SAMPLES: Final = 64
MAX_FEATURES: Final = 4096
FEW: Final = 0.1
"""Fraction of features that must differ."""
KINDS: Final = {ModeKeys.EVAL: "evaluation", ModeKeys.PREDICT: "predictions"}
FEWEST_PREDICTED: Final = 4
"""Number of features below which scripts ask for predictions on a grid."""
OTHER_SCALE: Final = "which is another scale"
"""Message part on inputs that are scaled otherwise, or not at all."""
OWN_SCALING: Final = "as if a scaler was fitted to them, and not to those of training"
"""Message part on inputs with mean 0 and deviation 1."""
OWN: Final = 0.75
"""Fraction of features that must have them."""
LARGEST_SCALE: Final = 20
"""Ratio of root mean squares beyond which even a single sample has another scale."""
FEWEST_FEATURES: Final = 16
"""Number of features of a sample below which it may have another scale by chance."""
OF_SERIES: Final = 4
"""Factor for the largest difference of means where evaluation is the later part of a series, which may have a trend."""
FEWEST_EVALUATED: Final = 8
"""Number of different evaluation samples below which they say little."""
MAX_VISITS: Final = 2.7
"""Number of times training may have seen each sample for its loss to indicate performance on new data."""
MATTERS: Final = 0.25
"""Fraction of the first loss below which a difference is too small."""
WIDESPREAD: Final = 1.25
"""Smallest ratio of median errors, evaluation to training, that rules out a few outliers as the cause."""
ENOUGH: Final = 10_000
"""Number of evenly spaced values that suffices for their median."""
RECENT: Final = 10
"""Number of preceding training losses to compare an evaluation with."""
CATCHES_UP: Final = 0.7
"""Fraction of the previous round's loss below which an evaluation loss falls fast, as averages may have lagged."""
STALE: Final = 0.01
"""Relative change of an evaluation loss that is required while the training loss falls."""
SAME: Final = 1e-4
"""The same while averages of batch normalisations have not followed."""
LEARNT: Final = 0.5
"""Fraction of the first training loss from which on evaluation must have reacted to its fall."""
MIN_ROUNDS: Final = 3
MAX_DIFFERENCE: Final = 0.6
"""Largest difference of class shares; training with as many samples of a rare class as of a common one gives 0.5."""
TAKES_NO_NOTICE: Final = f"is still within {STALE:.0%} of its value in the first round"


def features(batch: Array) -> Numbers | None:
    """Return a batch as rows of features, or None if it has none, such as indices."""
    if not holds_quantities(batch) or batch.ndim < 2 or batch.size > MAX_FEATURES * len(batch):
        return None
    rows: Numbers = to_float64(batch).reshape(len(batch), -1)
    return rows if np.isfinite(rows).all() else None


def median_error(loss: LossObservation) -> float | None:
    """Return the median difference of predictions and targets; None for class targets and for different shapes."""
    if loss.num_classes is not None or loss.is_binary or loss.scores.shape != loss.targets.shape:
        return None
    every = slice(None, None, 1 + loss.targets.size // ENOUGH)
    scores, targets = (to_float64(value.reshape(-1)[every]) for value in (loss.scores, loss.targets))
    return float(np.median(np.abs(scores - targets)))


class EvaluationMismatch(BuiltinRule):
    """Evaluation data differ from training data: they are preprocessed differently, or have other labels.

    Checks inputs of the model at all steps, and losses at TRAIN and EVAL steps. The rule fires if more than a tenth of
    the input features differ between training and evaluation, at the end of a round of evaluation, if 64 samples of
    both were saved, of at least eight different ones. A feature differs if its means are more than `max_shift` standard
    deviations apart, or if its standard deviations differ by more than a factor of four, each beyond the error of
    sampling. A factor of three suffices if nearly all features differ in the same way. Where evaluation samples are
    consecutive windows of a series, which may have a trend, means have to be four times as far apart, and neither
    deviations nor losses are compared. It fires as well if more than 60 % of the evaluation labels would have to be of
    another class for classes to have the shares that they have in training. Labels that come one for each sample are
    compared, of at most 20 classes, if there are 64 of both, and ten for each class.

    The inputs of a single sample are enough if their root mean square is 20 times as large or as small as in training.
    Those of predictions are compared as well, as those of a picture that is not scaled as the training pictures were.
    So are the deviations of predicted samples with four features or more, of which nearly all must be three times as
    large or as small.

    When the job has ended, the rule also fires if a scaler was fitted to the evaluation data, or to those of
    predictions: more than three quarters of the features with more than two values, at least three, have mean 0 and
    deviation 1 over all samples together. Samples of tables with four features or more are checked. They must be
    others than those of training, which must come again, as inputs do not that are changed at random. Training must
    not scale each batch by itself. Data that are scaled by groups on purpose, such as those of each day or person,
    fire: exclude the rule.

    The rule also fires if the mean loss of an evaluation round is more than `max_ratio` times the mean of the latest
    ten training losses, and above it by more than a quarter of the first training loss. This is checked only if inputs
    of at least eight different evaluation samples were saved, and while training has seen each sample at most 2.7 times
    on average. The training loss then indicates performance on new data, because the model cannot have memorized
    samples. While the training loss falls fast, averages used in evaluation lag behind. The loss of the round must
    therefore also be that far above the ten training losses before the latest ten, if there are as many. While those of
    batch normalisations, by the program record, have not followed yet, only the end of the job is checked. If numeric
    predictions and targets were saved, their median difference must also be larger in evaluation by a quarter. A few
    outliers are expected with some distributions, and are not a mismatch.

    From the third round of evaluation on, the rule also fires if the evaluated model is stale: a copy or an average
    that is not updated. Each loss of each round so far is then within 1 % of its value in the first round, in the same
    position, while the training loss has fallen by half. While averages of batch normalisations have not followed,
    which keep the losses of a good model in place as well, they must be the same to a ten thousandth.

    The record of the program has what the script found by functions of `sklearn.metrics` that compare classes. When the
    job has ended, the rule also fires if a report on 200 predictions or more has as many of them right as chance, and
    none is half as good as the model: its latest 30 steps of evaluation, or of training if the script computes no loss
    in evaluation, have a kappa of at least 0.3. The predictions must be of as many classes as those of these steps, and
    of each about as often, and as the labels. They then belong to labels in another order. Of several reports of a
    function on as many samples, the best counts.

    Parameters:
        tensor_regex: Regular expressions searched in the names of inputs, as a list or separated by commas. When not
            given: those of the whole model, as the framework names them.
        max_shift: Largest difference of means, in standard deviations; 1 when not given.
        max_ratio: Largest ratio between the losses of evaluation and training; 2.5 when not given.
        patience: Number of consecutive rounds above it, without a fall by a third from one to the next; 1 when not
            given.

    Source:
        Skew between training and serving data: Breck and others, Data Validation for Machine Learning, MLSys 2019.

    Example:
        >>> rule = create_rule("EvaluationMismatch", trial, {"max_shift": 0.5})
        >>> invoke_rule(rule)
    """

    spec_name = "EvaluationMismatch"
    begins_anew = True
    advice = (
        "Preprocess both sets with the same code and the same constants, and check that their labels have the "
        "same meaning and order. If the evaluated model is a copy or an average, check that it is updated."
    )

    def configure(self) -> None:
        self.selection = chosen_or(self.parameters["tensor_regex"], Role.MODEL_INPUT)
        self._spreads: dict[tuple[str, ModeKeys, int], Spread] = {}
        self._orders = {mode: TimeOrder() for mode in (ModeKeys.EVAL, ModeKeys.PREDICT)}
        self._known: set[bytes] = set()
        self._known_of_evaluation: set[bytes] = set()
        self._num_seen = 0
        self._own_scaling = OwnScaling()
        self._first: dict[str, float] = {}
        self._training: dict[str, collections.deque[float]] = {}
        self._evaluation: dict[str, list[float]] = {}
        self._medians: dict[tuple[str, ModeKeys], collections.deque[float]] = {}
        self._first_rounds: dict[str, list[float]] = {}
        self._training_at_first: dict[str, float] = {}
        self._have_changed: set[str] = set()
        self._num_rounds = 0
        self._is_off: set[str] = set()
        self._rounds_off: collections.Counter[str] = collections.Counter()
        self._round_before: dict[str, float] = {}
        self._classes = ClassCounts()
        self._averages = MovingAverages()
        self._withheld: tuple[StepView, Issue] | None = None
        self._evaluated: dict[ModeKeys, tuple[StepView, list[str]]] = {}
        self._reported = ReportedOrder()
        self._last_step: int | None = None

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("inputs", self.selection),
            TensorRequirement("losses", LOSSES, is_required=False),
            TensorRequirement("inputs of losses", INPUTS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if evaluation and training differ; None if the step allows no comparison."""
        found = self._evaluate_step(view)
        return found or (self._evaluate_reports() if self._is_last(view) else []) or found

    def _is_last(self, view: StepView) -> bool:
        if self._last_step is None and self.base_trial.loaded_all_steps:
            self._last_step = self.base_trial.steps()[-1]
        return view.step == self._last_step

    def _evaluate_step(self, view: StepView) -> list[Issue] | None:
        """Return an issue if a step, or a round that it ends, differs from training."""
        if view.mode not in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            return None
        self._averages.observe(view)
        self._reported.observe(view, self.base_trial.loaded_all_steps)
        names = view.selected(self.selection)
        self._observe_inputs(view, names)
        if view.mode is ModeKeys.PREDICT:
            return self._evaluate_inputs(view, names)
        self._classes.observe(view)
        if view.mode is ModeKeys.TRAIN:
            for loss in self._evaluation:
                self._medians.pop((loss, ModeKeys.EVAL), None)
            found = self._evaluate_data_of_rounds() or self._evaluate_round(view)
            self._evaluation.clear()
            self._observe_errors(view)
            for loss, value in loss_values(view, LOSSES).items():
                self._first.setdefault(loss, abs(value))
                self._training.setdefault(loss, collections.deque(maxlen=2 * RECENT)).append(value)
            return found
        self._observe_errors(view)
        by_data = self._evaluate_inputs(view, names)
        if by_data:
            return by_data
        by_losses = self._evaluate_losses(view)
        return by_data if by_losses is None else by_losses

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last rounds, if no more steps will follow."""
        has_ended = any(is_final(view, name) for view, names in self._evaluated.values() for name in names)
        by_data = (self._evaluate_data_of_rounds() if has_ended else None) or self._evaluate_reports()
        if self._withheld is None or not is_final(self._withheld[0], self._withheld[1].tensors[0]):
            return by_data
        (_, by_losses), self._withheld = self._withheld, None
        return by_data or [by_losses]

    def _evaluate_reports(self) -> list[Issue]:
        """Return an issue if the job has ended, and its script has compared predictions with labels of others."""
        record = self.base_trial.program if self.base_trial.loaded_all_steps else None
        problem = self._reported.problem(record.reports) if record else None
        if problem is None or self._reported.seen is None:
            return []
        text, report = problem
        view, name = self._reported.seen
        return [self.found(view, text, tensors=[name], value=report.num_right, threshold=report.num_expected)]

    def _evaluate_inputs(self, view: StepView, names: list[str]) -> list[Issue] | None:
        """Return an issue if the inputs of a step, or of a round that it ends, differ; None if none can be compared."""
        if names:
            self._evaluated[view.mode] = view, names
        by_scale = self._evaluate_scale(view, names)
        is_end = any(is_final(view, name) for name in names)
        return by_scale or (self._evaluate_data_of_rounds() if is_end else None)

    def _evaluate_data_of_rounds(self) -> list[Issue] | None:
        """Return the issues of rounds whose data differ; None if there are none to evaluate.

        The rounds must be over, because their samples may come in an order.
        """
        evaluated, self._evaluated = list(self._evaluated.values()), {}
        found = [self._evaluate_spreads(view, names) for view, names in evaluated]
        found += [self._evaluate_labels(view) for view, _ in evaluated if view.mode is ModeKeys.EVAL]
        known = [issues for issues in found if issues is not None]
        return list(itertools.chain.from_iterable(known))[:1] if known else None

    def _evaluate_labels(self, view: StepView) -> list[Issue] | None:
        """Return an issue if classes have other shares in evaluation; None if no targets can be compared."""
        differences = {name: self._classes.difference(name) for name in self._classes.names()}
        known = {name: difference for name, difference in differences.items() if difference is not None}
        if not known:
            return None
        name = max(known, key=lambda name: known[name])
        if known[name] <= MAX_DIFFERENCE or name not in view.tensor_names:
            return []
        text = (
            f"Labels of evaluation are of other classes than those of training in {name!r}: {known[name]:.0%} of them "
            f"would have to be of another class for the same shares (at most {MAX_DIFFERENCE:.0%} expected)."
        )
        return [self.found(view, text, tensors=[name], value=known[name], threshold=MAX_DIFFERENCE)]

    def _evaluate_round(self, view: StepView) -> list[Issue] | None:
        """Return an issue if a finished round of evaluation reflects nothing learnt since the first.

        The loss is also saved at this step, so that its worker can be found.
        """
        if not self._evaluation:
            return None
        self._num_rounds += 1
        self._round_before = {name: mean_loss(values) for name, values in self._evaluation.items()}
        for name in self._evaluation:
            self._rounds_off[name] = self._rounds_off[name] + 1 if name in self._is_off else 0
        self._is_off.clear()
        if self._num_rounds == 1:
            self._first_rounds = {name: list(values) for name, values in self._evaluation.items()}
            self._training_at_first = {name: self._latest(name) for name in self._evaluation}
            return None
        self._have_changed |= {name for name in self._evaluation if not self._is_as_at_first(name, STALE)}
        stale = [name for name in self._evaluation if self._num_rounds >= MIN_ROUNDS and self._is_stale(name)]
        stale = [name for name in stale if name in view.tensor_names]
        return [self._not_followed(view, stale[0])] if stale else None

    def _has_been_off(self, loss: str, value: float) -> bool:
        """Return whether an evaluation loss has been off for `patience` rounds, and does not fall fast."""
        self._is_off.add(loss)
        if self._rounds_off[loss] + 1 < self.parameters["patience"]:
            return False
        return not (self._rounds_off[loss] and value < CATCHES_UP * self._round_before.get(loss, 0.0))

    def _latest(self, loss: str) -> float:
        return mean_loss(list(self._training.get(loss, (math.nan,)))[-RECENT:])

    @staticmethod
    def _usual(losses: Sequence[float]) -> float:
        """Return the mean of the latest losses, or of as many before them if that is higher."""
        values = list(losses)
        latest, earlier = values[-RECENT:], values[:-RECENT]
        return max(mean_loss(latest), mean_loss(earlier) if len(earlier) == RECENT else -math.inf)

    def _is_stale(self, loss: str) -> bool:
        """Return whether an evaluation loss is as in the first round, while the training loss has fallen."""
        has_learnt = 0 <= self._latest(loss) < LEARNT * self._training_at_first.get(loss, 0)
        close = SAME if self._averages.lag else STALE
        return has_learnt and loss not in self._have_changed and self._is_as_at_first(loss, close)

    def _is_as_at_first(self, loss: str, close: float) -> bool:
        pairs = list(zip(self._evaluation[loss], self._first_rounds.get(loss, []), strict=False))
        return bool(pairs) and all(abs(value - before) <= close * abs(before) for value, before in pairs)

    def _not_followed(self, view: StepView, loss: str) -> Issue:
        value = self._evaluation[loss][-1]
        text = (
            f"Evaluation does not follow training: the loss {loss!r} fell from {self._training_at_first[loss]:.4g} "
            f"to {self._latest(loss):.4g} in training, but in evaluation it {TAKES_NO_NOTICE} ({value:.4g})."
        )
        return self.found(view, text, tensors=[loss], value=value, threshold=STALE)

    def _observe_inputs(self, view: StepView, names: Sequence[str]) -> None:
        for name in names:
            rows, value = view.statistic(name, features), view.value(name)
            if rows is not None:
                self._spreads.setdefault((name, view.mode, rows.shape[1]), Spread()).add(rows)
            if rows is not None and value is not None:
                self._own_scaling.observe(name, view.mode, value, rows)
            if rows is not None and value is not None and view.mode in self._orders:
                targets = [loss.targets for loss in observed_losses(view)]
                self._orders[view.mode].observe(value, targets[0] if targets else None)
            digests = view.statistic(name, sample_hashes) or ()
            if view.mode is ModeKeys.TRAIN and len(self._known) < MAX_KEPT:
                self._num_seen += len(digests)
                self._known.update(digests)
            elif view.mode is ModeKeys.EVAL and len(self._known_of_evaluation) < FEWEST_EVALUATED:
                self._known_of_evaluation.update(digests)

    def _observe_errors(self, view: StepView) -> None:
        for loss in observed_losses(view):
            error = median_error(loss)
            if error is not None:
                kept = self._medians.setdefault((loss.name, view.mode), collections.deque(maxlen=RECENT))
                kept.append(error)

    def _is_widespread(self, loss: str) -> bool:
        """Return whether more than a few evaluation samples are off, evaluating by saved predictions and targets."""
        training, evaluation = (self._medians.get((loss, mode)) for mode in (ModeKeys.TRAIN, ModeKeys.EVAL))
        if not training or not evaluation:
            return True
        return statistics.median(evaluation) > WIDESPREAD * statistics.median(training)

    def _evaluate_scale(self, view: StepView, names: Sequence[str]) -> list[Issue] | None:
        """Return an issue if the inputs of a single step are larger or smaller by far than those of training."""
        was_evaluated = False
        for name in names:
            rows = view.statistic(name, features)
            training = self._spreads.get((name, ModeKeys.TRAIN, rows.shape[1])) if rows is not None else None
            if rows is None or training is None or training.count < MIN_SAMPLES or rows.shape[1] < FEWEST_FEATURES:
                continue
            was_evaluated = True
            sizes = root_mean_square(rows), training.root_mean_square
            # a batch of equal numbers is made up, to find out the shapes of a model
            if not np.ptp(rows) or max(sizes) <= LARGEST_SCALE * min(sizes):
                continue
            text = (
                f"Inputs of {KINDS[view.mode]} have a root mean square of {sizes[0]:.3g} in {name!r}, {OTHER_SCALE} "
                f"than the {sizes[1]:.3g} of training."
            )
            return [self.found(view, text, tensors=[name], value=sizes[0] / sizes[1], threshold=LARGEST_SCALE)]
        return [] if was_evaluated else None

    def _evaluate_spreads(self, view: StepView, names: Sequence[str]) -> list[Issue] | None:
        """Return an issue if means or spreads of inputs differ; None if no input has enough samples of both modes."""
        was_evaluated = False
        for (name, mode, width), other in self._spreads.items():
            training = self._spreads.get((name, ModeKeys.TRAIN, width))
            if name not in names or mode is not view.mode or training is None:
                continue
            if min(training.count, other.count) < MIN_SAMPLES or (mode is ModeKeys.EVAL and self._has_few_samples()):
                continue
            was_evaluated = True
            own = self._own_scaling.share(name, width, mode) if is_final(view, name) else 0.0
            if own > OWN:
                text = (
                    f"Inputs of {KINDS[mode]} have mean 0 and deviation 1 in {own:.0%} of the features of {name!r}, "
                    f"{OWN_SCALING}."
                )
                return [self.found(view, text, tensors=[name], value=own, threshold=OWN)]
            share = self._share_off(training, other, mode)
            if share > FEW:
                kind = KINDS[mode]
                text = (
                    f"Inputs of {kind} differ from those of training in {name!r}: {share:.0%} of the features have "
                    f"another mean or spread (at most {FEW:.0%} expected)."
                )
                return [self.found(view, text, tensors=[name], value=share, threshold=FEW)]
        return [] if was_evaluated else None

    def _has_few_samples(self) -> bool:
        """Return whether rounds of evaluation repeat a few samples; False if samples are too small to be told apart."""
        return 0 < len(self._known_of_evaluation) < FEWEST_EVALUATED

    def _share_off(self, training: Spread, other: Spread, mode: ModeKeys) -> float:
        """Return the share of features that differ more than they may."""
        limit: float = self.parameters["max_shift"]
        is_series = self._orders[mode].is_kept
        if mode is ModeKeys.PREDICT:  # a script may ask for anything, such as the values of a curve beyond the data
            is_off = len(other.mean) >= FEWEST_PREDICTED and not is_series and is_scaled_otherwise(training, other)
            return float(is_off)
        return (
            share_that_shifts(training, other, OF_SERIES * limit)
            if is_series
            else share_that_differs(training, other, limit)
        )

    def _evaluate_losses(self, view: StepView) -> list[Issue] | None:
        """Return an issue if a loss does not fit training; None if no loss can be compared."""
        was_evaluated, self._withheld = False, None
        limit: float = self.parameters["max_ratio"]
        is_fresh = 0 < self._num_seen <= MAX_VISITS * len(self._known)
        says_much = len(self._known_of_evaluation) >= FEWEST_EVALUATED and not self._orders[ModeKeys.EVAL].is_kept
        for name, value in comparable_losses(view, LOSSES).items():
            self._evaluation.setdefault(name, []).append(value)
            before = self._training.get(name, ())
            if not (is_fresh and says_much) or len(before) < RECENT:
                continue
            training, evaluation = self._usual(before), mean_loss(self._evaluation[name])
            if training <= 0 or evaluation <= 0 or not math.isfinite(training + evaluation):
                continue
            was_evaluated = True
            ratio = evaluation / training
            is_off = ratio > limit and evaluation - training > MATTERS * self._first[name]
            if is_off and self._is_stale(name):
                if len(self._evaluation[name]) < len(self._first_rounds[name]):
                    continue  # one loss may be the same by chance
                return [self._not_followed(view, name)]
            if is_off and self._is_widespread(name) and self._has_been_off(name, evaluation):
                text = (
                    f"Evaluation does not fit training: the loss {name!r} is {evaluation:.4g} in evaluation and "
                    f"{training:.4g} in training, a ratio of {ratio:.3g} (at most {limit:g} expected), on samples that "
                    "are about as new to the model."
                )
                issue = self.found(view, text, tensors=[name], value=ratio, threshold=limit)
                if not self._averages.lag or is_final(view, name):
                    return [issue]
                self._withheld = view, issue
        return [] if was_evaluated else None
