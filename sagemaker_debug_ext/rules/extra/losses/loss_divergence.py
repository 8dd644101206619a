"""LossDivergence: the loss is far above its starting value."""

from __future__ import annotations

import collections
import math
import statistics
from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.loss_course import LossCourse
from sagemaker_debug_ext.rules.inference.loss_pairs import VALIDATION_NAME
from sagemaker_debug_ext.rules.inference.moving_goals import MovingTargets, TargetOrder
from sagemaker_debug_ext.rules.inference.samples.few_targets import TIMES, FewTargets
from sagemaker_debug_ext.rules.inference.training import (
    RollingWindow,
    is_part_of_total,
    is_sum_of_agent,
    is_training,
    key_of_loss,
    loss_at,
    loss_selection,
)
from sagemaker_debug_ext.rules.reading.step_view import StepView

NUM_FIRST: Final = 3
IN_ORDER: Final = ", while the targets come in an order, so that each batch is of another kind than those before"
"""Message part on samples that are not shuffled."""
MANY_GAPS: Final = 3
"""Number of different distances between two updates of an agent that lasts longer or shorter."""
SURE: Final = 100
"""Ratio to the first losses at which a few targets suffice."""
MAX_LUCK: Final = 3
"""Factor by which the very first loss may be too small by chance."""


class LossDivergence(TensorRule):
    """The training loss is far above its starting value: updates make the model worse.

    Checks positive losses of TRAIN steps (or steps without a mode), except losses whose names indicate validation, and
    parts of a total, such as ``kl_loss`` beside ``loss``. The rule fires if both the mean and the median of the latest
    `window` values are above `factor` times the starting value. The starting value is the mean of the first three
    values, but at most three times the very first, because the others may have diverged already. Where most are of
    fewer than eight targets, and not always the same ones, losses differ much by chance. It is then the largest of the
    three, or the mean of eight times as many if that is larger, up to three times. The latest are eight times as many,
    too, unless each is a hundred times as large as the first three. The loss must be saved from the first step on.
    Where a script goes on to train another model, the next value is the first one.

    Numbers on which the script calls ``backward`` are compared with those that come with the same gradients. Of several
    losses without a total, such as those of a generator and a discriminator, none fires while another falls. Neither
    does a loss beside targets that grow while the model is trained, like the returns of an agent that learns to act,
    nor a sum that the script of such an agent makes itself: it has more terms the longer the agent lasts, which the
    steps between two updates tell. If the means of numeric targets differ from batch to batch far more than by chance,
    the message says that they come in an order.

    Parameters:
        tensor_regex: Regular expressions searched in the names of losses, as a list or separated by commas. When not
            given: the collection ``losses``.
        window: Number of values to average; 5 when not given.
        factor: Largest ratio of the latest values to the starting value; 3 when not given.

    Source:
        A rising loss is the first sign that updates overshoot: Bengio, Practical Recommendations for Gradient-Based
        Training of Deep Architectures, 2012, section 3.1.

    Example:
        >>> rule = create_rule("LossDivergence", trial, {"factor": 2})
        >>> invoke_rule(rule)
    """

    spec_name = "LossDivergence"
    has_per_tensor_state = True
    begins_anew = True
    advice = "Lower the learning rate by a factor of 10, warm it up, or clip the gradients; check the sign of the loss."

    def configure(self) -> None:
        self.selection = loss_selection(self.parameters["tensor_regex"])
        self._recent = RollingWindow(TIMES * self.parameters["window"])
        self._moving = MovingTargets()
        self._order = TargetOrder()
        self._course = LossCourse(self.selection, self.parameters["window"])
        self._first: dict[str, list[float]] = {}
        self._few = FewTargets()
        self._latest: dict[str, int] = {}
        self._gaps = collections.defaultdict[str, set[int]](set)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the ratio of the loss to its starting value."""
        if not is_training(view) or VALIDATION_NAME.fullmatch(name) or is_part_of_total(view, name):
            return None
        self._course.observe(view)
        self._moving.observe(view)
        self._order.observe(view)
        self._few.observe(view)
        loss = loss_at(view, name)
        if loss is None or not math.isfinite(loss):
            return None
        key = key_of_loss(view, name)
        self._note_gap(view, key)
        known = self._first.setdefault(key, [])
        beginning = known[:NUM_FIRST]
        if len(known) < TIMES * NUM_FIRST:
            known.append(loss)
        if len(beginning) == NUM_FIRST:
            self._recent.add(key, loss)
        window, recent = self.parameters["window"], self._recent.of(key)
        is_few = self._few.are_behind(name)
        is_sure = len(recent) >= window and min(recent[-window:]) > SURE * max(beginning)
        num_recent = window * (TIMES if is_few and not is_sure else 1)
        if len(recent) < num_recent or min(beginning) <= 0:
            return None
        first = min(statistics.fmean(beginning), MAX_LUCK * beginning[0])
        if is_few:
            first = max(*beginning, min(statistics.fmean(known), MAX_LUCK * max(beginning)))
        recent = recent[-num_recent:]
        times = min(statistics.fmean(recent), statistics.median(recent)) / first
        factor: float = self.parameters["factor"]
        text = f"{first:.4g} to {statistics.fmean(recent):.4g}"
        fires = times > factor and not self._moving.are_there() and not self._course.another_falls(name)
        fires = fires and not (len(self._gaps[key]) >= MANY_GAPS and is_sum_of_agent(view, name))
        if fires and self._order.is_there():
            text += IN_ORDER
        return Measurement(times, fires=fires, threshold=factor, severity=times, text=text)

    def _note_gap(self, view: StepView, key: str) -> None:
        """Note how many steps lie between two values of a loss."""
        gap = view.step - self._latest.get(key, view.step)
        self._latest[key] = view.step
        if gap and len(self._gaps[key]) < MANY_GAPS:
            self._gaps[key].add(gap)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return f"Training increases the loss in {describe_tensors(names)}: the first went from {first.text}."
