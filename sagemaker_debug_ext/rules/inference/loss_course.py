"""`LossCourse`: the first and latest levels of the losses of training."""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping
from typing import Final

from sagemaker_debug_ext.rules.inference.loss_pairs import VALIDATION_NAME
from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    RollingWindow,
    is_part_of_total,
    is_training,
    loss_values,
    mean_loss,
)
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView

WINDOW: Final = 5
"""Number of losses to average."""
LEAST_FALL: Final = 0.05
"""Smallest fall of a loss, relative to its first level, that shows that something is learnt."""


class LossCourse:
    """The first and latest levels of each loss of TRAIN steps (or steps without a mode): means of its finite values.

    Parts of a total, and losses whose names indicate validation, are left out.

    Args:
        selection: The losses.
        window: Number of values to average.
    """

    def __init__(self, selection: Selection = LOSSES, window: int = WINDOW) -> None:
        self._selection = selection
        self._window = window
        self._recent = RollingWindow(window)
        self._first = collections.defaultdict[str, list[float]](list)
        self._step = -1
        self.num_steps = 0

    def observe(self, view: StepView) -> None:
        """Add the losses of a step, once."""
        if not is_training(view) or view.step == self._step:
            return
        self._step = view.step
        self.num_steps += 1
        for name, loss in loss_values(view, self._selection).items():
            if VALIDATION_NAME.fullmatch(name) or is_part_of_total(view, name):
                continue
            if len(self._first[name]) < self._window and math.isfinite(loss):
                self._first[name].append(loss)
            self._recent.add(name, loss)

    def levels(self) -> dict[str, float]:
        """Return the level of each loss now."""
        return {name: mean_loss(self._recent.of(name)) for name in self._first if self._recent.of(name)}

    def first_levels(self) -> dict[str, float]:
        """Return the level at which each loss began."""
        return {name: mean_loss(first) for name, first in self._first.items() if first}

    def has_fallen_from(self, levels: Mapping[str, float], share: float) -> bool:
        """Return whether any loss is below a share of an earlier level, and none above its own."""
        now = self.levels()
        shared = [(now[name], levels[name]) for name in levels if name in now and levels[name] > 0]
        return any(latest < share * level for latest, level in shared) and all(
            latest <= level for latest, level in shared
        )

    def another_falls(self, name: str) -> bool:
        """Return whether a loss other than the named one has fallen since training began.

        Losses without a common total belong to updates of their own, like those of a generator and a discriminator: one
        may lose what another wins.
        """
        return any(self._has_fallen(other) for other in self._first if other != name)

    def _has_fallen(self, name: str) -> bool:
        if not self._recent.is_full(name):
            return False
        first = mean_loss(self._first[name])
        return mean_loss(self._recent.of(name)) < first - LEAST_FALL * abs(first)
