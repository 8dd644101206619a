"""Codes of heat map cells: one byte each, ordered so that the highest code of a block is its most important cell.

Every scale reserves 0 for cells that were not saved. The highest codes are those of exact zeros, infinities and NaN,
so that pooling keeps them.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.looking.measures import Flags, Floats, LayerGrid

Codes: TypeAlias = npt.NDArray[np.uint8]
Scale: TypeAlias = Literal["start", "others", "share"]

NOT_SAVED: Final = 0
ZERO: Final = 253
INFINITE: Final = 254
NAN: Final = 255

MOST_OCTAVES: Final = 6
"""Larger changes have the code of this one."""

_LEVELS: Final = 125
_START_SHARE: Final = 0.1
_FEWEST_START: Final = 3


def encode(grid: LayerGrid, scale: Scale) -> Codes:
    """Return a code for each cell.

    Args:
        grid: The cells.
        scale: ``start`` for octaves from the row's own start, ``others`` for octaves from the median of the column, and
            ``share`` for numbers from 0 to 1.

    Returns:
        ``(rows, steps)``. Octaves from -6 to 6 have codes from 1 to 252, even ones above the reference, odd ones below
        it, ascending with the distance. Shares have codes from 1 to 251.
    """
    if scale == "share":
        codes = 1 + np.round(250 * np.clip(np.nan_to_num(grid.values), 0, 1))
    else:
        reference = own_start(grid.values) if scale == "start" else _median_of_columns(grid.values)
        with np.errstate(all="ignore"):
            codes = np.where(grid.values == 0, ZERO, _of_octaves(np.log2(grid.values / reference)))
    codes = np.where(np.isinf(grid.values), INFINITE, np.where(np.isnan(grid.values), NAN, codes))
    return np.where(grid.saved, codes, NOT_SAVED).astype(np.uint8)


def encode_octaves(octaves: Floats, saved: Flags) -> Codes:
    """Return codes of octaves from a reference, as `encode` gives them."""
    return np.where(saved, _of_octaves(octaves), NOT_SAVED).astype(np.uint8)


def _of_octaves(octaves: Floats) -> Floats:
    number = np.nan_to_num(octaves)
    level = np.round(np.clip(np.abs(number), 0, MOST_OCTAVES) / MOST_OCTAVES * _LEVELS)
    return np.asarray(1 + 2 * level + (number > 0))


def octaves_of(code: int) -> float:
    """Return the octaves that a code from 1 to 252 stands for."""
    level, is_above = divmod(code - 1, 2)
    return (1 if is_above else -1) * level / _LEVELS * MOST_OCTAVES


def own_start(values: Floats) -> Floats:
    """Return the median of the first finite, positive values of each row as ``(rows, 1)``; NaN for rows without any."""
    usable = np.isfinite(values) & (values > 0)
    num_start = max(int(_START_SHARE * values.shape[1]), _FEWEST_START)
    is_start = usable & (np.cumsum(usable, axis=1) <= num_start)
    return _nanmedian(np.where(is_start, values, np.nan), axis=1)


def _median_of_columns(values: Floats) -> Floats:
    return _nanmedian(np.where(np.isfinite(values) & (values > 0), values, np.nan), axis=0)


def _nanmedian(values: Floats, axis: int) -> Floats:
    """Return the median along an axis, which is kept; NaN without a warning where all values are NaN."""
    has_any = (~np.isnan(values)).any(axis=axis, keepdims=True)
    filled = np.where(has_any, values, 1.0)
    return np.asarray(np.where(has_any, np.nanmedian(filled, axis=axis, keepdims=True), np.nan))
