"""What rules over the course of training share: recent values, names of losses, and the mode of training."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable
from typing import Final

from sagemaker_debug_ext.rules.selection import Selection
from sagemaker_debug_ext.rules.step import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

LOSSES: Final = Selection(collections=(CollectionKeys.LOSSES,))
GRADIENT_PREFIX: Final = "gradient/"


def is_training(view: StepView) -> bool:
    """Tell whether a step is one of training: TRAIN, or of no mode at all."""
    return view.mode in (ModeKeys.TRAIN, ModeKeys.GLOBAL)


def losses_or(patterns: Iterable[str] | None) -> Selection:
    """Return the tensors that patterns choose, or the losses if none are given."""
    return Selection(patterns=patterns) if patterns else LOSSES


class Recent:
    """The latest values of each of some tensors.

    Args:
        length: How many are kept.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._values: dict[str, collections.deque[float]] = {}

    def of(self, name: str) -> list[float]:
        """Return the values kept, the oldest first."""
        return list(self._values.get(name, ()))

    def is_full(self, name: str) -> bool:
        """Tell whether as many values as are kept have been seen."""
        return len(self._values.get(name, ())) == self._length

    def add(self, name: str, value: float) -> None:
        """Keep a value, unless it is not finite: one such value would spoil every mean."""
        if math.isfinite(value):
            self._values.setdefault(name, collections.deque(maxlen=self._length)).append(value)


class Streaks:
    """For how many observations in a row something has held, by name."""

    def __init__(self) -> None:
        self._lengths: dict[str, int] = collections.Counter()

    def observe(self, name: str, holds: bool) -> int:
        """Take an observation, and return the length of the streak."""
        self._lengths[name] = self._lengths[name] + 1 if holds else 0
        return self._lengths[name]
