"""NoSkill: the model is no better than a constant prediction."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, Measurement
from sagemaker_debug_ext.rules.extra.losses._attention_updates import WEIGHTS, AttentionUpdates
from sagemaker_debug_ext.rules.inference.baselines.constant import BaselineComparison
from sagemaker_debug_ext.rules.inference.class_labels import MODEL_INPUTS
from sagemaker_debug_ext.rules.inference.losses import (
    INPUTS,
    columns_of,
    count_classes,
    label_entropy,
    observed_losses,
    predicted_classes,
)
from sagemaker_debug_ext.rules.inference.moving_averages import MovingAverages
from sagemaker_debug_ext.rules.inference.moving_goals import AdversarialLosses, MovingTargets
from sagemaker_debug_ext.rules.inference.training import DeferredMeasurements, is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import ModeKeys

BOOSTED_LOSS = Selection(patterns=("^(validation|valid|val|eval|test)-m?logloss$",))
BOOSTED_LABELS = Selection(patterns=("^labels$",))
FROM_NEW_DATA: Final = "that holds for new data"
"""Message part on validation losses, which say more than that training makes no progress."""
FROM_INPUTS: Final = "from the inputs"
"""Message part on other losses."""
OF_COPIES: Final = "The targets are the inputs themselves, so another part of the loss leaves nothing of them"
"""Message part on models that are to give back what they get."""
OF_LINE: Final = "The targets depend on squares or products of the inputs, which a single linear layer cannot follow"
"""Message part on models without hidden layers."""
FAR_FROM_MEAN: Final = "Predictions are still far from the mean of the targets, as where these are not scaled"
"""Message part on predictions that mostly lack a constant."""
MOSTLY: Final = 0.5
"""Fraction of an error that a constant would take away, from which on it is most of the error."""
LARGE_UPDATES: Final = "Updates were larger than models with attention usually bear"
"""Message part on models with attention."""
MOST_INPUTS: Final = 8
"""Number of features up to which their squares and products are looked at."""
MOST_ROWS: Final = 512
FEWEST_ROWS: Final = 30
"""Number of different inputs, besides two for each feature, that show how targets depend on them."""
MUCH: Final = 0.3
"""Share of the variance of targets that squares and products of the inputs explain."""
MORE: Final = 3.0
"""Ratio to the share that the inputs as such explain."""
KNOWS: Final = 0.3
"""Share of the variance of targets of 0 and 1 that predictions explain which know something, whatever their level."""
TINY: Final = 1e-12
FALLEN: Final = 0.9
"""Ratio of an error to that at half of the steps below which training still goes on."""
FEWEST_PASSES: Final = 5
"""Passes of evaluation after which a model that still knows nothing of new data has learnt by heart what it knows."""
CHANCE: Final = 3.0
"""Number of standard deviations by which more predictions may be right by chance."""


@attrs.define
class _Best:
    """Compares the validation loss of boosted trees so far with that of a constant."""

    rounds: int = 0
    lowest: float = float("inf")


class BentTargets:
    """Detects targets that depend on squares and products of the inputs, which a single linear layer cannot follow.

    Inputs and targets are those of the first steps of a model whose only weight has two axes.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[Array, Array]] = []
        self._num_rows = 0
        self._verdict: tuple[int, bool] = (0, False)

    def observe(self, view: StepView) -> None:
        """Observe a training step."""
        if self._num_rows >= MOST_ROWS or not _has_single_layer(view):
            return
        inputs = [value for name in view.selected(MODEL_INPUTS) if (value := view.value(name)) is not None]
        targets = [loss.targets for loss in observed_losses(view) if loss.num_classes in (None, 2)]
        if len(inputs) != 1 or len(targets) != 1 or inputs[0].ndim != 2 or inputs[0].shape[1] > MOST_INPUTS:
            return
        numbers, wanted = to_float64(inputs[0]), columns_of(to_float64(targets[0]))
        if wanted.ndim == 1 and len(wanted) == len(numbers) and np.isfinite(numbers).all():
            self._rows.append((numbers, wanted))
            self._num_rows += len(numbers)

    def are_there(self) -> bool:
        """Return whether much of the targets follows from squares and products, and little from the inputs as such."""
        if self._verdict[0] != self._num_rows:
            self._verdict = (self._num_rows, self._are_bent())
        return self._verdict[1]

    def _are_bent(self) -> bool:
        inputs, targets = (np.concatenate(column) for column in zip(*self._rows, strict=True))
        inputs, places = np.unique(inputs, axis=0, return_index=True)
        targets = targets[places]
        pairs = itertools.combinations_with_replacement(inputs.T, 2)
        products = np.stack([one * other for one, other in pairs], axis=1)
        straight, bent = _share_explained(inputs, targets), _share_explained(np.hstack([inputs, products]), targets)
        return bent > max(MUCH, MORE * straight)


