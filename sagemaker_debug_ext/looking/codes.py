"""Codes of heat map cells: one byte each, ordered so that the highest code of a block is its most important cell.

Every scale reserves 0 for cells that were not saved. The highest codes are those of exact zeros, infinities and NaN,
so that pooling keeps them.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.looking.measures import Flags, Floats

Codes: TypeAlias = npt.NDArray[np.uint8]
Scale: TypeAlias = Literal["start", "change", "others", "share"]
Columns: TypeAlias = npt.NDArray[np.intp]

NOT_SAVED: Final = 0
ZERO: Final = 253
INFINITE: Final = 254
NAN: Final = 255

MOST_OCTAVES: Final = 6
"""Larger changes have the code of this one."""

_LEVELS: Final = 125
_START_SHARE: Final = 0.1
_FEWEST_START: Final = 3
MOST_START: Final = 64
"""Largest number of steps that count as the start of a row."""

_COLUMNS_AT_ONCE: Final = 128
"""Number of steps whose medians are computed together, which limits the memory for it."""


def reference_of(values: Floats, scale: Scale, healthy: Columns | None = None) -> Floats | None:
    """Return what values are compared with; 1 where no value of a row or column is finite and positive.

    Args:
        values: ``(rows, steps)``.
        scale: ``start`` for the row's own start, ``change`` for the same of numbers from 0 to 1, ``others`` for the
            median of the column, and ``share`` for numbers from 0 to 1 as they are.
        healthy: The columns whose median to compare a row with, instead of its start.

    Returns:
        ``(rows, 1)`` for ``start`` and ``change``, ``(1, steps)`` for ``others``, and None for ``share``.
    """
    if scale == "share":
        return None
    if scale == "others":
        reference = _median_of_columns(values)
    elif healthy is None:
        reference = own_start(values)
    else:
        part = values[:, healthy]
        usable = np.isfinite(part) & ((part > 0) | (scale == "change"))
        reference = np.median(part, axis=1, keepdims=True)
        if len(rows := np.flatnonzero(~usable.all(axis=1))):  # some were not saved, or are no usable numbers
            reference[rows] = _nanmedian(np.where(usable[rows], part[rows], np.nan), axis=1)
        if len(rows := np.flatnonzero(np.isnan(reference[:, 0]))):
            reference[rows] = own_start(values[rows])
    return np.asarray(np.where(np.isnan(reference), 1, reference), values.dtype)


def ratios_of(values: Floats, reference: Floats, scale: Scale) -> Floats:
    """Return the ratios of values to a reference; a share that is higher by a half counts as the largest change."""
    with np.errstate(all="ignore"):
        ratios = np.exp2(2 * MOST_OCTAVES * (values - reference)) if scale == "change" else values / reference
    return np.asarray(ratios, values.dtype)


def encode_values(values: Floats, ratios: Floats | None) -> Codes:
    """Return a code for each value.

    Args:
        values: The values.
        ratios: Their ratios to a reference; None if they are shares.

    Returns:
        Octaves from -6 to 6 have codes from 1 to 252, even ones above the reference, odd ones below it, ascending with
        the distance. Shares have codes from 1 to 251.
    """
    with np.errstate(all="ignore"):
        if ratios is None:
            codes = 1 + np.round(250 * np.clip(np.nan_to_num(values), 0, 1))
        else:
            codes = np.where(values == 0, ZERO, _of_octaves(np.log2(ratios)))
    return np.where(np.isinf(values), INFINITE, np.where(np.isnan(values), NAN, codes)).astype(np.uint8)


def encode_octaves(octaves: Floats, saved: Flags) -> Codes:
    """Return codes of octaves from a reference, as `encode_values` gives them."""
    return np.where(saved, _of_octaves(octaves), NOT_SAVED).astype(np.uint8)


def rounded(codes: Codes, octaves: float) -> Codes:
    """Return codes of octaves rounded to multiples of some octaves, which need fewer bytes; flags stay."""
    width = max(round(octaves / MOST_OCTAVES * _LEVELS), 1)
    table = np.arange(256)
    levels, is_above = np.divmod(table[1:ZERO] - 1, 2)
    table[1:ZERO] = 1 + 2 * np.minimum(width * np.round(levels / width), _LEVELS) + is_above
    return table.astype(np.uint8)[codes]


def _of_octaves(octaves: Floats) -> Floats:
    number = np.nan_to_num(octaves)
    level = np.round(np.clip(np.abs(number), 0, MOST_OCTAVES) / MOST_OCTAVES * _LEVELS)
    return np.asarray(1 + 2 * level + (number > 0))


def octaves_of(code: int) -> float:
    """Return the octaves that a code from 1 to 252 stands for."""
    level, is_above = divmod(code - 1, 2)
    return (1 if is_above else -1) * level / _LEVELS * MOST_OCTAVES


def own_start(values: Floats) -> Floats:
    """Return the median of the first finite, positive values of each row as ``(rows, 1)``; NaN for rows without any.

    A tenth of the steps counts as the start, at least 3 and at most 64 of them.
    """
    num_start = min(max(int(_START_SHARE * values.shape[1]), _FEWEST_START), MOST_START)
    head = values[:, :num_start]
    found = np.median(head, axis=1, keepdims=True) if head.size else np.full((len(values), 1), np.nan)
    rows = np.flatnonzero(~(np.isfinite(head) & (head > 0)).all(axis=1))
    if len(rows):  # some were not saved, or are no usable numbers
        rest = values[rows]
        usable = np.isfinite(rest) & (rest > 0)
        is_start = usable & (np.cumsum(usable, axis=1) <= num_start)
        found[rows] = _nanmedian(np.where(is_start, rest, np.nan), axis=1)
    return found


def _median_of_columns(values: Floats) -> Floats:
    parts = []
    for begin in range(0, values.shape[1], _COLUMNS_AT_ONCE):
        part = values[:, begin : begin + _COLUMNS_AT_ONCE]
        usable = np.isfinite(part) & (part > 0)
        is_usual = bool(usable.all()) and len(part) > 0
        parts.append(
            np.median(part, axis=0, keepdims=True) if is_usual else _nanmedian(np.where(usable, part, np.nan), axis=0)
        )
    return np.concatenate(parts, axis=1)


def _nanmedian(values: Floats, axis: int) -> Floats:
    """Return the median along an axis, which is kept; NaN without a warning where all values are NaN."""
    has_any = (~np.isnan(values)).any(axis=axis, keepdims=True)
    filled = np.where(has_any, values, 1.0)
    return np.asarray(np.where(has_any, np.nanmedian(filled, axis=axis, keepdims=True), np.nan))
