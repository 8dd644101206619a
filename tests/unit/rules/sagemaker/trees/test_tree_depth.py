"""TreeDepth fires when a tree is deeper than the limit."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.sagemaker.trees.tree_depth import tree_depth
from support.rule_trials import TRAIN, steps_with


@pytest.mark.parametrize(
    ("last_id", "depth"), [(0, 0), (1, 0), (2, 1), (3, 1), (6, 2), (30, 4), (31, 4), (32, 5), (62, 5)]
)
def test_depth_follows_from_the_largest_id(last_id, depth):
    """The depth is the logarithm to base 2 of the largest node id plus one, rounded down."""
    assert tree_depth(np.arange(last_id + 1)) == depth


def test_a_full_tree_of_the_accepted_depth_does_not_fire(run_rule):
    """A tree of exactly the accepted depth does not fire, and one level more does."""
    steps = steps_with("trees/Node", [np.arange(31), np.arange(63)])
    assert [issue.step for issue in run_rule("TreeDepth", steps)] == [1]
    assert run_rule("TreeDepth", steps, depth="5") == []


def test_only_node_ids_are_looked_at(run_rule):
    """Other columns of tree tables, and names that merely contain the words, are ignored."""
    steps = {(TRAIN, 0): {"trees/ID": np.arange(99), "my_trees/Nodes": np.arange(99)}}
    assert run_rule("TreeDepth", steps) == []
