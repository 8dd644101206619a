"""Screening: prove for many steps at once that a rule finds nothing at them, so that they need no evaluation."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.reading.series import Flags, Positions, TensorSeries


class Screen(enum.IntEnum):
    """What screening proves for a rule at a step; a lower member says more than a higher one."""

    NO_DATA = 0
    """The rule has nothing to evaluate."""

    PASS = 1
    """The rule finds nothing."""

    UNDECIDED = 2
    """Nothing is proved: the rule has to evaluate the step."""


Screening: TypeAlias = npt.NDArray[np.int8]
"""A `Screen` for each of many steps."""


class Screener(Protocol):
    """A rule that screens tensors.

    Attributes:
        compares_with_previous: Whether `screen` compares each value with the one saved before it.
        screen_needs_sums: Whether `screen` uses the sums of large tensors.
    """

    compares_with_previous: ClassVar[bool]
    screen_needs_sums: ClassVar[bool]

    def screen(self, series: TensorSeries, /) -> Screening:
        """Return the screening result of each value of the series."""

    def num_leading(self, num_entries: int, /) -> int:
        """Return how many of the `num_entries` entries along the first axis of a large value `screen` uses."""


def undecided(size: int) -> Screening:
    """Return a screening that proves nothing."""
    return np.full(size, Screen.UNDECIDED, np.int8)


def pass_where(proved: Flags) -> Screening:
    """Return `Screen.PASS` where it is proved that the rule finds nothing, `Screen.UNDECIDED` elsewhere."""
    return np.where(proved, Screen.PASS, Screen.UNDECIDED).astype(np.int8)


def join(size: int, screenings: Iterable[tuple[Positions, Screening]]) -> Screening:
    """Return the screening of a block from those of its tensors.

    A step is undecided if one tensor is, and has no data if none has.

    Args:
        size: Number of steps in the block.
        screenings: For each tensor, the positions of its values in the block and their screening.
    """
    joined: Screening = np.full(size, Screen.NO_DATA, np.int8)
    for positions, screening in screenings:
        joined[positions] = np.maximum(joined[positions], screening)
    return joined
