"""Loops over arrays that Numba compiles to machine code on first use.

Numba is optional: `hooks.statistics.numba_loader` imports this module only if it is installed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.hooks.statistics.precision import CANCELLING, LEAST_SQUARES, MOST_SQUARES

_CHUNK: Final = 1 << 11
"""Number of values that are summed in float32 before float64 is used.

A processor with shorter vectors puts more of them into each partial sum, and equal values are all rounded to the same
side. So few keep sums right to 1e-5; fewer would take longer.
"""

_MAGNITUDE: Final = np.int32(0x7FFFFFFF)
"""Mask of all bits of a float32 but its sign."""

_INFINITE: Final = int(np.array(np.inf, np.float32).view(np.int32))

_OPTIONS: Final[dict[str, Any]] = {"nogil": True, "fastmath": {"reassoc", "contract", "nsz"}}
"""Allow reordering of sums for vectorization; NaN and infinity keep their meaning."""

_MOST_COUNTED: Final = (1 << 32) - 1
"""Maximum count in a table."""


class Part(NamedTuple):
    """Results of `summarise` for the values or for the absolute values; all are NaN if a value is NaN.

    `spread` is the sum of squared deviations from the mean.
    """

    least: float
    greatest: float
    total: float
    spread: float


class Sums(NamedTuple):
    """Results of `summarise`; `is_exact` is False if squares exceeded the range of float32."""

    plain: Part
    absolute: Part
    squares: float
    is_exact: bool


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is compiled on its first call, and cached on disk if possible."""
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no cache folder is writable
        compiled = numba.njit(**_OPTIONS)(function)
    return compiled


@_compiled
def _scan(values, bits):  # type: ignore[no-untyped-def]
    """Return keys of the minimum, the maximum and the minimum absolute value of a chunk, and three sums.

    Keys are integers in the order of the corresponding floats. NaN values are beyond infinity, at either end.
    The sums are those of the values, of the absolute values, and of the squares.
    """
    least = least_magnitude = _MAGNITUDE
    greatest = ~_MAGNITUDE
    total = absolute = squares = np.float32(0)
    for index in range(values.size):
        magnitude = np.int32(bits[index] & _MAGNITUDE)
        key = np.int32(bits[index] ^ ((bits[index] >> np.int32(31)) & _MAGNITUDE))
        least = key if key < least else least
        greatest = key if key > greatest else greatest
        least_magnitude = magnitude if magnitude < least_magnitude else least_magnitude
        value = values[index]
        total += value
        absolute += abs(value)
        squares += value * value
    return least, greatest, least_magnitude, total, absolute, squares


@_compiled
def _spread(values, total, squares, absolute, cancelling):  # type: ignore[no-untyped-def]
    """Return the sum of squared distances of a chunk's (absolute) values from their mean, and their sum.

    Neither loses precision: if the sums of `_scan` have lost digits, a second pass over the chunk recomputes them.
    """
    spread = squares - total * total / values.size
    if spread >= cancelling * squares:
        return spread, total
    mean = np.float32(total / values.size)
    distances = drift = np.float32(0)
    for index in range(values.size):
        distance = (abs(values[index]) if absolute else values[index]) - mean
        distances += distance * distance
        drift += distance
    # The mean comes from a rounded sum; the mean of the deviations corrects its error.
    off = np.float64(drift)
    return np.float64(distances) - off * off / values.size, np.float64(mean) * values.size + off


@_compiled
def _joined(count, total, spread, more, more_total, more_spread):  # type: ignore[no-untyped-def]
    """Return the combined spread of two parts."""
    if count == 0:
        return more_spread
    distance = more_total / more - total / count
    return spread + more_spread + distance * distance * count * more / (count + more)


