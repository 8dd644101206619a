"""Tables of heat maps: the tensors farthest from usual first, with their extremes."""

from __future__ import annotations

import re

import numpy as np

from sagemaker_debug_ext.looking.measures import MEASURES, LayerGrid
from sagemaker_debug_ext.looking.page.folding import Folding
from sagemaker_debug_ext.looking.views.grid_tables import grid_table
from sagemaker_debug_ext.looking.views.parts import Coloring


def make_grid(values, saved=None):
    """Return gradient norms at the steps 0, 10, 20 and so on."""
    values = np.asarray(values, float)
    names = tuple(f"net.layer{row}.weight" for row in range(len(values)))
    steps = tuple(range(0, 10 * values.shape[1], 10))
    saved = np.ones(values.shape, bool) if saved is None else np.asarray(saved)
    return LayerGrid(MEASURES["gradient_norm"], names, steps, values, saved, "of the gradients")


def cells_of(table):
    """Return the texts of the cells by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", str(table), re.DOTALL)[1:]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]


def test_table_when_rows_differ_then_the_strangest_comes_first():
    """NaN before zeros before what has grown before what is as usual; counts and extremes are those of the row."""
    steady, grown, zero = [1.0] * 6, [1, 1, 1, 2, 64, 3], [1, 1, 1, 0, 0, 1]
    broken = [1, 1, 1, 5, np.nan, np.inf]
    found = cells_of(grid_table(make_grid([steady, grown, zero, broken]), Coloring("start"), Folding()))
    assert found == [
        ["net.layer3.weight", "1", "∞", "1", "5", "30", "0", "2"],
        ["net.layer2.weight", "1", "1", "0", "1", "0", "2", "0"],
        ["net.layer1.weight", "1", "3", "1", "64", "40", "0", "0"],
        ["net.layer0.weight", "1", "1", "1", "1", "0", "0", "0"],
    ]


def test_table_when_values_were_not_saved_then_others_are_told():
    """Only saved values count; a row without a finite one has no extremes."""
    values, saved = [[np.nan, 2, 7, 4], [np.nan] * 4], [[False, True, False, True], [True] * 4]
    found = cells_of(grid_table(make_grid(values, saved), Coloring("start"), Folding()))
    assert found == [
        ["net.layer1.weight", "", "", "", "", "", "0", "4"],
        ["net.layer0.weight", "2", "4", "2", "4", "30", "0", "0"],
    ]


def test_table_when_there_are_many_rows_then_says_how_many_are_left_out():
    """The strange one is kept, wherever it is."""
    values = np.ones((230, 8))
    values[222, 5] = 100
    table = grid_table(make_grid(values), Coloring("start"), Folding())
    found = cells_of(table)
    assert len(found) == 200
    assert found[0][0] == "net.layer222.weight"
    assert "30 tensors that are closer to usual are left out" in str(table)
