"""GradientOutlier: a layer's gradient is far larger than usual."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.activations import growth_over_steps
from sagemaker_debug_ext.rules.inference.recovery import Aftermath
from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    RollingWindow,
    is_training,
    learns_by_acting,
    loss_reduction_size,
    loss_scale,
)
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import norm
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.store.format.program import NO_PROGRAM
from sagemaker_debug_ext.vocabulary import CollectionKeys

HARMLESS: Final = 1.0
"""Norm up to which a gradient changes little at usual learning rates, however small it has been before."""
REMEMBERING: Final = frozenset({"Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "NAdam", "Nadam", "RAdam", "RMSprop"})
"""Optimizers that divide updates by the size of all gradients so far, so that an enormous one stops them for long."""
ENORMOUS: Final = 1000.0
"""Ratio of a norm to its limit from which on these optimizers hardly update any more."""


class GradientOutlier(TensorRule):
    """The gradient of a layer is far larger than it usually is, or than is ever sound.

    Checks the norm of each tensor of the collection ``gradients`` at TRAIN steps (or steps without a mode). The rule
    fires if the norm is above `max_norm`. It also fires if the norm is above 1, above `factor` times the median of its
    latest `window` values and above `factor` times that of its first values. MXNet sums gradients over the samples, so
    its norms may be larger by the number of samples. If a gradient scaler multiplies the loss, norms are divided by the
    factor, which the loss before and after it shows; ``sagemaker-debug run`` saves both. For an agent, which answers
    for single samples before it is trained at all, only `max_norm` counts. The message says so if the record of the
    program has a recurrent layer whose activation is not bounded, such as a ReLU.

    Parameters:
        window: Number of previous norms to compare with; 20 when not given.
        factor: Largest ratio of a norm to its usual value; 50 when not given.
        max_norm: Largest norm of a gradient; 1000 when not given.
        unless_harmless: Whether to drop a norm after which no loss rises, as where the script clips gradients before
            the update: the median of the next five losses is at most twice the mean of the five before, or below a
            tenth of the first ones, and the gradient is not 0 by then, as of units that the update has killed. Nothing
            is dropped at the first step. A norm of a thousand times the one allowed may stop an optimizer that divides
            updates by the size of earlier gradients, as Adam does, for hundreds of steps. It is not dropped if a loss
            that was above half of its first value then has not fallen by a tenth when the job ends, 50 steps later.
            False when not given.

    Source:
        Exploding gradients and clipping them by norm: Pascanu, Mikolov and Bengio, On the Difficulty of Training
        Recurrent Neural Networks, ICML 2013.

    Example:
        >>> rule = create_rule("GradientOutlier", trial, {"factor": 20, "max_norm": 100})
        >>> invoke_rule(rule)
    """

    spec_name = "GradientOutlier"
    advice = (
        "Clip gradients by their norm, scale inputs and targets, or lower the learning rate. In recurrent "
        "networks, shorten the sequences or use gated cells, with tanh as their activation."
    )
    selection = Selection(collections=(CollectionKeys.GRADIENTS,))

    def configure(self) -> None:
        self._recent = RollingWindow(self.parameters["window"])
        self._first: dict[str, float] = {}
        self._aftermath = Aftermath()

    def needs(self) -> tuple[TensorRequirement, ...]:
        gradients = TensorRequirement("gradients", self.selection)
        if not self.parameters["unless_harmless"]:
            return (gradients,)
        return gradients, TensorRequirement("losses", LOSSES, is_required=False)

    def looks_at(self) -> tuple[Selection, ...]:
        return tuple(need.selection for need in self.needs())

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if gradients are too large, once the losses that follow show that it matters."""
        issues = super().evaluate(view)
        if not self.parameters["unless_harmless"]:
            return issues
        return self._aftermath.settle(view, issues, may_last=any(_may_stop(view, issue) for issue in issues or ()))

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues that are held, if no more steps will follow."""
        return self._aftermath.take(self.base_trial.loaded_all_steps)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the norm of a gradient."""
        saved = view.statistic(name, norm) if is_training(view) else None
        if saved is None:
            return None
        measured = saved / view.once(loss_scale)
        recent = self._recent.of(name)
        limit: float = self.parameters["max_norm"] * loss_reduction_size(view)
        if self._recent.is_full(name):
            # at least the first norms, because a model that has fitted its data has hardly any gradient
            usual = max(statistics.median(recent), self._first[name])
            factor = max(self.parameters["factor"] * usual, HARMLESS)
            is_expected = measured > factor and learns_by_acting(view)
            limit = min(limit, factor) if usual > 0 and not is_expected else limit
        elif len(recent) + 1 == self.parameters["window"]:
            self._first[name] = statistics.median([*recent, measured])
        self._recent.add(name, measured)
        times = measured / limit if limit else 0.0
        return Measurement(measured, fires=measured > limit, threshold=limit, severity=times)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        text = (
            f"Gradients are too large in {describe_tensors(names)}: the norm of the first is {first.value:.4g}, above "
            f"{first.threshold:.4g}."
        )
        growth = growth_over_steps(self.base_trial.program or NO_PROGRAM)
        return f"{text} {growth}." if growth else text


def _may_stop(view: StepView, issue: Issue) -> bool:
    """Return whether the optimizer of an enormous gradient remembers it, and so may hardly update weights any more."""
    if issue.value is None or not issue.threshold or issue.value <= ENORMOUS * issue.threshold:
        return False
    names_of, gradient = naming_scheme_of(view.trial).gradient_names, issue.tensors[0]
    return any(
        optimizer.type in REMEMBERING
        and (not optimizer.parameters or any(gradient in names_of(parameter) for parameter in optimizer.parameters))
        for optimizer in view.program.optimizers
    )
