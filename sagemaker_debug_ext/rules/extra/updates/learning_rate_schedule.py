"""LearningRateSchedule: a schedule of the learning rate does not fit the number of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.loss_course import LossCourse
from sagemaker_debug_ext.rules.inference.training import LOSSES, DeferredMeasurements, is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.store.format.program import NO_PROGRAM

LEARNING_RATES: Final = Selection(patterns=(r"_learning_rate_[0-9]+$", r"/learning_rate(:0)?$"))
"""Learning rates of optimizers: those that ``sagemaker-debug run`` saves in PyTorch, and variables of Keras."""
TINY: Final = 1e-4
"""Fraction of its peak below which a learning rate trains nothing."""
SMALL: Final = 1e-2
"""Fraction of its peak below which a learning rate trains little."""
LEARNT: Final = 0.7
"""Fraction of its first level below which a loss shows that small rates did no harm."""


@attrs.define
class _Course:
    first: float
    peak: float = 0.0
    num_steps: int = 0
    num_tiny: int = 0
    num_small: int = 0

    def add(self, rate: float) -> None:
        self.peak = max(self.peak, rate)
        self.num_steps += 1
        self.num_tiny += rate < TINY * self.peak
        self.num_small += rate < SMALL * self.peak

    def percent_below(self, share: float) -> float:
        """Return the percentage of steps with a rate below `TINY` or `SMALL` of its peak."""
        return 100 * (self.num_tiny if share == TINY else self.num_small) / self.num_steps


class LearningRateSchedule(TensorRule):
    """A schedule of the learning rate was meant for another number of steps.

    Schedules are stepped once a batch or once an epoch, and one that is stepped at the wrong place is far too slow or
    too fast. Follows the learning rates of TRAIN steps (or steps without a mode), and decides when the job has ended.
    The rule fires if

    - the learning rate has only risen, to less than `min_reached_percent` of the one that the schedule was made for:
      the warm-up has not ended. Hooks for PyTorch record that one;
    - for more than `max_tiny_percent` of the steps, it was below a ten-thousandth of its peak, or for half as many
      below a hundredth if no loss has fallen to 0.7 of its first level.

    Parameters:
        min_reached_percent: Least fraction of the planned learning rate, in percent; 50 when not given.
        max_tiny_percent: Largest fraction of steps with a learning rate close to 0, in percent; 60 when not given.

    Source:
        Own.

    Example:
        >>> rule = create_rule("LearningRateSchedule", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "LearningRateSchedule"
    begins_anew = True
    advice = (
        "Make the schedule for the number of its steps, and step it where its documentation says: once a batch for "
        'warm-ups and OneCycleLR (in Lightning, with "interval": "step"), once an epoch for StepLR and its like.'
    )
    selection = LEARNING_RATES

    def configure(self) -> None:
        self._courses: dict[str, _Course] = {}
        self._losses = LossCourse()
        self._pending = DeferredMeasurements()

    def needs(self) -> tuple[TensorRequirement, ...]:
        return *super().needs(), TensorRequirement("losses", LOSSES, is_required=False)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue at the end of the job if the schedule does not fit."""
        self._losses.observe(view)
        return super().evaluate(view)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return how far the learning rate is from its plan, in percent."""
        rate = view.scalar(name) if is_training(view) else None
        if rate is None or not rate >= 0:
            return None
        course = self._courses.setdefault(name, _Course(rate))
        course.add(rate)
        planned = self._planned(name, has_risen=course.peak > course.first)
        least: float = self.parameters["min_reached_percent"]
        reached = 100 * course.peak / planned if planned else 100.0
        if reached < least and rate == course.peak:
            text = f"has only risen to {rate:.3g}, of {planned:.3g} that its schedule was made for"
            found = Measurement(reached, fires=True, threshold=least, severity=least / 100, text=text)
        else:
            most: float = self.parameters["max_tiny_percent"]
            levels = self._losses.first_levels()
            has_learnt = not levels or self._losses.has_fallen_from(levels, LEARNT)
            share = TINY if has_learnt or course.percent_below(TINY) > most else SMALL
            percent, most = course.percent_below(share), most if share == TINY else most / 2
            extent = "almost 0" if share == TINY else "less than a hundredth of its peak"
            text = f"was {extent} for {percent:.0f} % of the steps, after {course.peak:.3g} at its peak"
            found = Measurement(percent, fires=percent > most, threshold=most, severity=1, text=text)
        return self._pending.settle(view, name, found, is_late=False)

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last steps, if no more steps will follow."""
        return [issue for view, measurements in self._pending.take() for issue in self.issues_of(view, measurements)]

    def _planned(self, name: str, *, has_risen: bool) -> float | None:
        """Return the highest learning rate of the schedule, by the record of optimizers; None if unknown.

        Schedules record where they begin from, which is the highest for those with a warm-up. It is unknown which of
        several optimizers of a class a record belongs to.
        """
        optimizers = (self.base_trial.program or NO_PROGRAM).optimizers
        numbers = [optimizer.numbers for optimizer in optimizers if name.startswith(f"{optimizer.type}_")]
        planned = {found.get("max_lr", found.get("initial_lr") if has_risen else None) for found in numbers}
        highest = planned.pop() if len(planned) == 1 else None
        return highest if isinstance(highest, float) else None

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return f"The schedule does not fit the training: {describe_tensors(names)} {first.text}."
