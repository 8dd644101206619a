"""Samples that are windows of one series, in order of time."""

from __future__ import annotations

from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.reading.numeric import Array

FEWEST_PAIRS: Final = 8
"""Number of pairs of consecutive samples from which on they may show a series."""
MOST_PAIRS: Final = 500
"""Number of pairs that suffices."""
NEARLY_ALL: Final = 0.9
"""Fraction of these pairs that must be in order of time; a round begins with a sample that is not."""


class TimeOrder:
    """Records whether samples, in the order in which they come, are consecutive windows of a series.

    A window has moved by one step of time if it repeats the one before except for that step, or if it contains the
    target of the one before. Samples are compared across batches, because a batch may have a single one.
    """

    def __init__(self) -> None:
        self._before: tuple[Array, Array | None] | None = None
        self._num_pairs = 0
        self._num_next = 0

    def observe(self, samples: Array, targets: Array | None) -> None:
        """Add a batch of inputs, with the targets of the same samples if they are known."""
        for place, sample in enumerate(samples[: MOST_PAIRS - self._num_pairs]):
            target = targets[place] if targets is not None and len(targets) == len(samples) else None
            if self._before is not None:
                self._num_pairs += 1
                self._num_next += has_moved_on(*self._before, sample)
            self._before = sample, target

    @property
    def is_kept(self) -> bool:
        """Whether nearly all samples so far follow one another in time."""
        return self._num_pairs >= FEWEST_PAIRS and self._num_next >= NEARLY_ALL * self._num_pairs


def has_moved_on(window: Array, target: Array | None, following: Array) -> bool:
    """Return whether a window of a series, with time along its first or last axis, follows another by one step."""
    if window.shape != following.shape or np.array_equal(window, following):
        return False
    for axis in {0, window.ndim - 1} if window.ndim else ():
        before, after = np.moveaxis(window, axis, 0), np.moveaxis(following, axis, 0)
        if len(before) > 1 and np.array_equal(before[1:], after[:-1]):
            return True
    return target is not None and target.dtype.kind == "f" and bool(np.isin(target, following).any())
