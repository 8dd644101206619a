"""NoiseFloor: updates are so large that most of the loss comes from them."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.loss_pairs import VALIDATION_NAME
from sagemaker_debug_ext.rules.inference.losses import INPUTS
from sagemaker_debug_ext.rules.inference.moving_goals import AdversarialLosses, MovingTargets
from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    gradient_in,
    is_final,
    is_part_of_total,
    is_training,
    learns_by_acting,
    loss_reduction_size,
    loss_scale,
    loss_values,
    mean_loss,
)
from sagemaker_debug_ext.rules.inference.updates import GRADIENTS, PARAMETERS
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import to_float64
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.store.format.program import OptimizerRecord, ProgramRecord

LINEAR: Final = frozenset({"adam", "adamax", "adamw", "nadam", "radam", "rmsprop", "sgd"})
"""Types of optimizers whose updates add up gradients with the weights of a momentum, in small letters."""
NUM_PARTS: Final = 5
"""Number of parts of the latter half of training, of which the median counts, because a single jump is no noise."""
LOW: Final = 0.1
"""Fraction of its first level below which a loss has fallen far enough."""
IMPLAUSIBLE: Final = 100.0
"""Share that only gradients of something else than the loss have, such as those of a loss times a large factor."""
NUM_FIRST: Final = 5
"""Number of losses that tell the first level."""


class _Step(NamedTuple):
    """A step of training.

    Args:
        loss: Its loss.
        descent: Product of its gradient and of the way that the gradient takes the parameters.
    """

    loss: float
    descent: float


class NoiseFloor(BuiltinRule):
    """Updates are so large that most of the loss comes from them: the learning rate is too high for it to fall further.

    Checks the collections ``weights``, ``biases``, ``gradients`` and ``losses`` at TRAIN steps (or steps without a
    mode). Around a minimum, updates of a constant size take the parameters as often past it as towards it. On average,
    the loss then is above that of the minimum by a quarter of the product of the gradient and of the way that it takes
    the parameters, for losses that are nearly quadratic there. The way is the update, which the optimizer's momentum
    (the first of Adam's betas) prolongs by a factor of ``1 / (1 - momentum)``; less with Nesterov's, whose first update
    is longer. The rule divides this height by the loss, in five parts of the latter half of training. The median
    counts, or the last part if it has less, because the rate may fall in the end. While the loss still falls, it is
    multiplied by the ratio of the loss in the last quarter to that in the quarter before. The rule fires if the share
    is above `max_share` when the job has ended, after at least `patience` saved updates.

    A loss that has fallen below a tenth of its first level is low enough. Adversarial losses, those beside targets that
    grow or shrink, losses of both signs, several losses without a total, and agents that learn from what they do are
    not evaluated. Of several optimizers, the smallest momentum counts, and none where it is not known, so that the
    share is rather too small. A share of 100 or more tells that gradients are those of something else than the loss,
    such as the loss times the factor of a scaler that is not known. Training that ends with an average of its weights
    needs no low loss before; the rule does not know of it.

    Parameters:
        patience: Number of saved updates required; 80 when not given.
        max_share: Largest usual share of the loss that comes from the size of updates; 0.6 when not given.

    Source:
        The loss of stochastic gradient descent around a minimum is above it by a quarter of the learning rate times the
        mean squared norm of the gradient: Mandt, Hoffman and Blei, Stochastic Gradient Descent as Approximate Bayesian
        Inference, JMLR 2017; Yaida, Fluctuation-Dissipation Relations for Stochastic Gradient Descent, ICLR 2019.

    Example:
        >>> rule = create_rule("NoiseFloor", trial, {"max_share": 0.3})
        >>> invoke_rule(rule)
    """

    spec_name = "NoiseFloor"
    begins_anew = True
    advice = (
        "Lower the learning rate by a factor of 3 to 10, let it decay, average the weights, or train with larger "
        "batches."
    )

    def configure(self) -> None:
        self._steps: list[_Step] = []
        self._names: set[str] = set()
        self._scale = 1.0
        self._adversarial = AdversarialLosses()
        self._moving = MovingTargets()
        self._latest: StepView | None = None

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("weights", PARAMETERS),
            TensorRequirement("gradients", GRADIENTS),
            TensorRequirement("losses", LOSSES),
            TensorRequirement("inputs of losses", INPUTS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Observe a step, and return an issue if it is the last one."""
        if not is_training(view):
            return None
        self._adversarial.observe(view)
        self._moving.observe(view)
        losses = {
            name: loss
            for name, loss in loss_values(view, LOSSES).items()
            if not VALIDATION_NAME.fullmatch(name) and not is_part_of_total(view, name)
        }
        self._names |= losses.keys()
        descent = self._descent(view)
        is_known = bool(losses) and descent is not None
        if losses and descent is not None:
            self._steps.append(_Step(next(iter(losses.values())), descent))
            self._latest = view
        issues = self.issues_while_waiting() if any(is_final(view, name) for name in losses) else []
        return issues if is_known else issues or None

    def _descent(self, view: StepView) -> float | None:
        """Return the product of gradient and way for all parameters; None if nothing is known of them.

        Gradients are divided by what the loss was multiplied with: the factor of a scaler, or the number of samples in
        a sum.
        """
        before, now = self._scale, view.once(loss_scale) * loss_reduction_size(view)
        self._scale = now
        lag, is_updated = _lag_of(view.program), naming_scheme_of(view.trial).is_updated
        products = {name: _descent_of(view, name, lag) for name in view.selected(PARAMETERS)}
        known = [
            product / (now if is_updated(name) else before) for name, product in products.items() if product is not None
        ]
        return sum(known) if known else None

    def issues_while_waiting(self) -> list[Issue]:
        """Return an issue if the job has ended and updates keep the loss up."""
        view, self._latest = (self._latest, None) if self.base_trial.loaded_all_steps else (None, self._latest)
        if view is None or len(self._names) != 1 or len(self._steps) < self.parameters["patience"]:
            return []
        (name,) = self._names
        if self._adversarial.has(name) or self._moving.are_there() or learns_by_acting(view):
            return []
        if min(step.loss for step in self._steps) < 0:
            return []
        share = _share_of_noise(self._steps[len(self._steps) // 2 :])
        limit: float = self.parameters["max_share"]
        if not limit < share < IMPLAUSIBLE or _is_low(self._steps):
            return []
        text = (
            f"Updates are so large that about {min(share, 1):.0%} of the loss {name!r} comes from them (at most "
            f"{limit:.0%} expected): in the latter half of training, they go to and fro around a minimum."
        )
        return [self.found(view, text, tensors=[name], value=share, threshold=limit)]


class _Lag(NamedTuple):
    """How much of the way that a gradient takes the parameters comes after the update of its step.

    Args:
        momentum: Share of an update that the next one repeats.
        is_ahead: Whether each update looks one ahead, as Nesterov's do.
    """

    momentum: float
    is_ahead: bool

    def part_of_way(self, num_updates: int) -> float:
        """Return the part of the way that lies in the update of a gradient's step and those that follow it."""
        return 1.0 - float(self.momentum ** (num_updates + self.is_ahead))


def _lag_of(program: ProgramRecord) -> _Lag:
    """Return the smallest lag of all optimizers; none where it is unknown."""
    lags = [_lag_of_optimizer(optimizer) for optimizer in program.optimizers]
    return min(lags, key=lambda lag: lag.momentum, default=_Lag(0.0, is_ahead=False))


def _lag_of_optimizer(optimizer: OptimizerRecord) -> _Lag:
    numbers, betas = optimizer.numbers, optimizer.numbers.get("betas")
    known = numbers.get("momentum") or numbers.get("beta_1") or (betas[0] if isinstance(betas, list | tuple) else 0.0)
    is_linear = optimizer.type.lower() in LINEAR and isinstance(known, int | float) and 0 <= known < 1
    is_ahead = bool(numbers.get("nesterov")) or optimizer.type.lower() == "nadam"
    return _Lag(float(known) if is_linear else 0.0, is_ahead)


def _descent_of(view: StepView, name: str, lag: _Lag) -> float | None:
    """Return the product of a parameter's latest gradient and of the way that it takes the parameter.

    None if the gradient is unknown, or if no update of it is.
    """
    gradient, step = gradient_in(view, name), view.step_in(view.mode)
    before, now = view.previous(name, view.mode), view.value(name)
    if gradient is None or step is None or before is None or now is None:
        return None
    if naming_scheme_of(view.trial).is_updated(name):
        slope, num_updates = view.value(gradient), 1
    else:
        earlier = view.previous(gradient, view.mode)
        slope = earlier.value if earlier is not None and earlier.step == before.step else None
        num_updates = step - before.step
    if slope is None or not slope.shape == before.value.shape == now.shape:
        return None
    with np.errstate(all="ignore"):  # infinities give NaN, which never fires
        update = to_float64(before.value) - to_float64(now)
        return float(np.vdot(to_float64(slope), update).real) / lag.part_of_way(num_updates)


def _share_of_noise(steps: Sequence[_Step]) -> float:
    """Return the share of the loss that updates of this size cause; NaN if it is undefined.

    A loss that falls has not settled yet, so that the share is taken of its level in the first half of the steps where
    that is higher.
    """
    bounds = [round(part * len(steps) / NUM_PARTS) for part in range(NUM_PARTS + 1)]
    parts = [steps[start:end] for start, end in itertools.pairwise(bounds)]
    shares = [_mean_descent(part) / (4 * _mean_loss(part)) for part in parts if _mean_loss(part) > 0]
    before, after = _mean_loss(steps[: len(steps) // 2]), _mean_loss(steps[len(steps) // 2 :])
    if len(shares) < NUM_PARTS or not all(map(math.isfinite, (*shares, before, after))):
        return math.nan
    return min(statistics.median(shares), shares[-1]) * min(after / before, 1.0)


def _is_low(steps: Sequence[_Step]) -> bool:
    """Return whether the loss has fallen far below its first level, which may be that of a jump at single steps."""
    first = statistics.median(step.loss for step in steps[:NUM_FIRST])
    return _mean_loss(steps[-len(steps) // 4 :]) < LOW * first


def _mean_loss(steps: Sequence[_Step]) -> float:
    return mean_loss([step.loss for step in steps])


def _mean_descent(steps: Sequence[_Step]) -> float:
    return mean_loss([step.descent for step in steps])
