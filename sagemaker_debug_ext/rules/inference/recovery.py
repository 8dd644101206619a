"""Verdicts that the further course of training can disprove: `ProvisionalIssues`, and `Aftermath` of single steps.

Small weights, a large first step or units in their flat range look like faults at first, and some sound models overcome
them. A sign that vanishes while the loss falls was none; a sign that stays, or a loss that does not fall, is one.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from sagemaker_debug_ext.rules.inference.loss_course import WINDOW, LossCourse
from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    as_loss,
    is_final,
    is_training,
    loss_values,
)
from sagemaker_debug_ext.rules.inference.updates import any_non_zero
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.step_view import StepView

FALLEN: Final = 0.5
"""Fraction of its earlier level below which a loss shows that the model learns."""
RISEN: Final = 2.0
"""Ratio to its level before an issue above which a loss shows that the model has suffered."""
MATTERS: Final = 0.1
"""Fraction of its first level up to which a loss may rise."""
LONG: Final = 50
"""Number of TRAIN steps in which a loss would fall if nothing had stopped it."""
FALLING: Final = 0.9
"""Fraction of its earlier level below which a loss may be on its way there."""


@attrs.define
class _Held:
    issues: list[Issue]
    levels: dict[str, float]
    num_steps: int
    last_step: int | None = None

    def is_final(self, view: StepView) -> bool:
        """Return whether the job has ended, and saved the tensors of the issue at no later step."""
        if self.last_step is None:
            if not (view.trial.loaded_all_steps and is_training(view)):
                return False
            steps = view.trial.tensor(self.issues[0].tensors[0]).steps(mode=view.mode)
            self.last_step = steps[-1] if steps else -1
        step = view.step_in(view.mode)
        return step is not None and step >= self.last_step


def has_learnt(view: StepView) -> bool:
    """Return whether a loss of the step is at most half of its first value of the same mode."""
    first = view.trial.global_step(view.mode, 0)
    if first is None or first == view.step:
        return False
    for name in view.selected(LOSSES):
        before, now = as_loss(view.earlier_value(name, first), view.trial), as_loss(view.value(name), view.trial)
        if before is not None and now is not None and 0 < now < FALLEN * before:
            return True
    return False


@attrs.define(eq=False)
class _Suspected:
    issues: list[Issue]
    before: dict[str, float]
    after: dict[str, list[float]] = attrs.field(factory=dict)
    num_steps: int = 0
    has_died: bool = False
    may_last: bool = False


class Aftermath:
    """Holds issues of single steps until the next ones show whether they did harm; drops those that did none.

    An issue did harm if a loss has risen, or if a tensor of the issue, such as a gradient, is 0 from then on. A loss
    has risen if the median of its values at the `WINDOW` TRAIN steps after an issue is more than twice the mean of
    those before, and more than a tenth of its first level, or if any of them is not finite. A jump of a step or two is
    none, because the model has recovered. What may last, as of an optimizer that hardly makes updates any more, also
    did harm if a loss that was above half of its first level has not fallen by a tenth when the job ends, 50 steps or
    more later.
    """

    def __init__(self) -> None:
        self._course = LossCourse()
        self._held: list[_Suspected] = []

    def settle(self, view: StepView, issues: list[Issue] | None, *, may_last: bool = False) -> list[Issue] | None:
        """Observe a step, and return the issues that hold by now; None if the rule had nothing to evaluate.

        Args:
            view: The step.
            issues: What the rule has found at it.
            may_last: Whether the harm may show in that training gets nowhere from then on.
        """
        losses = loss_values(view, LOSSES) if is_training(view) else {}
        settled = self._settled_by(view, losses) if losses else []
        before = self._course.levels()
        if issues and before:
            self._held.append(_Suspected(issues, before, may_last=may_last))
            issues = []
        self._course.observe(view)
        if self._held and any(is_final(view, name) for name in self._held[-1].before):
            settled += self.take(is_ended=True)
        return [*settled, *issues] if issues is not None else settled or None

    def take(self, is_ended: bool) -> list[Issue]:
        """Return the issues that are held, if the job has ended and the few losses that followed have risen."""
        held, self._held = (self._held, []) if is_ended else ([], self._held)
        harmful = [suspected for suspected in held if self._did_harm(suspected) or self._has_stopped(suspected)]
        return [issue for suspected in harmful for issue in suspected.issues]

    def _settled_by(self, view: StepView, losses: Mapping[str, float]) -> list[Issue]:
        """Add the losses of a step to those that follow the issues, and return the issues that hold by now."""
        for suspected in self._held:
            suspected.num_steps += 1
            suspected.has_died = any(
                name in view.tensor_names and not view.statistic(name, any_non_zero)
                for issue in suspected.issues
                for name in issue.tensors
            )
            for name, loss in losses.items():
                suspected.after.setdefault(name, []).append(loss)
        due = [suspected for suspected in self._held if suspected.num_steps >= WINDOW]
        harmful = [suspected for suspected in due if self._did_harm(suspected)]
        settled = harmful + [suspected for suspected in due if not suspected.may_last]
        self._held = [suspected for suspected in self._held if suspected not in settled]
        return [issue for suspected in harmful for issue in suspected.issues]

    def _has_stopped(self, suspected: _Suspected) -> bool:
        """Return whether a loss that had not fallen much before an issue that may last has not fallen since."""
        first, now = self._course.first_levels(), self._course.levels()
        return (
            suspected.may_last
            and suspected.num_steps >= LONG
            and any(
                level > FALLEN * first.get(name, math.inf) and now.get(name, 0.0) > FALLING * level
                for name, level in suspected.before.items()
            )
        )

    def _did_harm(self, suspected: _Suspected) -> bool:
        """Return whether a loss is higher after an issue, or a tensor 0; True if no loss was saved since."""
        first = self._course.first_levels()
        return (
            suspected.has_died
            or not suspected.after
            or any(
                not _median_loss(values) <= max(RISEN * suspected.before[name], MATTERS * abs(first.get(name, 0.0)))
                for name, values in suspected.after.items()
                if name in suspected.before
            )
        )


def _median_loss(losses: Sequence[float]) -> float:
    """Return the median of losses; NaN if one of them is not finite."""
    return statistics.median(losses) if all(map(math.isfinite, losses)) else math.nan


class ProvisionalIssues:
    """Holds the first issue of a rule until training shows whether it is one.

    It is taken back if the rule no longer fires and a loss has fallen to `share` of its level since. Otherwise it holds
    when the job has ended, or `patience` TRAIN steps later unless the loss is falling. From then on, all issues pass.

    Args:
        patience: Number of TRAIN steps after which an issue holds while the job runs; 0 lets all issues pass.
        since_first: Whether to compare losses with their first level, rather than with that at the issue.
        share: Fraction of that level below which a loss disproves an issue.
    """

    def __init__(self, patience: int, *, since_first: bool = False, share: float = FALLEN) -> None:
        self._patience = patience
        self._share = share
        self._since_first = since_first
        self._course = LossCourse()
        self._held: _Held | None = None
        self._is_confirmed = patience == 0

    def settle(
        self, view: StepView, issues: list[Issue] | None, *, is_certain: bool = False, share: float | None = None
    ) -> list[Issue] | None:
        """Observe a step, and return the issues that hold by now; None if the rule had nothing to evaluate.

        Args:
            view: The step.
            issues: What the rule has found at it.
            is_certain: Whether nothing can disprove issues any more.
            share: Another share than that of all steps; None for that one.
        """
        if self._is_confirmed:
            return issues
        if is_certain:
            return self._confirm() or issues
        self._course.observe(view)
        if self._held is None:
            if not issues:
                return issues
            levels = self._course.first_levels() if self._since_first else self._course.levels()
            self._held = _Held(issues, levels, self._course.num_steps)
        if not issues and self._course.has_fallen_from(self._held.levels, self._share if share is None else share):
            self._held = None
            return None if issues is None else []
        is_late = self._course.num_steps - self._held.num_steps >= self._patience
        is_late = is_late and (bool(issues) or not self._course.has_fallen_from(self._held.levels, FALLING))
        if is_late or self._held.is_final(view):
            return self._confirm()
        return None if issues is None else []

    def take(self, is_ended: bool) -> list[Issue]:
        """Return the issue that is held once the job has ended."""
        return self._confirm() if is_ended and self._held is not None else []

    def _confirm(self) -> list[Issue]:
        held, self._held, self._is_confirmed = self._held, None, True
        return held.issues if held is not None else []
