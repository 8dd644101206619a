"""AllZero fires when the share of zeros in a tensor reaches its threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sagemaker_debug_ext.rules.sagemaker.tensors.all_zero import zero_percent
from support.rule_trials import TRAIN, steps_with


@pytest.mark.parametrize(("threshold", "fires"), [(50, True), ("50.0", True), (50.1, False), (0, True)])
def test_share_of_zeros_when_at_the_threshold_then_fires(run_rule, threshold, fires):
    """A share of zeros fires from the threshold on."""
    issues = run_rule("AllZero", steps_with("x", [np.array([0, 0, 1, 2])]), tensor_regex="x", threshold=threshold)
    assert [issue.value for issue in issues] == ([50] if fires else [])


def test_minus_zero_is_zero_and_tiny_numbers_are_not():
    """The comparison with 0 is exact, and NaN is not 0."""
    assert zero_percent(np.array([-0.0, 0.0, 5e-324, np.nan])) == 50


def test_collections_and_patterns_are_united(run_rule):
    """A tensor is selected by a collection or by a pattern, and the one with most zeros is named first."""
    steps = {(TRAIN, 0): {"gradient/a": np.array([0, 1]), "b": np.zeros(2), "c": np.zeros(2)}}
    (issue,) = run_rule("AllZero", steps, collection_names="gradients", tensor_regex="^b", threshold=50)
    assert issue.tensors == ("b", "gradient/a")


@given(hnp.arrays(np.float64, st.integers(1, 8), elements=st.sampled_from([0.0, -0.0, 1.0, np.nan, np.inf])))
def test_share_of_zeros_equals_that_of_a_naive_loop(value):
    """The share of zeros equals a count element by element."""
    assert zero_percent(value) == 100 * sum(element == 0 for element in value.tolist()) / len(value)
