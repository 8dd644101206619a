"""NoSkill: the model answers no better than a constant would."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin.answers import INPUTS, Games, LossView, entropy, label_entropy, losses_at
from sagemaker_debug_ext.rules.builtin.base import BuiltinRule, Reading
from sagemaker_debug_ext.rules.builtin.watching import Pending, is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.needs import Need
from sagemaker_debug_ext.rules.selection import Selection
from sagemaker_debug_ext.rules.step import Array, StepView, to_float64
from sagemaker_debug_ext.vocabulary import ModeKeys

BOOSTED_LOSS = Selection(patterns=("^(validation|valid|val|eval|test)-m?logloss$",))
BOOSTED_LABELS = Selection(patterns=("^labels$",))
FEWEST_TARGETS: Final = 200
"""How many targets there must be for the error of a constant to be known."""
WEIGHED: Final = 0.01
"""Part of the mean cross entropy by which a loss differs from it if it weighs what it adds up."""
FROM_NEW_DATA: Final = "that holds for new data"
"""What the message says of validation losses, which tell more than that training gets nowhere."""
FROM_INPUTS: Final = "from the inputs"
"""What it says of others."""


class _Answered(NamedTuple):
    loss: float
    targets: Array
    of_classes: bool


@attrs.define
class _Best:
    """How the validation loss of boosted trees compares with that of a constant, so far."""

    rounds: int = 0
    lowest: float = float("inf")


def error_of(loss: LossView) -> float | None:
    """Return what can be compared with the best constant; None if there is no telling what the loss wants."""
    if loss.num_classes is not None:
        return loss.cross_entropy()
    if loss.wants_margins:
        is_probability = np.min(loss.scores) >= 0 and np.max(loss.scores) <= 1
        return None if is_probability else loss.margin_entropy()
    if loss.wants_targets:
        return float(np.mean((to_float64(loss.scores) - to_float64(loss.targets)) ** 2))
    return None


def error_of_constant(targets: Array, of_classes: bool) -> float:
    """Return the error of the best constant answer: entropy or variance."""
    if not of_classes:
        return float(np.var(to_float64(targets), ddof=1)) if targets.size > 1 else 0.0
    if targets.dtype.kind in "iu" or np.array_equal(targets, np.trunc(targets)):
        entropy_of_sample = label_entropy(targets)
        # of a small sample it is too small; Miller and Madow's correction
        return entropy_of_sample + (len(np.unique(targets)) - 1) / (2 * targets.size) if entropy_of_sample else 0.0
    mean = float(np.mean(to_float64(targets)))  # shares of class 1
    return entropy(np.array([mean, 1 - mean]))


def is_weighed(loss: LossView) -> bool:
    """Tell whether a loss of yes and no with margins is another number than their mean cross entropy."""
    if loss.num_classes is not None or not loss.is_binary or loss.kind != "BCEWithLogits":
        return False
    plain = loss.margin_entropy()
    return np.isfinite(loss.value) and abs(loss.value - plain) > WEIGHED * plain


class Skill:
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
        """Take a step, and return the names of the losses that could be compared."""
        names = []
        for loss in losses_at(view):
            error = self._error_of(loss)
            has_classes = loss.num_classes is not None or loss.wants_margins
            of_classes = error is not None and loss.name not in self._weighed and has_classes
            if error is None:
                error = None if loss.kind is not None else loss.unexplained()
            if error is None:
                continue
            targets = loss.targets.reshape(-1)
            if loss.num_classes is not None:  # others are ignored, as padding is
                targets = targets[(targets >= 0) & (targets < loss.num_classes)]
            self._keep(loss.name, _Answered(error, targets, of_classes))
            self._seen[loss.name] += 1
            names.append(loss.name)
        return names

    def _error_of(self, loss: LossView) -> float | None:
        """Return the error of answers; of those that a loss weighs, what goes with the targets counts.

        Where yes counts more than no, answers lean towards it.
        """
        if loss.name not in self._weighed and is_weighed(loss):
            self._weighed.add(loss.name)
            self._answered.pop(loss.name, None)
            self._num_targets.pop(loss.name, None)
        return loss.unexplained() if loss.name in self._weighed else error_of(loss)

    def _keep(self, name: str, latest: _Answered) -> None:
        kept = self._answered.setdefault(name, collections.deque())
        kept.append(latest)
        self._num_targets[name] += latest.targets.size
        while len(kept) > self._window and self._num_targets[name] - kept[0].targets.size >= FEWEST_TARGETS:
            self._num_targets[name] -= kept.popleft().targets.size

    def num_seen(self, name: str) -> int:
        """Return at how many steps a loss could be compared."""
        return self._seen[name]

    def gain(self, name: str) -> float | None:
        """Return by how many percent the error behind a loss is below that of a constant; None if that cannot be told.

        Few targets tell nothing, nor do those that are all the same.
        """
        kept = self._answered.get(name)
        if not kept or self._num_targets[name] < FEWEST_TARGETS:
            return None
        targets = np.concatenate([each.targets for each in kept])
        constant = error_of_constant(targets, kept[-1].of_classes)
        if not (constant > 0 and np.isfinite(constant)):
            return None
        return 100 * (1 - statistics.fmean(each.loss for each in kept) / constant)


class NoSkill(BuiltinRule):
    """The model answers no better than the best constant answer, which needs no inputs.

    Looks at scores and targets of losses at TRAIN steps (all steps that have no mode). The best constant has the
    entropy of the labels as its cross entropy, or the variance of the targets as its mean squared error. A loss that is
    none of these by its name or its value, such as one of quantiles, does not want the targets themselves: what no
    linear function of the scores explains counts as its error, as for losses of yes and no in which one counts more
    than the other. The mean error of the latest `window` steps, or of as many more as have 200 targets, must be below
    that of the constant over the same samples by `min_gain_percent`.

    Some sound models learn nothing for long before they begin to, while their rate is warmed up or because the first
    step is the hardest. So the rule fires if it is not when the job has ended, after `patience` steps at least; or
    while it runs if it has not been at any of `patience_running` steps.

    Losses of which one side of a game wins what the other loses, as in adversarial training, are not judged. Of boosted
    trees it compares the validation loss of each round with the entropy of the labels that are saved, and fires if it
    has not been lower in `patience_rounds` rounds.

    Parameters:
        window: How many steps are averaged; 20 when not given.
        patience: How many steps must be seen for a verdict when the job has ended; 50 when not given.
        patience_running: How many steps must be seen for a verdict while it runs; 1000 when not given.
        patience_rounds: The same for rounds of boosted trees; 15 when not given.
        min_gain_percent: How much better than a constant the model must be; 4 when not given.

    Source:
        An input-independent baseline as a check: Karpathy, A Recipe for Training Neural Networks, 2019.

    Example:
        >>> rule = create_rule("NoSkill", trial, {"patience_running": 500})
        >>> invoke_rule(rule)
    """

    spec_name = "NoSkill"
    advice = (
        "Check that each input has its own label, that inputs tell anything about labels at all, that the optimizer "
        "has all parameters and a sound learning rate, and that dropout and weight decay leave something to learn with."
    )

    def configure(self) -> None:
        """Begin without observations."""
        self._skill = Skill(self.parameters["window"])
        self._best: dict[str, _Best] = {}
        self._games = Games()
        self._best_gain: dict[str, float] = {}
        self._pending = Pending()

    def needs(self) -> tuple[Need, ...]:
        """Return what goes into losses, and what boosted trees save instead."""
        return Need("inputs of losses", INPUTS, is_required=False), Need("labels", BOOSTED_LABELS, is_required=False)

    def judge(self, view: StepView) -> list[Issue] | None:
        """Return an issue if a constant would do as well."""
        if not is_training(view):
            return None
        self._games.observe(view)
        limit: float = self.parameters["min_gain_percent"]
        of_trees, of_layers = dict(self._of_trees(view)), dict(self._of_layers(view))
        if not (of_trees or of_layers):
            return None
        settled = {name: self._settled(view, name, gain) for name, gain in of_layers.items()}
        due = {name: gain for name, gain in of_trees.items() if gain < limit}
        if due:
            return [self._without_skill(view, due, FROM_NEW_DATA)]
        due = {name: gain for name, gain in of_layers.items() if settled[name].fires}
        return [self._without_skill(view, due, FROM_INPUTS)] if due else []

    def issues_while_waiting(self) -> list[Issue]:
        """Return what was found at the last steps, if no others are to come."""
        return [
            self._without_skill(view, {name: reading.value or 0.0 for name, reading in readings.items()}, FROM_INPUTS)
            for view, readings in self._pending.take()
        ]

    def _settled(self, view: StepView, name: str, gain: float) -> Reading:
        """Return a reading that fires if a loss is not better than a constant, and it is time to say so."""
        limit: float = self.parameters["min_gain_percent"]
        is_late = self._skill.num_seen(name) >= self.parameters["patience_running"] and self._best_gain[name] < limit
        return self._pending.settle(view, name, Reading(gain, fires=gain < limit), is_late=is_late)

    def _without_skill(self, view: StepView, gains: Mapping[str, float], what: str) -> Issue:
        worst = min(gains, key=lambda name: gains[name])
        limit: float = self.parameters["min_gain_percent"]
        text = (
            f"Nothing is learnt {what}: the error behind {worst!r} is {gains[worst]:.2g} % below that of the "
            f"best constant answer, where at least {limit:g} % was expected by now."
        )
        return self.found(view, text, tensors=[worst], value=gains[worst], threshold=limit)

    def _of_layers(self, view: StepView) -> Iterator[tuple[str, float]]:
        """Yield by how many percent each loss is below that of a constant."""
        patience = max(self.parameters["patience"], self.parameters["window"])
        for name in self._skill.observe(view):
            is_time = self._skill.num_seen(name) >= patience and not self._games.has(name)
            gain = self._skill.gain(name) if is_time else None
            if gain is not None:
                self._best_gain[name] = max(gain, self._best_gain.get(name, gain))
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
