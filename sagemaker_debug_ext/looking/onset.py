"""The onset of an unusual value: the step at which it left its own usual range."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_FEWEST_QUIET: Final = 8
"""Minimum number of saved steps that define a usual range."""

_DEVIATIONS: Final = 4.0
_LEAST_DEVIATION: Final = 0.05
"""Minimum half width of a usual range in octaves, because a constant has no deviation."""


def find_onset(steps: Sequence[int], values: npt.NDArray[np.floating[Any]], found_at: int) -> int | None:
    """Return the step at which a value left its usual range, to which it did not return until an issue was found.

    The range is the median ± 4 median absolute deviations of the logarithm of the value's size, over the steps before.
    A value leaves it on the side on which it is in the end, so that the usual decline of a gradient does not count as
    the onset of its explosion. NaN is on the side of large values.

    Args:
        steps: Ascending steps.
        values: The value at each.
        found_at: The step at which a rule found an issue.

    Returns:
        The first unusual step; None if the value is usual at `found_at`, or if fewer than eight steps are before.
    """
    end = bisect_right(steps, found_at)
    if end <= _FEWEST_QUIET:
        return None
    with np.errstate(all="ignore"):
        sizes = np.nan_to_num(np.log2(np.abs(values[:end])), nan=np.inf, posinf=np.inf, neginf=-np.inf)
    onset = end - 1
    num_quiet = max(end // 2, _FEWEST_QUIET)
    for _ in range(3):  # the range of a longer quiet part is better known, and may move the onset
        quiet = sizes[:num_quiet]
        quiet = quiet[np.isfinite(quiet)]
        if len(quiet) < _FEWEST_QUIET:
            return None
        middle = np.median(quiet)
        deviation = max(float(np.median(np.abs(quiet - middle))), _LEAST_DEVIATION)
        side = 1 if sizes[-1] >= middle else -1
        usual = side * (sizes - middle) <= _DEVIATIONS * deviation
        last_usual = np.flatnonzero(usual)
        onset = int(last_usual[-1]) + 1 if len(last_usual) else 0
        if onset >= end or onset < _FEWEST_QUIET:
            return None
        if onset == num_quiet:
            break
        num_quiet = onset
    return steps[onset]