@_compiled
def _summarise(values, bits, least_squares, most_squares, cancelling):  # type: ignore[no-untyped-def]
    least = least_magnitude = _MAGNITUDE
    greatest = ~_MAGNITUDE
    total = spread = absolute_total = absolute_spread = squares = 0.0
    is_exact = True
    for start in range(0, values.size, _CHUNK):
        chunk = values[start : start + _CHUNK]
        lower, upper, nearest, rough, rough_absolute, rough_squares = _scan(chunk, bits[start : start + _CHUNK])
        least, greatest, least_magnitude = min(least, lower), max(greatest, upper), min(least_magnitude, nearest)
        more_squares = np.float64(rough_squares)
        part, more = _spread(chunk, np.float64(rough), more_squares, False, cancelling)
        absolute_part, more_absolute = _spread(chunk, np.float64(rough_absolute), more_squares, True, cancelling)
        spread = _joined(start, total, spread, chunk.size, more, part)
        absolute_spread = _joined(start, absolute_total, absolute_spread, chunk.size, more_absolute, absolute_part)
        total += more
        absolute_total += more_absolute
        squares += more_squares
        is_exact = is_exact and not more_squares > most_squares
    is_zero = max(greatest, ~least) == 0
    is_exact = is_exact and (is_zero or not squares < least_squares)
    return (least, greatest, least_magnitude), (total, spread, absolute_total, absolute_spread, squares), is_exact


@_compiled
def _count(bits, shift, tables, counts):  # type: ignore[no-untyped-def]
    """Add to `counts`; adjacent values use separate tables to avoid store-to-load stalls for equal values."""
    whole = bits.size - bits.size % 4
    for index in range(0, whole, 4):
        tables[0, bits[index] >> shift] += 1
        tables[1, bits[index + 1] >> shift] += 1
        tables[2, bits[index + 2] >> shift] += 1
        tables[3, bits[index + 3] >> shift] += 1
    for index in range(whole, bits.size):
        tables[0, bits[index] >> shift] += 1
    for number in range(counts.size):
        for table in range(4):
            counts[number] += tables[table, number]
            tables[table, number] = 0


def _from_keys(keys: tuple[int, int, int]) -> list[float]:
    """Return the floats for the keys; all are NaN if one is NaN."""
    least, greatest, _ = keys
    if least < ~_INFINITE or greatest > _INFINITE:
        return [math.nan] * len(keys)
    signed = np.array(keys, np.int32)
    floats: list[float] = (signed ^ ((signed >> 31) & _MAGNITUDE)).view(np.float32).tolist()
    return floats


def _read_only(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return a read-only view, because Numba would compile the loops again for writable arrays."""
    view: npt.NDArray[np.float32] = values.view()
    view.flags.writeable = False
    return view


def summarise(values: npt.NDArray[np.float32]) -> Sums:
    """Compute the sums and extremes that reductions need, in one pass, on the calling thread.

    Args:
        values: ``(N,)``, without gaps, at least one.
    """
    numbers = _read_only(values)
    keys, sums, is_exact = _summarise(numbers, numbers.view(np.int32), LEAST_SQUARES, MOST_SQUARES, CANCELLING)
    least, greatest, absolute_least = _from_keys(keys)
    total, spread, absolute_total, absolute_spread, squares = sums
    return Sums(
        Part(least, greatest, total, spread),
        Part(absolute_least, max(abs(least), abs(greatest)), absolute_total, absolute_spread),
        squares,
        is_exact,
    )


def count_leading_bits(values: npt.NDArray[np.float32], shift: int) -> npt.NDArray[np.int64]:
    """Count the values by their bits without the last `shift` ones.

    Args:
        values: ``(N,)``, without gaps.
        shift: From 16 to 31.
    """
    counts = np.zeros(1 << (32 - shift), np.int64)
    tables = np.zeros((4, counts.size), np.uint32)
    bits = _read_only(values).view(np.uint32)
    for start in range(0, bits.size, _MOST_COUNTED):
        _count(bits[start : start + _MOST_COUNTED], np.uint32(shift), tables, counts)
    return counts
