"""Helpers that scripts for Debugger import from ``xgboost.utils``."""

from __future__ import annotations

from typing import Any

from sagemaker_debug_ext.hooks.xgboost.trees import tree_table
from sagemaker_debug_ext.store.format.messages import Array


def parse_tree_model(booster: Any, iteration: int, fmap: str = "") -> dict[str, Array]:
    """Return one tree of a booster as columns with one element per node, ordered by node.

    Args:
        booster: A booster of trees.
        iteration: Number of the tree, counted from 0.
        fmap: File with the names of the features, in the form of XGBoost.
    """
    trees = booster.get_dump(fmap, with_stats=True, dump_format="json")
    return tree_table(trees[iteration : iteration + 1], iteration)


def is_recent() -> bool:
    """Return True: the package needs an XGBoost that is newer than all versions that scripts ask about."""
    return True
