"""Steps at which nothing is due, which most steps of most jobs are."""

from __future__ import annotations

import sys

from sagemaker_debug_ext.hooks.counters import StepPosition
from sagemaker_debug_ext.hooks.decisions import SavePlan


class IdleSteps:
    """Counts steps that need nothing but to be counted, as many as are known to follow one at which nothing was due.

    A training step empties the processor's caches, so that what a hook does between two of them costs ten times what it
    costs alone. While steps are idle nothing else of the hook is touched: whoever asks where it stands catches up.
    """

    def __init__(self) -> None:
        self.num_left = 0
        """How many steps to come these are, as far as is known."""
        self.num_begun = 0
        """How many have begun that nobody has caught up on."""

    @property
    def covers_open_step(self) -> bool:
        """Whether the open step is one of them, or the one before them: nothing is due, as long as this is true."""
        return self.num_left > 0 or self.num_begun > 0

    def begin(self) -> bool:
        """Begin a step if it is one of them, and tell whether it is."""
        # Needs no lock: the interpreter does not leave a thread between these lines.
        if self.num_left <= 0:
            return False
        self.num_left -= 1
        self.num_begun += 1
        return True

    def expect_after(self, position: StepPosition, plan: SavePlan) -> None:
        """Find out how many steps after one have nothing due, as long as plan and mode stay what they are."""
        due = plan.next_due(position.mode, position.mode_step)
        self.num_left = sys.maxsize if due is None else due - position.mode_step - 1

    def forget(self) -> None:
        """Expect none: something is to happen at the next step, or it is not known."""
        self.num_left = 0

    def catch_up(self) -> int:
        """Return how many have begun since this was asked last."""
        num_begun, self.num_begun = self.num_begun, 0
        return num_begun
