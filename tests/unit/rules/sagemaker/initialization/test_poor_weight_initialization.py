"""PoorWeightInitialization fires when the first steps show layers or gradients that are badly scaled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sagemaker_debug_ext.rules.sagemaker.initialization.poor_weight_initialization import least_spread, spread
from support.rule_trials import TRAIN, fired_at, steps_with


@pytest.mark.parametrize(("scale", "fires"), [(3, False), (4, True), (0, True)])
def test_variances_of_layers_may_differ_by_a_factor(run_rule, scale, fires):
    """A ratio of 9 between variances is tolerated, 16 is not, and a variance of 0 makes it infinite."""
    layers = {"a_relu_input": np.arange(5.0), "b_relu_input": np.arange(5.0) * scale}
    issues = run_rule("PoorWeightInitialization", {(TRAIN, 0): layers})
    assert bool(issues) == fires


def test_the_smaller_variance_is_named_first(run_rule):
    """The layer of the smaller variance is named first, and the value of the issue is the ratio."""
    layers = {"a_relu_input": np.arange(5.0) * 10, "b_relu_input": np.arange(5.0)}
    (issue,) = run_rule("PoorWeightInitialization", {(TRAIN, 0): layers})
    assert (issue.tensors, round(issue.value)) == (("b_relu_input", "a_relu_input"), 100)


@pytest.mark.parametrize(("width", "fires"), [(0.0011, False), (0.0009, True)])
def test_gradients_must_differ_within_a_tensor(run_rule, width, fires):
    """A gradient whose 5th and 95th percentiles are too close fires, if it has two elements or more."""
    gradients = {"gradient/w": np.linspace(0, width / 0.9, 21), "gradient/b": np.ones(1)}
    assert bool(run_rule("PoorWeightInitialization", {(TRAIN, 0): gradients})) == fires


@given(hnp.arrays(np.float32, st.integers(2, 40), elements=st.floats(-100, 100, width=32)))
def test_the_spread_equals_that_of_numpy(gradient):
    """The spread equals that of numpy's percentiles, and is NaN if an element is."""
    low, high = np.percentile(gradient.astype(np.float64), [5, 95])
    assert spread(gradient) == pytest.approx(high - low, rel=1e-9, abs=1e-9)
    assert math.isnan(spread(np.append(gradient, np.float32(math.nan))))


def test_a_loss_must_fall_within_the_patience(run_rule):
    """A loss that has not fallen within the patience fires, and an equal loss has not fallen."""
    issues = run_rule("PoorWeightInitialization", steps_with("loss", [5.0, 5, 5, 4, 4, 4, 4]), patience=2)
    assert fired_at(issues) == [2, 5, 6]


def test_only_the_first_saved_steps_are_looked_at(run_rule):
    """Only the first 10 saved steps are evaluated by default."""
    steps = steps_with("gradient/w", [np.zeros(3)] * 12)
    assert fired_at(run_rule("PoorWeightInitialization", steps)) == list(range(10))
    assert fired_at(run_rule("PoorWeightInitialization", steps, steps="2")) == [0, 1]


def test_nan_and_a_single_layer_never_fire(run_rule):
    """A variance of NaN and a single layer give nothing to compare, so neither fires."""
    layers = {"a_relu_input": np.array([1, math.nan]), "b_relu_input": np.ones(2)}
    assert run_rule("PoorWeightInitialization", {(TRAIN, 0): layers}) == []
    assert run_rule("PoorWeightInitialization", {(TRAIN, 0): {"a_relu_input": np.zeros(2)}}) == []


def sampled(value, others, size=4096):
    """Return a large gradient of which every other element that `least_spread` samples has another value."""
    gradient = np.full(size, others)
    gradient[:: 2 * (size // 128)] = value
    return gradient


@pytest.mark.parametrize(
    "gradient",
    [
        np.linspace(-1, 1, 2048), np.linspace(1, -1, 2048), np.repeat([0.0, 1.0], 1024), sampled(-1.0, 0.0),
        sampled(1.0, 0.0), np.random.default_rng(0).normal(size=4096) ** 3,
    ],
    ids=["rising", "falling", "halves", "low outliers", "high outliers", "heavy tails"],
)  # fmt: skip
def test_bound_of_the_spread_is_never_above_it(gradient):
    """The bound that spares computing percentiles is NaN or at most the spread."""
    bound = least_spread(gradient)
    assert math.isnan(bound) or bound <= spread(gradient)


def test_bound_of_the_spread_is_found_for_a_usual_gradient():
    """A normal distribution has a bound of a good part of its spread."""
    gradient = np.random.default_rng(0).normal(size=4096)
    assert least_spread(gradient) > 0.2 * spread(gradient)


def test_large_gradients_when_only_the_bound_is_below_the_limit_then_do_not_fire(run_rule):
    """A limit between the bound and the spread does not fire, because the spread decides."""
    gradient = np.random.default_rng(0).normal(size=4096)
    limit = (least_spread(gradient) + spread(gradient)) / 2
    assert run_rule("PoorWeightInitialization", steps_with("gradient/w", [gradient]), distribution_range=limit) == []


def test_large_layers_when_their_variances_differ_then_fire_with_the_exact_ratio(run_rule):
    """The value of an issue is the ratio of the variances themselves, not of bounds of them."""
    rng = np.random.default_rng(0)
    layers = {"a_relu_input": rng.normal(size=(64, 64)), "b_relu_input": 10 * rng.normal(size=(64, 64))}
    (issue,) = run_rule("PoorWeightInitialization", {(TRAIN, 0): layers})
    assert issue.value == pytest.approx(np.var(layers["b_relu_input"]) / np.var(layers["a_relu_input"]), rel=1e-12)
