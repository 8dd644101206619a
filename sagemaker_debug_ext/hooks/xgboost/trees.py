"""The trees of one boosting round, as columns of a table with one row per node."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.store.format.messages import Array

COLUMNS: Final[Mapping[str, type]] = {
    "Tree": np.int64,
    "Node": np.int64,
    "ID": str,
    "Feature": str,
    "Split": np.float64,
    "Yes": str,
    "No": str,
    "Missing": str,
    "Gain": np.float64,
    "Cover": np.float64,
    "Category": str,
}
"""Column → type. Missing values are NaN in numeric columns and ``nan`` in string columns."""

_NOTHING: Final = "nan"


def describe_round(model: Any, number: int) -> list[str]:
    """Return all trees of a round: one, or one for each class and parallel tree.

    Args:
        model: A booster of trees.
        number: Number of the round, counted from 0.

    Returns:
        XGBoost's description of each tree, in JSON.
    """
    return _describe(model[number : number + 1])


def describe_refreshed_round(model: Any, number: int) -> list[str]:
    """Return all trees of an existing model that a round has refreshed.

    XGBoost cannot slice such a model before all of its trees are refreshed.

    Args:
        model: A booster of trees that contains those refreshed so far.
        number: Number of the last round, counted from 0.

    Returns:
        XGBoost's description of each tree, in JSON.
    """
    trees = _describe(model)
    return trees[-(len(trees) // (number + 1)) :]


def _describe(model: Any) -> list[str]:
    trees: list[str] = model.get_dump(with_stats=True, dump_format="json")
    return trees


def tree_table(trees: Sequence[str], first_tree: int) -> dict[str, Array]:
    """Convert trees to columns with one element per node, ordered by tree and node.

    Args:
        trees: XGBoost's description of each tree, in JSON.
        first_tree: Number of the first tree within the model.
    """
    rows = [
        row
        for number, tree in enumerate(trees, first_tree)
        # Not strict, because XGBoost does not escape control characters in feature names.
        for row in sorted(_rows(number, json.loads(tree, strict=False)), key=lambda row: int(row["Node"]))
    ]
    return {column: np.array([row[column] for row in rows], dtype=kind) for column, kind in COLUMNS.items()}


def _rows(tree: int, root: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.get("children", ())
        yield {
            "Tree": tree,
            "Node": node["nodeid"],
            "ID": f"{tree}-{node['nodeid']}",
            "Feature": node.get("split", "Leaf"),
            **_condition(node.get("split_condition")),
            "Yes": _node_id(tree, node.get("yes")),
            "No": _node_id(tree, node.get("no")),
            "Missing": _node_id(tree, node.get("missing")),
            "Gain": node["leaf"] if "leaf" in node else node["gain"],
            "Cover": node["cover"],
        }


def _condition(condition: Any) -> dict[str, Any]:
    """Return the columns of a split condition: a threshold, or the categories of one branch."""
    if isinstance(condition, list):
        return {"Split": np.nan, "Category": ",".join(map(str, condition))}
    return {"Split": np.nan if condition is None else condition, "Category": _NOTHING}


def _node_id(tree: int, node: int | None) -> str:
    return _NOTHING if node is None else f"{tree}-{node}"
