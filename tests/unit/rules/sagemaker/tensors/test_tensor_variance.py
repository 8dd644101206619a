"""TensorVariance fires when the variance of a tensor is above or below a limit."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from support.rule_trials import steps_with

VALUE = np.array([0.0, 2.0])


@pytest.mark.parametrize(
    ("limits", "fires"),
    [
        ({"max_threshold": 1}, False),
        ({"max_threshold": 0.99}, True),
        ({"min_threshold": "1.0"}, False),
        ({"min_threshold": 1.01}, True),
        ({"max_threshold": 2, "min_threshold": 0.5}, False),
        ({}, False),
    ],
)
def test_variance_on_a_limit_is_within_it(run_rule, limits, fires):
    """A variance on a limit does not fire, one beyond it does, and without limits nothing does."""
    assert bool(run_rule("TensorVariance", steps_with("x", [VALUE]), tensor_regex="x", **limits)) == fires


def test_a_single_element_has_no_variance(run_rule):
    """A scalar has no variance, so it is never below the minimum."""
    assert run_rule("TensorVariance", steps_with("x", [1.0]), tensor_regex="x", min_threshold=1) == []


def test_a_saved_variance_is_used_without_the_value(run_rule):
    """A variance that the hook saved as a reduction is used when there is no value."""
    steps = steps_with(reduction_tensor_name("variance", False, "x"), [np.array(9.0)])
    (issue,) = run_rule("TensorVariance", steps, tensor_regex="x", max_threshold=8)
    assert (issue.value, issue.tensors) == (9, ("x",))
