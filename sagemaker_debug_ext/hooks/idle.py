"""Steps at which nothing is due, which most steps of most jobs are."""

from __future__ import annotations

import sys

from sagemaker_debug_ext.hooks.counters import StepPosition
from sagemaker_debug_ext.hooks.decisions import SavePlan
from sagemaker_debug_ext.vocabulary import ModeKeys


class IdleSteps:
    """Knows how many steps to come have nothing due, as long as plan and mode stay what they are."""

    def __init__(self) -> None:
        self.num_left = 0
        """How many steps to come these are, as far as is known."""
        self._plan: SavePlan | None = None
        self._mode = ModeKeys.GLOBAL

    def expect_after(self, position: StepPosition, plan: SavePlan) -> None:
        """Find out how many steps after one have nothing due."""
        _, self._mode, mode_step = position
        self._plan = plan
        due = plan.next_due(self._mode, mode_step)
        self.num_left = sys.maxsize if due is None else due - mode_step - 1

    def take(self, plan: SavePlan | None, mode: ModeKeys) -> bool:
        """Tell whether the step that comes is one of them; it then is one less."""
        if self.num_left <= 0 or plan is not self._plan or mode is not self._mode:
            return False
        self.num_left -= 1
        return True

    def forget(self) -> None:
        """Know of none, because steps are counted anew."""
        self.num_left = 0
