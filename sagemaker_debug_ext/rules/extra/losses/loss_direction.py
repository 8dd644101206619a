"""LossDirection: the loss falls while the predictions get worse."""

from __future__ import annotations

import collections
import math
import statistics
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.baselines.constant import error_of
from sagemaker_debug_ext.rules.inference.losses import INPUTS, LossObservation, is_near, observed_losses
from sagemaker_debug_ext.rules.inference.moving_goals import MovingTargets
from sagemaker_debug_ext.rules.inference.statistics import variation
from sagemaker_debug_ext.rules.inference.training import LOSSES, is_final, is_training, loss_values
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import norm, to_float64
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of

FIRST: Final = 10
"""Number of first values, and of latest values, to average."""
NOTHING_LEFT: Final = 0.1
"""Fraction of its first values below which hardly anything of a loss is left."""
ALIKE: Final = 0.5
"""Fraction of their first variation that predictions must keep to distinguish samples."""
AVOIDED: Final = 0.1
"""Ratio of answers at the places of a mask to the part of all places that it covers, below which they avoid it."""
LONG: Final = 20
"""Number of steps in a row at which answers must have avoided a mask."""


@attrs.define
class _Content:
    """A loss that does not aim at targets, with the variation of predictions between samples, at first and lately."""

    first_losses: list[float] = attrs.field(factory=list)
    first_spreads: list[tuple[float, float]] = attrs.field(factory=list)
    losses: collections.deque[float] = attrs.field(factory=lambda: collections.deque(maxlen=FIRST))
    spreads: collections.deque[tuple[float, float]] = attrs.field(factory=lambda: collections.deque(maxlen=FIRST))

    def add(self, loss: float, spread: tuple[float, float]) -> None:
        if len(self.first_losses) < FIRST:
            self.first_losses.append(loss)
            self.first_spreads.append(spread)
        self.losses.append(loss)
        self.spreads.append(spread)

    @property
    def is_too_easy(self) -> bool:
        """Whether the loss has vanished while predictions distinguish samples less and less."""
        if len(self.losses) < FIRST or min(self.losses) < 0:
            return False
        has_fallen = statistics.fmean(self.losses) < NOTHING_LEFT * statistics.fmean(self.first_losses)
        return has_fallen and self.part_left < ALIKE

    @property
    def part_left(self) -> float:
        """Fraction of their first spread that predictions keep: the larger of the absolute and the relative one."""
        pairs = zip(zip(*self.spreads, strict=True), zip(*self.first_spreads, strict=True), strict=True)
        means = [(statistics.fmean(latest), statistics.fmean(first)) for latest, first in pairs]
        return max(latest / first if first > 0 else math.inf for latest, first in means)


@attrs.define
class _Marks:
    """Answers of a loss of masks where the mask is, and the part of all places that it covers, at first and lately."""

    first_losses: list[float] = attrs.field(factory=list)
    first_answer: float = math.nan
    losses: collections.deque[float] = attrs.field(factory=lambda: collections.deque(maxlen=FIRST))
    answers: collections.deque[float] = attrs.field(factory=lambda: collections.deque(maxlen=FIRST))
    parts: collections.deque[float] = attrs.field(factory=lambda: collections.deque(maxlen=FIRST))
    num_steps: int = 0
    num_avoiding: int = 0
    """Number of latest steps in a row at which answers avoided the mask while the loss was below its first values."""

    def add(self, loss: float, answer: float | None, part: float) -> None:
        """Add a step, whose answer is None if the mask covers nothing."""
        if not math.isfinite(loss):
            return
        if len(self.first_losses) < FIRST:
            self.first_losses.append(loss)
        self.losses.append(loss)
        self.parts.append(part)
        self.num_steps += 1
        if answer is not None:
            self.first_answer = answer if math.isnan(self.first_answer) else self.first_answer
            self.answers.append(answer)
        self.num_avoiding = self.num_avoiding + 1 if self._avoids() else 0

    def _avoids(self) -> bool:
        if not self.answers or statistics.fmean(self.losses) >= statistics.fmean(self.first_losses):
            return False
        return statistics.fmean(self.answers) < AVOIDED * min(statistics.fmean(self.parts), self.first_answer)

    @property
    def are_avoided(self) -> bool:
        """Whether answers have avoided the mask for long, and for most of the job."""
        return self.num_avoiding >= LONG and self.num_avoiding > self.num_steps / 2


