"""TreeDepth: XGBoost trees that are too deep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView


def tree_depth(node_ids: Array) -> int | None:
    """Return the depth of a tree: the logarithm to base 2 of its largest node id, rounded down; 0 for a single leaf.

    The result is exact for complete trees. Other trees may be deeper, because nodes are numbered in the order of their
    creation. Return None if an id cannot be that of a node.
    """
    if node_ids.dtype.kind == "c":
        return None
    largest = float(np.max(to_float64(node_ids)))
    if not np.isfinite(largest) or largest < 0:
        return None
    return max(int(largest).bit_length() - 1, 0)


class TreeDepth(TensorRule):
    """An XGBoost tree is too deep.

    Checks ``trees/Node``, the node ids of the newly added tree, at every saved step. The rule fires if the depth is
    above `depth`. The depth is the logarithm to base 2 of the largest id, rounded down. It is exact for complete trees;
    other trees may be deeper.

    Parameters:
        depth: Largest accepted depth; 4 when not given.

    Example:
        >>> rule = create_rule("TreeDepth", trial, {"depth": 6})
        >>> invoke_rule(rule)
    """

    spec_name = "TreeDepth"
    is_stateless = True
    advice = "Lower max_depth, or raise min_child_weight or gamma, if the model overfits."
    selection = Selection(patterns=(r"(^|/)trees/Node$",))

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the depth of the tree."""
        depth = view.statistic(name, tree_depth)
        if depth is None:
            return None
        limit: float = self.parameters["depth"]
        return Measurement(depth, fires=depth > limit, threshold=limit, severity=depth)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return f"The tree in {describe_tensors(names)} has a depth of {first.value:g}, more than {first.threshold:g}."
