"""Verdicts that the further course of training can disprove: `ProvisionalIssues`.

Small weights, a large first step or units in their flat range look like faults at first, and some sound models overcome
them. A sign that vanishes while the loss falls was none; a sign that stays, or a loss that does not fall, is one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import attrs

from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    RollingWindow,
    as_loss,
    is_training,
    loss_values,
    mean_loss,
)
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.step_view import StepView

WINDOW: Final = 5
"""Number of latest losses to average."""
FALLEN: Final = 0.5
"""Fraction of its earlier level below which a loss shows that the model learns."""
FALLING: Final = 0.9
"""Fraction of its earlier level below which a loss may be on its way there."""


class LossCourse:
    """The level of each loss of TRAIN steps (or steps without a mode): the mean of its latest values."""

    def __init__(self) -> None:
        self._recent = RollingWindow(WINDOW)
        self._first: dict[str, list[float]] = {}
        self.num_steps = 0

    def observe(self, view: StepView) -> None:
        """Add the losses of a step."""
        if not is_training(view):
            return
        self.num_steps += 1
        for name, loss in loss_values(view, LOSSES).items():
            self._recent.add(name, loss)
            first = self._first.setdefault(name, [])
            if len(first) < WINDOW and math.isfinite(loss):
                first.append(loss)

    def levels(self) -> dict[str, float]:
        """Return the level of each loss now."""
        return {name: mean_loss(self._recent.of(name)) for name in self._first if self._recent.of(name)}

    def first_levels(self) -> dict[str, float]:
        """Return the level at which each loss began."""
        return {name: mean_loss(first) for name, first in self._first.items() if first}

    def has_fallen_from(self, levels: Mapping[str, float], share: float = FALLEN) -> bool:
        """Return whether any loss is below a share of an earlier level, and none above its own."""
        now = self.levels()
        shared = [(now[name], levels[name]) for name in levels if name in now and levels[name] > 0]
        return any(latest < share * level for latest, level in shared) and all(
            latest <= level for latest, level in shared
        )


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

    def settle(self, view: StepView, issues: list[Issue] | None, *, is_certain: bool = False) -> list[Issue] | None:
        """Observe a step, and return the issues that hold by now; None if the rule had nothing to evaluate.

        Args:
            view: The step.
            issues: What the rule has found at it.
            is_certain: Whether nothing can disprove issues any more.
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
        if not issues and self._course.has_fallen_from(self._held.levels, self._share):
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