def marks_of(loss: LossObservation) -> tuple[float | None, float] | None:
    """Return the mean answer where a mask is, and the part of all places that it covers; None if there is no mask.

    A mask has several places along at least two axes for each sample, each 0 or 1, and answers from 0 to 1 in the same
    places. Matrices of pairs of samples are none, because their answers may be distances.

    Returns:
        The mean answer is None for a mask that covers nothing.
    """
    targets, scores = loss.targets, loss.scores
    if targets.size != scores.size or min(targets.ndim, scores.ndim) < 3 or not targets.size:
        return None
    is_marked = (targets == 1).reshape(scores.shape)
    num_marked = np.count_nonzero(is_marked)
    if np.count_nonzero(targets) != num_marked or not (scores.min() >= 0 and scores.max() <= 1):
        return None
    return float(to_float64(scores)[is_marked].mean()) if num_marked else None, num_marked / targets.size


@attrs.define
class _Course:
    first_loss: float
    first_error: float
    losses: collections.deque[float]
    errors: collections.deque[float]


class LossDirection(BuiltinRule):
    """The loss falls while the predictions get worse: it rewards the wrong thing.

    Checks losses, their scores and their targets at TRAIN steps (or steps without a mode). The rule computes the error
    of the predictions itself. It is the cross entropy for class targets. It is the mean squared error if the loss is
    one of differences, by its name or by its value apart from the sign. The rule fires if the mean error of the latest
    `window` steps is above `factor` times the first, while their mean loss is below the first.

    Other losses, such as quantile losses or distillation from a teacher, do not aim at the targets themselves, so their
    error is not evaluated. Such a loss rewards the wrong thing if all samples may get the same prediction. The rule
    fires if it has fallen to a tenth, and predictions differ between samples by less than half as much as at first. The
    difference must have halved both in absolute terms and relative to the size of the predictions.

    If a loss of the script's own compares answers from 0 to 1 with a mask of zeros and ones, its answers must not avoid
    the mask, as they do where the overlap of both is minimised. Answers that know nothing but how much of all places
    the mask covers are as large as that part. The rule fires at the end of the job if answers where the mask is are
    below a tenth of that part, and of the first answers, while the loss is below its first values. This must have been
    so for 20 steps and for more than half of all, because sound jobs may begin with answers near 0.

    Errors follow targets that grow, as those of an agent that learns to act, so these are not compared. Targets that
    have been the same number for all samples so far say nothing about errors: losses that need no targets,
    such as those of triplets, are given zeros.

    Parameters:
        window: Number of steps to average; 5 when not given.
        factor: Ratio of the latest to the first error above which the rule fires; 1.3 when not given.

    Source:
        A loss with the wrong sign or the wrong arguments is a usual fault in the taxonomy of Humbatova and others, ICSE
        2020.

    Example:
        >>> rule = create_rule("LossDirection", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "LossDirection"
    advice = "Check the sign of the loss, the order of its arguments, and the terms added to it."

    def configure(self) -> None:
        self._courses: dict[str, _Course] = {}
        self._contents: dict[str, _Content] = {}
        self._marks: dict[str, _Marks] = {}
        self._pending: dict[str, tuple[StepView, Issue]] = {}
        self._extremes: dict[str, tuple[float, float]] = {}
        self._moving = MovingTargets()

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("inputs of losses", INPUTS),)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if the loss falls while the predictions get worse."""
        if not is_training(view):
            return None
        window: int = self.parameters["window"]
        limit: float = self.parameters["factor"]
        self._moving.observe(view)
        avoided = self._evaluate_marks(view)
        if avoided:
            return avoided
        was_evaluated = avoided is not None
        for loss in observed_losses(view):
            error = error_of(loss) if self._has_real_targets(loss) else None
            if error is None:
                spread = variation(loss.scores) if loss.kind is None and math.isfinite(loss.value) else None
                if spread is not None:
                    content = self._contents.setdefault(loss.name, _Content())
                    content.add(loss.value, (spread, spread * norm(loss.scores.reshape(-1))))
                    was_evaluated = True
                    if content.is_too_easy:
                        return [self._too_easy(view, loss.name, content)]
                continue
            course = self._courses.setdefault(
                loss.name,
                _Course(loss.value, error, collections.deque(maxlen=window), collections.deque(maxlen=window)),
            )
            course.losses.append(loss.value)
            course.errors.append(error)
            if len(course.losses) < window or course.first_error <= 0:
                continue
            was_evaluated = True
            times = statistics.fmean(course.errors) / course.first_error
            latest = statistics.fmean(course.losses)
            if times > limit and latest < course.first_loss and not self._moving.are_there():
                text = (
                    f"{loss.name!r} rewards the wrong direction: it fell from {course.first_loss:.4g} to {latest:.4g}, "
                    f"while the error of the predictions became {times:.3g} times as large."
                )
                return [self.found(view, text, tensors=[loss.name], value=times, threshold=limit)]
        return [] if was_evaluated else None

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last steps, if no more steps will follow."""
        return [self._pending.pop(name)[1] for name, (view, _) in list(self._pending.items()) if is_final(view, name)]

    def _evaluate_marks(self, view: StepView) -> list[Issue] | None:
        """Return an issue if the job has ended and answers avoid a mask; None if there is no loss of a mask."""
        found: list[Issue] | None = None
        for loss in observed_losses(view, keeps_shares=True):
            marks = None if self._aims_at_targets(view, loss) else marks_of(loss)
            if marks is None:
                continue
            # The loss of one of several outputs is not saved for each batch, but all of them together are.
            known = loss.value if math.isfinite(loss.value) else sum(loss_values(view, LOSSES).values())
            course = self._marks.setdefault(loss.name, _Marks())
            course.add(known, *marks)
            found = found or []
            self._pending.pop(loss.name, None)
            if course.are_avoided:
                issue = self._avoided(view, loss.name, course)
                if is_final(view, loss.name):
                    found.append(issue)
                else:
                    self._pending[loss.name] = (view, issue)
        return found

    @staticmethod
    def _aims_at_targets(view: StepView, loss: LossObservation) -> bool:
        """Return whether a loss is one of the framework, or has the value of one, not the script's own."""
        record = view.program.loss(naming_scheme_of(view.trial).loss_of(loss.answers_name))
        if loss.kind is not None or (record is not None and record.type and view.program.framework == "Keras"):
            return True
        return loss.scores.shape == loss.targets.shape and (
            loss.is_regression_loss or is_near(loss.bce_of_probabilities, loss.value)
        )

    def _has_real_targets(self, loss: LossObservation) -> bool:
        """Return whether the targets of a loss have differed between samples so far."""
        least, most = self._extremes.get(loss.name, (math.inf, -math.inf))
        if not least < most:
            least, most = min(least, float(loss.targets.min())), max(most, float(loss.targets.max()))
            self._extremes[loss.name] = (least, most)
        return least < most

    def _avoided(self, view: StepView, name: str, marks: _Marks) -> Issue:
        answer, part = statistics.fmean(marks.answers), statistics.fmean(marks.parts)
        first, latest = statistics.fmean(marks.first_losses), statistics.fmean(marks.losses)
        text = (
            f"The loss of {name!r} rewards the wrong direction: it fell from {first:.4g} to {latest:.4g}, while the "
            f"mean answer fell from {marks.first_answer:.3g} to {answer:.3g} at the {part:.2%} of places where the "
            "target is 1."
        )
        return self.found(view, text, tensors=[name], value=answer / part, threshold=AVOIDED)

    def _too_easy(self, view: StepView, name: str, content: _Content) -> Issue:
        part = content.part_left
        text = (
            f"{name!r} rewards the wrong thing: it fell to {statistics.fmean(content.losses):.4g}, while answers came "
            f"to differ between samples by {part:.0%} of what they did at first; one answer for all would do."
        )
        return self.found(view, text, tensors=[name], value=part, threshold=ALIKE)
