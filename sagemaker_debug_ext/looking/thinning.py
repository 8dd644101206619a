"""Thin numbers to the resolution of a screen without losing an extreme: curves into buckets, grids into cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.floating[Any]]


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
    span = steps[-1] - steps[0]
    usual_gap = float(np.median(np.diff(steps))) if len(steps) > 1 else 1.0
    width = max(usual_gap, (span + 1) / max_columns)
    columns = ((np.asarray(steps) - steps[0]) / width).astype(np.intp)
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    cells = np.zeros((pooled.shape[0], int(columns[-1]) + 1), np.uint8)
    cells[:, columns[starts]] = np.maximum.reduceat(pooled, starts, axis=1)
    return ThinGrid(cells, tuple(row_edges.tolist()), steps[0], width)
