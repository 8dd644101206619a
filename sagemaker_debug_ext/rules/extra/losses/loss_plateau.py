"""LossPlateau: the loss has hardly fallen since training began."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.baselines.constant import GAIN, BaselineComparison
from sagemaker_debug_ext.rules.inference.loss_course import LossCourse
from sagemaker_debug_ext.rules.inference.losses import INPUTS
from sagemaker_debug_ext.rules.inference.moving_goals import AdversarialLosses, MovingTargets
from sagemaker_debug_ext.rules.inference.samples.few_targets import TIMES, FewTargets
from sagemaker_debug_ext.rules.inference.training import (
    DeferredMeasurements,
    RollingWindow,
    is_part_of_total,
    is_training,
    loss_at,
    loss_selection,
    mean_loss,
)
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView

ROUNDING: Final = 1e-6
"""Fraction of a loss that counts as 0."""
NUM_STEPS: Final = 20
"""Number of steps over which predictions are compared."""


class LossPlateau(TensorRule):
    """The loss has hardly fallen since training began: the model does not learn.

    Checks the losses of TRAIN steps (or steps without a mode), but not the parts of a total, such as ``kl_loss`` beside
    ``loss``. The mean of the latest `window` values is compared with the mean of the first `window` saved values, so
    save the loss from the first step on. Where most are of fewer than eight targets, and not always the same ones,
    losses differ much by chance, so that it is eight times as many values. The rule fires if the mean is not lower by
    `min_fall_percent` when the job has ended, after at least `patience` values and twice those of a mean. While the job
    runs, it fires only after `patience_running` values, because the loss of many sound models stands still before it
    begins to fall.

    A loss that has fallen and then stands still does not fire: see Overtraining. If predictions and targets were saved,
    the rule fires only while the error of the predictions of the latest 20 steps is less than 4 % below that of the
    best constant prediction. Noise in the targets, or a start from a trained model, may keep the loss near its first
    value even though the model predicts well. A loss of both signs, like that of a policy gradient, is not evaluated,
    because it has no value to fall to. A negative one whose predictions and targets are not known must stay where it
    is, within `min_fall_percent`. Adversarial losses, where one side wins what the other loses, are not evaluated if
    their saved targets reveal them. Losses beside targets that grow or shrink while the model is trained, like the
    returns of an agent that learns to act, are not evaluated either. Of several losses without a total, none is
    evaluated while another has fallen. Where a script goes on to train another model, its loss is compared with its own
    first values.

    Parameters:
        tensor_regex: Regular expressions searched in the names of losses, as a list or separated by commas. When not
            given: the collection ``losses``.
        window: Number of values to average; 10 when not given.
        patience: Number of values required when the job has ended; 50 when not given.
        patience_running: Number of values required while the job runs; 1000 when not given.
        min_fall_percent: Smallest fall, in percent of the first mean; 5 when not given.

    Source:
        A loss that does not move is the commonest symptom of training programs that are wrong: Zhang, Zhai, Ma and
        Shen, AutoTrainer, ICSE 2021.

    Example:
        >>> rule = create_rule("LossPlateau", trial, {"patience_running": 200, "min_fall_percent": 1})
        >>> invoke_rule(rule)
    """

    spec_name = "LossPlateau"
    has_per_tensor_state = True
    begins_anew = True
    advice = (
        "Check first whether the model can memorize a single batch. If it cannot, check that labels match "
        "their inputs, that the loss suits the task, that the optimizer has all parameters, and that "
        "gradients are reset and not detached. If it can, try learning rates ten times higher and lower."
    )

    def configure(self) -> None:
        self.selection = loss_selection(self.parameters["tensor_regex"])
        self._first: dict[str, list[float]] = {}
        self._latest = RollingWindow(TIMES * self.parameters["window"])
        self._seen: dict[str, int] = collections.Counter()
        self._baseline = BaselineComparison(NUM_STEPS)
        self._step = -1
        self._few = FewTargets()
        self._adversarial = AdversarialLosses()
        self._moving = MovingTargets()
        self._course = LossCourse(self.selection, self.parameters["window"])
        self._pending = DeferredMeasurements()

    def needs(self) -> tuple[TensorRequirement, ...]:
        return *super().needs(), TensorRequirement("inputs of losses", INPUTS, is_required=False)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the fall of the loss."""
        loss = loss_at(view, name) if is_training(view) and not is_part_of_total(view, name) else None
        if loss is None:
            return None
        if view.step != self._step:
            self._step = view.step
            self._adversarial.observe(view)
            self._moving.observe(view)
            self._baseline.observe(view)
            self._course.observe(view)
            self._few.observe(view)
        self._seen[name] += 1
        if self._seen[name] <= TIMES * self.parameters["window"]:
            self._first.setdefault(name, []).append(loss)
        self._latest.add(name, loss)
        window = self.parameters["window"] * (TIMES if self._few.are_behind(name) else 1)
        first, latest = self._first[name][:window], self._latest.of(name)[-window:]
        if self._seen[name] < max(self.parameters["patience"], 2 * window) or len(latest) < window:
            return None
        if self._adversarial.has(name) or self._moving.are_there() or self._course.another_falls(name):
            return None
        values = [*first, *latest]
        near_zero = ROUNDING * max(map(abs, values))
        if min(values) < -near_zero and max(values) > near_zero:
            return None
        before, now = mean_loss(first), mean_loss(latest)
        fall = 100.0 * (before - now) / abs(before) if before else 0.0
        limit: float = self.parameters["min_fall_percent"]
        is_gain = max(values) < -near_zero and self._baseline.gain(name) is None  # which may rise and fall
        stands = (abs(fall) < limit if is_gain else not fall >= limit) and not self._has_skill(name)
        change = f"a {'fall' if fall >= 0 else 'rise'} of {abs(fall):.2g} %"
        text = f"{before:.4g} to {now:.4g}, {change}"
        found = Measurement(fall, fires=stands, threshold=limit, severity=-fall, text=text)
        return self._pending.settle(view, name, found, is_late=self._seen[name] >= self.parameters["patience_running"])

    def _has_skill(self, name: str) -> bool:
        """Return whether a loss is known to be better than that of a constant."""
        gain = self._baseline.gain(name)
        return gain is not None and gain >= GAIN

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last steps, if no more steps will follow."""
        return [issue for view, measurements in self._pending.take() for issue in self.issues_of(view, measurements)]

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"The loss has hardly fallen in {describe_tensors(names)}: the mean of the first went from {first.text} "
            f"(a fall of at least {first.threshold:g} % expected by now)."
        )
