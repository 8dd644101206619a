"""Rules that run_rule one tensor by itself: the limits, and what is measured."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.inference.statistics import variance
from sagemaker_debug_ext.rules.sagemaker.all_zero import zero_percent
from sagemaker_debug_ext.rules.sagemaker.nlp_sequence_ratio import token_percent
from sagemaker_debug_ext.rules.sagemaker.saturated_activation import activation_of
from sagemaker_debug_ext.rules.sagemaker.tree_depth import tree_depth
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN = ModeKeys.TRAIN


def at_once(*values, name="x"):
    return {(TRAIN, step): {name: value} for step, value in enumerate(values)}


class TestAllZero:
    @pytest.mark.parametrize(("threshold", "fires"), [(50, True), ("50.0", True), (50.1, False), (0, True)])
    def test_the_threshold_itself_fires(self, run_rule, threshold, fires):
        """At least that share of zeros."""
        issues = run_rule("AllZero", at_once(np.array([0, 0, 1, 2])), tensor_regex="x", threshold=threshold)
        assert [issue.value for issue in issues] == ([50] if fires else [])

    def test_minus_zero_is_zero_and_tiny_numbers_are_not(self):
        """The comparison is exact, NaN is not 0."""
        assert zero_percent(np.array([-0.0, 0.0, 5e-324, np.nan])) == 50

    def test_collections_and_patterns_are_united(self, run_rule):
        """The worst tensor is named first."""
        steps = {(TRAIN, 0): {"gradient/a": np.array([0, 1]), "b": np.zeros(2), "c": np.zeros(2)}}
        (issue,) = run_rule("AllZero", steps, collection_names="gradients", tensor_regex="^b", threshold=50)
        assert issue.tensors == ("b", "gradient/a")


class TestTensorVariance:
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
    def test_variance_on_a_limit_is_within_it(self, run_rule, limits, fires):
        """The population variance of 0 and 2 is 1."""
        assert bool(run_rule("TensorVariance", at_once(self.VALUE), tensor_regex="x", **limits)) == fires

    def test_half_precision_does_not_overflow(self):
        """Statistics are computed in double precision."""
        assert variance(np.array([60000, -60000], np.float16)) == 60000.0**2

    def test_a_single_element_has_no_variance(self, run_rule):
        """A scalar is never too steady."""
        assert run_rule("TensorVariance", at_once(1.0), tensor_regex="x", min_threshold=1) == []

    def test_a_saved_variance_does_instead_of_the_value(self, run_rule):
        """Where a hook saved reductions only."""
        steps = at_once(np.array(9.0), name=reduction_tensor_name("variance", False, "x"))
        (issue,) = run_rule("TensorVariance", steps, tensor_regex="x", max_threshold=8)
        assert (issue.value, issue.tensors) == (9, ("x",))


class TestSaturatedActivation:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [("tanh_input", "tanh"), ("Sigmoid_input", "sigmoid"), ("sigmoid_tanh_input", "tanh"), ("relu_input", None),
         ("tanh1_sigmoid_input", "sigmoid")],
    )  # fmt: skip
    def test_the_last_word_tells_the_function(self, name, kind):
        """Names of layers contain names of others."""
        assert activation_of(name) == kind

    @pytest.mark.parametrize(
        ("name", "value", "fires"),
        [
            ("tanh_input", 9.4999, True), ("tanh_input", 9.49, False), ("tanh_input", -9.4999, True),
            ("sigmoid_input", 16.99999, True), ("sigmoid_input", 16.9, False),
            ("sigmoid_input", -23.0, True), ("sigmoid_input", -22.9, False), ("sigmoid_input", -17.5, False),
        ],
    )  # fmt: skip
    def test_a_value_on_the_limit_is_saturated(self, run_rule, name, value, fires):
        """The limits differ by function, and for sigmoid by side."""
        assert bool(run_rule("SaturatedActivation", at_once(np.full((4, 2), value), name=name))) == fires

    @pytest.mark.parametrize(("saturated", "fires"), [(5, False), (6, True)])
    def test_exactly_half_of_the_nodes_is_tolerated(self, run_rule, saturated, fires):
        """More than `threshold_layer` percent fire."""
        inputs = np.zeros((10, 10))
        inputs[:, :saturated] = 100
        assert bool(run_rule("SaturatedActivation", at_once(inputs, name="tanh_input"))) == fires

    def test_a_collection_alone_replaces_the_default_pattern(self, run_rule):
        """Both given unite."""
        steps = {(TRAIN, 0): {"tanh_input": np.full((4, 2), 50), "gradient/tanh": np.full((4, 2), 50)}}
        (issue,) = run_rule("SaturatedActivation", steps, collection_names="gradients")
        assert issue.tensors == ("gradient/tanh",)
        (issue,) = run_rule("SaturatedActivation", steps, collection_names="gradients", tensor_regex="tanh_input")
        assert issue.tensors == ("gradient/tanh", "tanh_input")

    def test_one_sample_gives_no_verdict(self, run_rule):
        """As in DeadRelu."""
        assert run_rule("SaturatedActivation", at_once(np.full((1, 9), 50), name="tanh_input")) == []


class TestCheckInputImages:
    def test_the_verdict_waits_for_enough_images_and_uses_all_of_them(self, run_rule):
        """The step that reaches the number is evaluated."""
        steps = at_once(np.full((2, 1, 2, 2), 9.0), np.full((2, 1, 2, 2), -9.0), np.full((2, 1, 2, 2), 3.0))
        issues = run_rule("CheckInputImages", steps, regex="x", threshold_samples=4)
        assert [(issue.step, issue.value) for issue in issues] == [(2, 1.0)]

    @pytest.mark.parametrize(("mean", "fires"), [(0.25, False), (0.26, True), (-0.26, True)])
    def test_any_channel_may_fire_and_the_threshold_is_tolerated(self, run_rule, mean, fires):
        """The sign does not matter."""
        images = np.zeros((2, 3, 2, 2))
        images[:, 1] = mean
        issues = run_rule("CheckInputImages", at_once(images), regex="x", threshold_samples=1, threshold_mean=0.25)
        assert bool(issues) == fires

    def test_the_channel_may_be_the_last_axis(self, run_rule):
        """Counted from either end."""
        images = np.zeros((2, 4, 4, 3))
        images[..., 2] = 1
        for channel in (3, -1):
            (issue,) = run_rule("CheckInputImages", at_once(images), regex="x", threshold_samples=1, channel=channel)
            assert issue.value == 1
        assert run_rule("CheckInputImages", at_once(images), regex="x", threshold_samples=1, channel=7) == []

    def test_the_batch_is_no_channel(self, run_rule):
        """Axis 0 is refused."""
        with pytest.raises(SMDebugValueError, match="'channel'"):
            run_rule("CheckInputImages", at_once(np.ones(2)), channel=0)


class TestNLPSequenceRatio:
    def test_exactly_the_threshold_is_tolerated(self, run_rule):
        """Strictly more fires."""
        steps = at_once(np.array([[0, 0, 5, 6]]), np.array([[0, 0, 0, 6]]))
        issues = run_rule("NLPSequenceRatio", steps, tensor_regex="x")
        assert [(issue.step, issue.value, issue.threshold) for issue in issues] == [(1, 75, 50)]

    def test_each_token_has_its_threshold(self, run_rule):
        """As text or typed."""
        tokens = np.array([1, 2, 2, 3])
        given = {"tensor_regex": "x", "token_values": "1,2", "token_thresholds_percent": [20, 60]}
        (issue,) = run_rule("NLPSequenceRatio", at_once(tokens), **given)
        assert (issue.value, issue.threshold) == (25, 20)

    def test_lists_of_different_length_are_refused(self, run_rule):
        """They belong together."""
        with pytest.raises(SMDebugValueError, match="same length"):
            run_rule("NLPSequenceRatio", at_once(1), token_values="1,2")

    def test_shares_are_of_all_elements(self):
        """Whatever the shape."""
        assert token_percent(np.array([[7, 7], [7, 0]]), 7) == 75


class TestTreeDepth:
    @pytest.mark.parametrize(
        ("last_id", "depth"), [(0, 0), (1, 0), (2, 1), (3, 1), (6, 2), (30, 4), (31, 4), (32, 5), (62, 5)]
    )
    def test_depth_follows_from_the_largest_id(self, last_id, depth):
        """The logarithm to base 2, rounded down."""
        assert tree_depth(np.arange(last_id + 1)) == depth

    def test_a_full_tree_of_the_accepted_depth_does_not_fire(self, run_rule):
        """Ids up to 30 are a tree of depth 4."""
        steps = at_once(np.arange(31), np.arange(63), name="trees/Node")
        assert [issue.step for issue in run_rule("TreeDepth", steps)] == [1]
        assert run_rule("TreeDepth", steps, depth="5") == []

    def test_only_node_ids_are_looked_at(self, run_rule):
        """Not other columns, nor names that merely contain the words."""
        steps = {(TRAIN, 0): {"trees/ID": np.arange(99), "my_trees/Nodes": np.arange(99)}}
        assert run_rule("TreeDepth", steps) == []


@given(hnp.arrays(np.float64, st.integers(1, 8), elements=st.sampled_from([0.0, -0.0, 1.0, np.nan, np.inf])))
def test_share_of_zeros_equals_that_of_a_naive_loop(value):
    """Counting by hand."""
    assert zero_percent(value) == 100 * sum(each == 0 for each in value.tolist()) / len(value)