def _has_single_layer(view: StepView) -> bool:
    """Return whether the model has a single weight, which has two axes."""
    names = view.selected(WEIGHTS)
    weight = view.value(names[0]) if len(names) == 1 else None
    return weight is not None and weight.ndim == 2


def _share_explained(features: Array, targets: Array) -> float:
    """Return the share of variance that a linear fit explains, adjusted for the number of features; 0 if unknown."""
    num_rows, num_features = features.shape
    if num_rows < FEWEST_ROWS + 2 * num_features or not np.var(targets) > 0:
        return 0.0
    features = (features - features.mean(axis=0)) / (features.std(axis=0) + TINY)
    apart = targets - targets.mean()
    fitted = features @ np.linalg.lstsq(features, apart, rcond=None)[0]
    left = float(np.sum((apart - fitted) ** 2) / np.sum(apart**2))
    return float(1 - left * (num_rows - 1) / (num_rows - num_features - 1))


class _OnNewData:
    """Compares predictions of evaluation with the best constant, and each pass of evaluation with what is right.

    Args:
        window: Number of latest steps to average.
    """

    def __init__(self, window: int) -> None:
        self._compared = BaselineComparison(window)
        self._averages = MovingAverages()
        self._window = window
        self._pass = _Pass(window)
        self._gains_of_passes: dict[str, list[float]] = {}
        self._have_learnt: set[str] = set()

    def observe(self, view: StepView, limit: float) -> None:
        """Observe a step; a training step ends a pass of evaluation, which shows skill from a gain of `limit` on."""
        self._averages.observe(view)
        if view.mode is ModeKeys.EVAL:
            self._compared.observe(view)
            self._pass.observe(view)
        elif is_training(view) and self._pass.is_open:
            for name, gain in self._pass.gains().items() if not self._averages.lag else ():
                self._gains_of_passes.setdefault(name, []).append(gain)
                if gain >= limit or self._pass.is_better_than_commonest(name):
                    self._have_learnt.add(name)
            self._pass = _Pass(self._window)

    def has_learnt(self, name: str, limit: float) -> bool:
        """Return whether the predictions behind a loss have a gain of at least a limit."""
        gain = self._compared.gain(name)
        return gain is not None and gain >= limit

    def lost(self, name: str) -> float | None:
        """Return the latest gain of class predictions that no pass has found better than a constant; None otherwise."""
        gains = self._gains_of_passes.get(name, ())
        if len(gains) < FEWEST_PASSES or name in self._have_learnt or gains[-1] >= 0:
            return None
        return gains[-1]


class _Pass:
    """The predictions of classes in one pass of evaluation.

    Quantities do not count, because later ones may lie elsewhere, where the mean of each pass is hard to beat.
    """

    def __init__(self, window: int) -> None:
        self._compared = BaselineComparison(window)
        self._classes: dict[str, collections.Counter[int]] = {}
        self._num_right: collections.Counter[str] = collections.Counter()
        self.is_open = False

    def observe(self, view: StepView) -> None:
        """Observe a step of the pass."""
        self.is_open = True
        self._compared.observe(view)
        for loss in observed_losses(view):
            ids = predicted_classes(loss)
            if ids is not None:
                labels, predicted = ids
                self._classes.setdefault(loss.name, collections.Counter()).update(count_classes(labels))
                self._num_right[loss.name] += int(np.count_nonzero(labels == predicted))

    def gains(self) -> dict[str, float]:
        """Return the gain of each loss of classes."""
        return {name: gain for name, gain in self._compared.gains().items() if name in self._classes}

    def is_better_than_commonest(self, name: str) -> bool:
        """Return whether more predictions are right than if all were the most common class, by more than chance."""
        total, most = self._classes[name].total(), max(self._classes[name].values())
        chance = math.sqrt(most * (total - most) / total)
        return self._num_right[name] > most + CHANCE * chance


