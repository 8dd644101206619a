"""Thin numbers to the resolution of a screen without losing an extreme: curves into buckets, grids into cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.looking.codes import NOT_SAVED, Columns, Scale, encode_values, ratios_of, reference_of
from sagemaker_debug_ext.looking.measures import Flags, Floats, LayerGrid

_CELLS_AT_ONCE: Final = 1 << 18
"""Number of cells whose ratios are computed together, which stay in the cache of a processor."""


@attrs.frozen(eq=False)
class ThinCurve:
    """A curve in buckets of steps.

    Args:
        steps: The last step of each bucket.
        low: The lowest finite value of each bucket; NaN if it has none.
        high: The highest finite value.
        last: The last finite value.
        non_finite: The steps whose values are NaN or infinite: the first one of each bucket.
        num_values: Number of values in all.
    """

    steps: tuple[int, ...]
    low: Floats
    high: Floats
    last: Floats
    non_finite: tuple[int, ...]
    num_values: int


def thin_curve(steps: Sequence[int], values: Floats, num_buckets: int) -> ThinCurve:
    """Thin a curve to a maximum number of buckets, with equal numbers of values."""
    count = len(steps)
    edges = np.unique(np.linspace(0, count, min(num_buckets, count) + 1).astype(np.intp))
    low, high, last, ends, bad = [], [], [], [], []
    finite = np.isfinite(values)
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = values[begin:end][finite[begin:end]]
        low.append(part.min() if len(part) else np.nan)
        high.append(part.max() if len(part) else np.nan)
        last.append(part[-1] if len(part) else np.nan)
        ends.append(steps[end - 1])
        if not finite[begin:end].all():
            bad.append(steps[begin + int(np.argmin(finite[begin:end]))])
    return ThinCurve(tuple(ends), np.array(low), np.array(high), np.array(last), tuple(bad), count)


def bucket_edges(count: int, limit: int) -> npt.NDArray[np.intp]:
    """Return the starts of at most `limit` buckets of `count` things, and the end of the last."""
    return np.unique(np.linspace(0, count, min(limit, count) + 1).astype(np.intp))


@attrs.frozen(eq=False)
class ThinGrid:
    """Cells of a heat map, with steps at even distances.

    Args:
        codes: ``(rows, columns)``: the highest code of each block; 0 where nothing was saved.
        row_edges: First row of each block, and the number of rows.
        first_step: The first step.
        steps_per_column: Width of a column.
    """

    codes: npt.NDArray[np.uint8]
    row_edges: tuple[int, ...]
    first_step: int
    steps_per_column: float

    @property
    def is_pooled(self) -> bool:
        """Whether a cell may stand for several values."""
        return len(self.row_edges) - 1 < self.row_edges[-1]


def thin_grid(codes: npt.NDArray[np.uint8], steps: Sequence[int], max_rows: int, max_columns: int) -> ThinGrid:
    """Pool codes to at most so many rows and columns; the highest code of a block is kept.

    Args:
        codes: ``(rows, steps)``.
        steps: Ascending steps, at least one.
        max_rows: Highest number of rows.
        max_columns: Highest number of columns.
    """
    row_edges = bucket_edges(codes.shape[0], max_rows)
    pooled = np.maximum.reduceat(codes, row_edges[:-1], axis=0)
    columns = _Columns.of(steps, max_columns)
    return columns.grid(np.maximum.reduceat(pooled, columns.starts, axis=1), row_edges)


def pool_grid(
    grid: LayerGrid, scale: Scale, max_rows: int, max_columns: int, healthy: Columns | None = None
) -> ThinGrid:
    """Return what `thin_grid` returns for the codes of a grid, without computing the code of every cell.

    The code of a block is that of its highest or of its lowest value, whichever is farther from the reference.

    Args:
        grid: The cells, with at least one step; values that are not shares are not negative.
        scale: Scale of the codes.
        max_rows: Highest number of rows.
        max_columns: Highest number of columns.
        healthy: The columns to compare a row with instead of its start.
    """
    row_edges = bucket_edges(len(grid.tensors), max_rows)
    columns = _Columns.of(grid.steps, max_columns)
    reference = reference_of(grid.values, scale, healthy)
    codes = np.empty((len(row_edges) - 1, len(columns.starts)), np.uint8)
    at_once = max(_CELLS_AT_ONCE * (len(row_edges) - 1) // grid.values.size, 1)  # blocks of rows
    for begin in range(0, len(codes), at_once):
        edges = row_edges[begin : begin + at_once + 1]
        rows = slice(edges[0], edges[-1])
        starts = edges[:-1] - edges[0]
        values = grid.values[rows]
        is_saved = None if (saved := grid.saved[rows]).all() else saved
        ratios = None
        if reference is not None:
            ratios = ratios_of(values, reference[rows] if len(reference) > 1 else reference, scale)
        block = np.zeros((len(starts), len(columns.starts)), np.uint8)
        for extreme in (np.maximum, np.minimum):
            of_ratios = None if ratios is None else _extremes(extreme, ratios, is_saved, starts, columns.starts)
            if of_ratios is not None and (scale == "change" or (np.isfinite(of_ratios) & (of_ratios > 0)).all()):
                of_values = of_ratios  # there is no flag, so values are as good; a share of 0 is none
            else:
                of_values = _extremes(extreme, values, is_saved, starts, columns.starts)
            np.maximum(block, encode_values(of_values, of_ratios), out=block)
        if is_saved is not None:
            block[~_pooled(np.logical_or, is_saved, starts, columns.starts)] = NOT_SAVED
        codes[begin : begin + at_once] = block
    return columns.grid(codes, row_edges)


def farthest(values: Floats, saved: Flags, starts: npt.NDArray[np.intp], is_share: bool) -> Floats:
    """Return one saved value of each block of columns: the highest share, or the value farthest from the row's start.

    NaN, infinity and zero are farther than all others. Blocks in which nothing was saved have NaN.

    Args:
        values: ``(rows, steps)``.
        saved: Where a value was saved.
        starts: First column of each block, ascending from 0.
        is_share: Whether the values are shares.
    """
    found = np.empty((len(values), len(starts)), values.dtype)
    widths = np.diff(starts, append=values.shape[1])
    at_once = max(_CELLS_AT_ONCE // values.shape[1], 1)
    for begin in range(0, len(values), at_once):
        rows = slice(begin, begin + at_once)
        part = values[rows]
        reference = reference_of(part, "share" if is_share else "start")
        with np.errstate(all="ignore"):
            distances = part if reference is None else np.abs(np.log2(part / reference))
        distances = np.where(saved[rows], np.nan_to_num(distances, nan=np.inf), -np.inf)
        is_first = distances == np.repeat(np.maximum.reduceat(distances, starts, axis=1), widths, axis=1)
        places = np.where(is_first, np.arange(values.shape[1]), values.shape[1])
        found[rows] = np.take_along_axis(part, np.minimum.reduceat(places, starts, axis=1), axis=1)
    return found


class _Columns(NamedTuple):
    """Columns of a heat map at even distances.

    Args:
        places: The column of each block of steps.
        starts: First step of each block, by its place among the steps.
        first_step: The first step.
        width: Width of a column in steps.
    """

    places: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]
    first_step: int
    width: float

    @classmethod
    def of(cls, steps: Sequence[int], limit: int) -> _Columns:
        """Return at most so many columns for ascending steps."""
        at = np.asarray(steps)
        usual_gap = float(np.median(np.diff(at))) if len(at) > 1 else 1.0
        width = max(usual_gap, (at[-1] - at[0] + 1) / limit)
        columns = ((at - at[0]) / width).astype(np.intp)
        starts = np.flatnonzero(np.diff(columns, prepend=-1))
        return cls(columns[starts], starts, steps[0], float(width))

    def grid(self, codes: npt.NDArray[np.uint8], row_edges: npt.NDArray[np.intp]) -> ThinGrid:
        """Return the codes of blocks of steps at their places."""
        cells = np.zeros((len(codes), int(self.places[-1]) + 1), np.uint8)
        cells[:, self.places] = codes
        return ThinGrid(cells, tuple(row_edges.tolist()), self.first_step, self.width)


def _extremes(
    extreme: np.ufunc, values: Floats, saved: Flags | None, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]
) -> Floats:
    """Return the highest or lowest saved value of each block; NaN where a block has any."""
    if saved is not None:
        values = np.where(saved, values, -np.inf if extreme is np.maximum else np.inf)
    found: Floats = _pooled(extreme, values, rows, columns)
    return found


def _pooled(operation: np.ufunc, values: Any, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]) -> Any:
    if len(rows) < len(values):
        ends = [*rows[1:].tolist(), len(values)]
        values = np.stack([operation.reduce(values[b:e], axis=0) for b, e in zip(rows.tolist(), ends, strict=True)])
    return operation.reduceat(values, columns, axis=1) if len(columns) < values.shape[1] else values
