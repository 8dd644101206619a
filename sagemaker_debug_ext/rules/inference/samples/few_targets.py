"""`FewTargets`: losses that say more about the few targets that they are of than about the model."""

from __future__ import annotations

import collections
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.inference.losses import FEWEST_TARGETS, observed_losses
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.step_view import StepView

TIMES: Final = 8
"""Number of times as many losses of few targets to average."""


class FewTargets:
    """Notices losses most of which are of few targets, and not always of the same ones, such as single samples."""

    def __init__(self) -> None:
        self._num_seen: collections.Counter[str] = collections.Counter()
        self._num_few: collections.Counter[str] = collections.Counter()
        self._first: dict[str, Array] = {}
        self._vary: set[str] = set()

    def observe(self, view: StepView) -> None:
        """Observe the losses of a step."""
        for loss in observed_losses(view):
            self._num_seen[loss.name] += 1
            if loss.targets.size < FEWEST_TARGETS:
                self._num_few[loss.name] += 1
                targets = np.sort(loss.targets, axis=None)
                if not np.array_equal(self._first.setdefault(loss.name, targets), targets):
                    self._vary.add(loss.name)

    def are_behind(self, name: str) -> bool:
        """Return whether a loss has mostly been one of few targets that vary."""
        return name in self._vary and 2 * self._num_few[name] > self._num_seen[name]