def _is_falling(gains: Sequence[float]) -> bool:
    """Return whether the error has become much lower in the second half of the steps."""
    return 100 - gains[-1] < FALLEN * (100 - gains[len(gains) // 2])


class NoSkill(BuiltinRule):
    """The model is no better than the best constant prediction, which needs no inputs.

    Checks scores and targets of losses at TRAIN steps (or steps without a mode). The best constant has the entropy of
    the labels as its cross entropy, or the variance of the targets as its mean squared error. Of several targets for
    each sample, each has a constant of its own. Where these are indices of classes, as of pixels, the constant of each
    place counts besides that of all, if it is better, from 100 different samples on, at 128 places at most. If a loss
    is neither of these by its name or its value, such as a quantile loss, it does not aim at the targets themselves.
    Its error is then the variance that no linear function of the scores explains, except for targets of detectors,
    where all numbers are 0 unless a flag is 1. The same holds for binary losses that weight one class
    more. Losses that choose among weighted classes are not evaluated. The mean error of the latest
    `window` steps must be below that of the constant over the same samples by `min_gain_percent`. More steps are used
    if these have fewer than 200 targets.

    Dropout may make training predictions poor although the model has learnt. The rule therefore does not fire while the
    predictions of the latest EVAL steps are better than the constant. Neither does it while a linear function of the
    predictions explains 30 % of the variance of targets of 0 and 1, such as pixels of an object, whose level is then
    yet to be learnt. If the targets are the inputs of the model, as of an autoencoder, the message says so. It also
    says so if most of the error would be gone with a constant added, if the only layer is linear, and squares and
    products of up to eight inputs explain much of the targets, three times as much as the inputs as such, and if an
    update of a model with attention changed the median weight by more than 4 % of its norm, and its numbers by 0.003.

    At the end of the job, the rule also fires if what the model knows of its training data holds for no others: none of
    five passes of evaluation or more, each before further training, was better than the constant by `min_gain_percent`,
    or had more right classes than the most common one would have by chance, and the latest was worse than the constant.
    Passes do not count while averages of batch normalisations have not followed.

    Some sound models learn nothing for a long time, because their learning rate is warmed up or the first step is the
    hardest. The rule therefore fires only when the job has ended, after at least `patience` steps, or while it runs if
    none of `patience_running` steps met the limit and the error has not fallen by a tenth in the second half of them.

    Adversarial losses, where one side wins what the other loses, are not evaluated. Neither are losses beside targets
    that grow or shrink while the model is trained, like the returns of an agent that learns to act. For boosted trees,
    the validation loss of each round is compared with the entropy of the saved labels. The rule fires if the loss was
    not lower in `patience_rounds` rounds.

    Parameters:
        window: Number of steps to average; 20 when not given.
        patience: Number of steps required for a verdict when the job has ended; 50 when not given.
        patience_running: Number of steps required for a verdict while the job runs; 1000 when not given.
        patience_rounds: Number of rounds of boosted trees required for a verdict; 15 when not given.
        min_gain_percent: Smallest improvement over a constant; 4 when not given.

    Source:
        An input-independent baseline as a check: Karpathy, A Recipe for Training Neural Networks, 2019.

    Example:
        >>> rule = create_rule("NoSkill", trial, {"patience_running": 500})
        >>> invoke_rule(rule)
    """

    spec_name = "NoSkill"
    advice = (
        "Check that each input has its own label, after reshapes as well, that the inputs carry information about the "
        "labels, that the loss is lowest where predictions are right, that the optimizer has all parameters and a "
        "suitable learning rate, and that dropout and weight decay are not too strong."
    )

    def configure(self) -> None:
        self._baseline = BaselineComparison(self.parameters["window"])
        self._on_new_data = _OnNewData(self.parameters["window"])
        self._best: dict[str, _Best] = {}
        self._adversarial = AdversarialLosses()
        self._moving = MovingTargets()
        self._best_gain: dict[str, float] = {}
        self._gains: dict[str, list[float]] = {}
        self._is_copy: dict[str, bool] = {}
        self._bent = BentTargets()
        self._attention = AttentionUpdates()
        self._pending = DeferredMeasurements()

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("inputs of losses", INPUTS, is_required=False),
            TensorRequirement("labels", BOOSTED_LABELS, is_required=False),
            TensorRequirement("inputs of the model", MODEL_INPUTS, is_required=False),
            TensorRequirement("weights", WEIGHTS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if a constant prediction is as good."""
        limit: float = self.parameters["min_gain_percent"]
        self._on_new_data.observe(view, limit)
        if not is_training(view):
            return None
        self._adversarial.observe(view)
        self._moving.observe(view)
        self._bent.observe(view)
        self._attention.observe(view)
        of_trees, of_layers = dict(self._of_trees(view)), dict(self._of_layers(view))
        if not (of_trees or of_layers):
            return None
        settled = {name: self._settled(view, name, gain) for name, gain in of_layers.items()}
        due = {name: gain for name, gain in of_trees.items() if gain < limit}
        if due:
            return [self._without_skill(view, due, FROM_NEW_DATA)]
        return self._issues(view, {name: measurement for name, measurement in settled.items() if measurement.fires})

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last steps, if no more steps will follow."""
        return [issue for view, measurements in self._pending.take() for issue in self._issues(view, measurements)]

    def _issues(self, view: StepView, settled: Mapping[str, Measurement]) -> list[Issue]:
        """Return the issue of losses without skill, of those in training if there are any."""
        for what in (FROM_INPUTS, FROM_NEW_DATA):
            gains = {name: found.value or 0.0 for name, found in settled.items() if found.text == what}
            if gains:
                return [self._without_skill(view, gains, what)]
        return []

    def _settled(self, view: StepView, name: str, gain: float) -> Measurement:
        """Return a measurement that fires if a loss is not better than a constant, and patience is exhausted."""
        limit: float = self.parameters["min_gain_percent"]
        lost = self._on_new_data.lost(name) if gain >= limit else None
        if lost is not None:
            return self._pending.settle(view, name, Measurement(lost, fires=True, text=FROM_NEW_DATA), is_late=False)
        knows = self._baseline.share_explained(name) >= KNOWS or self._on_new_data.has_learnt(name, limit)
        fires = gain < limit and not knows
        has_time = self._baseline.num_seen(name) >= self.parameters["patience_running"]
        is_late = has_time and self._best_gain[name] < limit and not _is_falling(self._gains[name])
        return self._pending.settle(view, name, Measurement(gain, fires=fires, text=FROM_INPUTS), is_late=is_late)

    def _without_skill(self, view: StepView, gains: Mapping[str, float], what: str) -> Issue:
        worst = min(gains, key=lambda name: gains[name])
        limit: float = self.parameters["min_gain_percent"]
        gain = gains[worst]
        where = " in evaluation" if worst in self._gains and what == FROM_NEW_DATA else ""
        distance = f"only {gain:.2g} % below" if gain >= 0 else f"{-gain:.2g} % above"
        text = (
            f"The model learns nothing {what}: the error of {worst!r}{where} is {distance} that of the best constant "
            f"prediction (at least {limit:g} % below expected by now)."
        )
        if self._is_copy.get(worst):
            text = f"{text} {OF_COPIES}, or the code between is too small."
        elif self._bent.are_there():
            text = f"{text} {OF_LINE}."
        elif self._baseline.constant_part(worst) > MOSTLY:
            text = f"{text} {FAR_FROM_MEAN}."
        elif self._attention.were_large():
            text = f"{text} {LARGE_UPDATES}."
        return self.found(view, text, tensors=[worst], value=gains[worst], threshold=limit)

    def _note_copies(self, view: StepView) -> None:
        """Note which losses compare the model's outputs with its inputs, as their first step shows."""
        new = [loss for loss in observed_losses(view) if loss.name not in self._is_copy]
        inputs = [view.value(name) for name in view.selected(MODEL_INPUTS)] if new else []
        given = [value.reshape(-1) for value in inputs if value is not None]
        for loss in new:
            self._is_copy[loss.name] = any(np.array_equal(loss.targets.reshape(-1), value) for value in given)

    def _of_layers(self, view: StepView) -> Iterator[tuple[str, float]]:
        """Yield the percentage by which each loss is below that of a constant."""
        patience = max(self.parameters["patience"], self.parameters["window"])
        self._note_copies(view)
        for name in self._baseline.observe(view):
            is_time = self._baseline.num_seen(name) >= patience
            has_goal = not self._adversarial.has(name) and not self._moving.are_there()
            gain = self._baseline.gain(name) if is_time and has_goal else None
            if gain is not None:
                self._best_gain[name] = max(gain, self._best_gain.get(name, gain))
                self._gains.setdefault(name, []).append(gain)
                yield name, gain

    def _of_trees(self, view: StepView) -> Iterator[tuple[str, float]]:
        names = view.selected(BOOSTED_LOSS) if view.mode is ModeKeys.GLOBAL else []
        labels = [value for name in view.selected(BOOSTED_LABELS) if (value := view.value(name)) is not None]
        if not names or not labels:
            return
        constant = label_entropy(labels[0])
        for name in names:
            loss = view.scalar(name)
            if loss is None or constant <= 0:
                continue
            best = self._best.setdefault(name, _Best())
            best.rounds, best.lowest = best.rounds + 1, min(best.lowest, loss)
            if best.rounds >= self.parameters["patience_rounds"]:
                yield name, 100 * (1 - best.lowest / constant)
