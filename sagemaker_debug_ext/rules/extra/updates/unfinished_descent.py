"""UnfinishedDescent: training has ended on its way down, long before the loss is low."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.extra.updates._gradient_direction import GradientDirection
from sagemaker_debug_ext.rules.inference.baselines.constant import BaselineComparison
from sagemaker_debug_ext.rules.inference.losses import INPUTS
from sagemaker_debug_ext.rules.inference.moving_goals import AdversarialLosses, MovingTargets
from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    gradient_in,
    is_final,
    is_training,
    learns_by_acting,
    loss_scale,
    loss_values,
    mean_loss,
)
from sagemaker_debug_ext.rules.inference.updates import GRADIENTS, PARAMETERS
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView

NUM_COMPARED: Final = 20
"""Number of latest steps whose predictions are compared with the best constant."""
SAME_WAY: Final = 0.85
"""Cosine from which on two mean gradients point the same way."""
CLEAR: Final = 0.02
"""Share of the squared gradients that must have this direction, because chance makes small ones."""
FOLLOWED: Final = 1 / 3
"""Fraction of the first progress for the size of the gradient from which on parameters still follow it."""
LARGE: Final = 0.2
"""Size of the mean gradient, relative to the first ones, from which on there is far to go."""
STILL_FALLING: Final = 0.95
"""Fraction of its level a quarter of training ago below which a loss is still falling."""


class UnfinishedDescent(BuiltinRule):
    """Training has ended on its way down: updates were too small, or too few, to get far.

    Checks the gradients of the collections ``weights`` and ``biases``, and predictions and targets of losses, at TRAIN
    steps (or steps without a mode). Near a minimum, the mean gradient vanishes, and what is left of the gradients of
    single batches is noise. The rule compares the mean gradient of the last quarter of the saved steps with that of the
    quarter before, by products of sums over different steps, which noise does not bias. It fires when the job has
    ended, after at least `patience` saved steps, if

    - both point the same way: their cosine is at least 0.85, and this direction makes up at least 2 % of the mean
      squared norm of the gradients, and
    - parameters follow it, a third as far for its size as in the first eighth of training; those that do not change
      have no part in it, and where weight decay or a projection holds them back, they are where they should be, and
    - there is far to go: the mean gradient is at least a fifth of that of the first eighth of training, or the loss
      still falls, by 5 % from quarter to quarter, and
    - little has been learnt: the error of predictions is less than `max_gain_percent` below that of the best constant.
      Of several losses, it is that of the worst, which must still fall.

    Gradients are followed at up to 65,536 elements of all together, as long as they are those of the same parameters.
    They are followed anew where the parameters jump, as those of the next fold of a cross-validation do. Adversarial
    losses, those beside targets that grow or shrink, and agents that learn from what they do are not evaluated, nor
    losses whose error cannot be compared with that of a constant.

    Parameters:
        patience: Number of saved steps required; 80 when not given.
        max_gain_percent: Improvement over a constant prediction from which on training counts as finished; 45 when not
            given.

    Source:
        The mean gradient tells training on its way from training around a minimum, where only noise is left: Pflug,
        Non-Asymptotic Confidence Bounds for Stochastic Approximation Algorithms with Constant Step Size, Monatshefte
        für Mathematik 1990; McCandlish and others, An Empirical Model of Large-Batch Training, 2018, appendix A.

    Example:
        >>> rule = create_rule("UnfinishedDescent", trial, {"max_gain_percent": 30})
        >>> invoke_rule(rule)
    """

    spec_name = "UnfinishedDescent"
    begins_anew = True
    advice = "Raise the learning rate by a factor of 3 to 10, or train for longer."

    def configure(self) -> None:
        self._direction = GradientDirection()
        self._baseline = BaselineComparison(NUM_COMPARED)
        self._losses: dict[str, list[float]] = {}
        self._adversarial = AdversarialLosses()
        self._moving = MovingTargets()
        self._latest: StepView | None = None

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("weights", PARAMETERS),
            TensorRequirement("gradients", GRADIENTS),
            TensorRequirement("inputs of losses", INPUTS),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Observe a step, and return an issue if it is the last one."""
        if not is_training(view):
            return None
        followed = dict(_weights_and_gradients(view))
        losses = loss_values(view, LOSSES)
        if not (followed and losses):
            return None
        weights, gradients = ({name: pair[which] for name, pair in followed.items()} for which in (0, 1))
        self._direction.observe(weights, gradients)
        self._baseline.observe(view)
        self._adversarial.observe(view)
        self._moving.observe(view)
        for name, loss in losses.items():
            self._losses.setdefault(name, []).append(loss)
        self._latest = view
        return self.issues_while_waiting() if any(is_final(view, name) for name in losses) else []

    def issues_while_waiting(self) -> list[Issue]:
        """Return an issue if the job has ended on its way down."""
        view, self._latest = (self._latest, None) if self.base_trial.loaded_all_steps else (None, self._latest)
        persistence = None if view is None else self._direction.persistence()
        if view is None or persistence is None or self._moving.are_there() or learns_by_acting(view):
            return []
        gains = {name: gain for name, gain in self._baseline.gains().items() if not self._adversarial.has(name)}
        limit: float = self.parameters["max_gain_percent"]
        is_short = self._direction.num_steps < self.parameters["patience"]
        if is_short or not gains or min(gains.values()) >= limit:
            return []
        is_same_way = persistence.cosine >= SAME_WAY and persistence.share >= CLEAR
        name = min(gains, key=lambda name: gains[name])
        has_far_to_go = self._is_falling(name) or (persistence.size >= LARGE and len(gains) == 1)
        if not (is_same_way and persistence.progress >= FOLLOWED and has_far_to_go):
            return []
        distance = f"only {gains[name]:.2g} % below" if gains[name] >= 0 else f"{-gains[name]:.2g} % above"
        text = (
            f"Training has ended on its way down: the gradient still points where it pointed before, and the error of "
            f"{name!r} is {distance} that of the best constant prediction (at least {limit:g} % below expected). "
            f"Updates are too small, or too few."
        )
        return [self.found(view, text, tensors=[name], value=gains[name], threshold=limit)]

    def _is_falling(self, name: str) -> bool:
        losses = self._losses.get(name, [])
        before, last = losses[len(losses) // 2 : 3 * len(losses) // 4], losses[3 * len(losses) // 4 :]
        return bool(before) and mean_loss(last) < STILL_FALLING * mean_loss(before)


def _weights_and_gradients(view: StepView) -> Iterator[tuple[str, tuple[Array, Array]]]:
    """Yield the name of each parameter with its value and gradient; the latter is 0 if the value has not changed."""
    scale = view.once(loss_scale)
    for name in view.selected(PARAMETERS):
        gradient_name, value, before = gradient_in(view, name), view.value(name), view.previous(name, view.mode)
        gradient = None if gradient_name is None else view.value(gradient_name)
        if gradient is None or value is None or gradient.shape != value.shape:
            continue
        is_still = before is not None and np.array_equal(before.value, value)
        yield name, (value, np.zeros_like(gradient) if is_still else gradient / scale if scale != 1 else gradient)
