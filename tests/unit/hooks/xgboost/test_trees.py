"""Trees as XGBoost describes them become columns, without XGBoost."""

from __future__ import annotations

import json

import numpy as np

from sagemaker_debug_ext.hooks.xgboost.trees import COLUMNS, tree_table

LEAF = {"nodeid": 0, "leaf": -0.5, "cover": 3}
TREE = {
    "nodeid": 0, "depth": 0, "split": "a\nb", "split_condition": 0.25, "yes": 1, "no": 2, "missing": 2, "gain": 9.5,
    "cover": 12,
    "children": [
        {"nodeid": 1, "leaf": 0.125, "cover": 4},
        {"nodeid": 2, "depth": 1, "split": "c", "split_condition": [0, 2], "yes": 4, "no": 3, "missing": 3, "gain": 1,
         "cover": 8, "children": [{"nodeid": 3, "leaf": 1, "cover": 5}, {"nodeid": 4, "leaf": 2, "cover": 3}]},
    ],
}  # fmt: skip
INDICATOR = {**LEAF, "split": "i", "yes": 1, "no": 2, "gain": 2}
del INDICATOR["leaf"]


def texts(*trees):
    return [json.dumps(tree).replace("\\n", "\n") for tree in trees]


def test_table_then_has_a_row_for_each_node_in_order():
    """Thresholds are numbers, categories a text, and what a node lacks is NaN."""
    table = {name: column.tolist() for name, column in tree_table(texts(TREE), 7).items()}
    assert list(table) == list(COLUMNS)
    assert table["Tree"] == [7] * 5
    assert table["Node"] == [0, 1, 2, 3, 4]
    assert table["ID"] == ["7-0", "7-1", "7-2", "7-3", "7-4"]
    assert table["Feature"] == ["a\nb", "Leaf", "c", "Leaf", "Leaf"]
    assert table["Yes"] == ["7-1", "nan", "7-4", "nan", "nan"]
    assert table["No"] == ["7-2", "nan", "7-3", "nan", "nan"]
    assert table["Missing"] == ["7-2", "nan", "7-3", "nan", "nan"]
    assert table["Category"] == ["nan", "nan", "0,2", "nan", "nan"]
    assert table["Gain"] == [9.5, 0.125, 1, 1, 2]
    assert table["Cover"] == [12, 4, 8, 5, 3]
    assert np.array_equal(table["Split"], [0.25, np.nan, np.nan, np.nan, np.nan], equal_nan=True)


def test_table_when_trees_are_many_then_follow_each_other():
    """Trees are numbered on; a split by an indicator has no threshold and no branch for missing values."""
    table = tree_table(texts(LEAF, TREE, INDICATOR), 3)
    assert table["Tree"].tolist() == [3, 4, 4, 4, 4, 4, 5]
    assert table["Missing"][-1] == "nan"
    assert np.isnan(table["Split"][-1])


def test_table_when_there_are_no_trees_then_is_empty():
    """The dtypes of columns are the same all the same."""
    table = tree_table([], 0)
    assert {name: column.size for name, column in table.items()} == dict.fromkeys(COLUMNS, 0)
    assert table["Node"].dtype == np.int64
    assert table["Feature"].dtype.kind == "U"
