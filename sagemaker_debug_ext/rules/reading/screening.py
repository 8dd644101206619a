"""Screening: prove for many steps at once that a rule finds nothing at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.reading.series import Screening, TensorSeries


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
