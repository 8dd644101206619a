"""Heat maps as tables: for readers who hear the page, and to copy numbers from."""

from __future__ import annotations

from typing import Final

import numpy as np

from sagemaker_debug_ext.looking.measures import LayerGrid
from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.page.charts import table
from sagemaker_debug_ext.looking.page.folding import AS_TABLE, Folding
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.thinning import pool_grid
from sagemaker_debug_ext.looking.views.parts import Coloring

_MAX_ROWS: Final = 200
_HEAD: Final = ("tensor", "first", "last", "lowest", "highest", "at step", "steps with 0", "steps not finite")


def grid_table(grid: LayerGrid, coloring: Coloring, folding: Folding) -> Element:
    """Return a measure as a folded table with a row for each tensor, the one farthest from usual first.

    Args:
        grid: The measure; at most 200 of its tensors are in the table.
        coloring: The colours that say what is usual.
        folding: How the table is folded.
    """
    return folding.part(f"table {grid.measure.title} {grid.tensors[0]}", AS_TABLE, lambda: _table(grid, coloring))


def _table(grid: LayerGrid, coloring: Coloring) -> Child:
    strengths = pool_grid(grid, coloring.scale, len(grid.tensors), 1, coloring.healthy).codes[:, 0]
    order = np.argsort(-strengths.astype(int), kind="stable")[:_MAX_ROWS].tolist()
    rest = len(grid.tensors) - len(order)
    return [
        table(_HEAD, [_row(grid, row) for row in order]),
        element("p", f"{rest} tensors that are closer to usual are left out.", class_="quiet") if rest else None,
    ]


def _row(grid: LayerGrid, row: int) -> tuple[str, ...]:
    name = shortened(grid.tensors[row])
    values = grid.values[row, grid.saved[row]]
    steps = np.array(grid.steps)[grid.saved[row]]
    is_finite = np.isfinite(values)
    finite = values[is_finite]
    counts = [str(int(np.sum(values == 0))), str(int(np.sum(~is_finite)))]
    if not len(finite):
        return (name, *[""] * 5, *counts)
    ends = [as_number(float(value)) for value in (values[0], values[-1])]
    highest = int(finite.argmax())
    extremes = [as_number(float(finite.min())), as_number(float(finite[highest]))]
    return (name, *ends, *extremes, as_step(int(steps[is_finite][highest])), *counts)
