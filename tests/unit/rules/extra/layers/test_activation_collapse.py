"""ActivationCollapse fires when the output of a layer is nearly the same for all samples."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.inference.statistics import variation
from support.rule_trials import fired_at, first_cause, steps_of, steps_with

RNG = np.random.default_rng(0)


def test_outputs_that_do_not_depend_on_the_sample_fire(run_rule):
    """Outputs that are equal for all samples fire after three steps in a row."""
    same, varied = np.tile(RNG.normal(size=6), (8, 1)), RNG.normal(size=(8, 6))
    issues = run_rule("ActivationCollapse", steps_with("fc_output_0", [same, same, varied, same, same, same]))
    assert fired_at(issues) == [5]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (np.zeros((4, 2)), 0.0),
        (np.ones((3, 2)), None),
        (np.arange(8).reshape(4, 2), None),
        (np.full((4, 2), np.nan), None),
        (np.array([[1.0], [np.inf], [2.0], [3.0]]), None),
    ],
)
def test_variation_needs_samples_and_real_numbers(output, expected):
    """Three samples, whole numbers, NaN and infinities have no variation, and an output of 0 has the variation 0."""
    assert variation(output) == expected


@pytest.mark.parametrize("size", [1, 48])
def test_outputs_that_hold_nan_do_not_fire(run_rule, size):
    """NaN is no collapse; NonFiniteOrigin reports it."""
    output = RNG.normal(size=(8, 6))
    output.flat[:size] = np.nan
    assert run_rule("ActivationCollapse", steps_with("fc_output_0", [output] * 4)) == []


@pytest.mark.parametrize(("spread", "fires"), [(0.0009, True), (0.0011, False)])
def test_variation_when_below_the_threshold_then_fires(run_rule, spread, fires):
    """A variation below 0.001 fires, and one just above it does not."""
    output = 1 + spread * np.where(np.arange(8) % 2, 1.0, -1.0)[:, None] * np.ones(6)
    assert bool(run_rule("ActivationCollapse", steps_with("fc_output_0", [output] * 3))) == fires


@pytest.mark.parametrize(("given_differs", "answers_differ", "fires"), [(0, 1, 0), (1, 1, 1), (0, 0, 1)])
def test_layers_with_constant_inputs_do_not_fire_while_predictions_differ(
    run_rule, given_differs, answers_differ, fires
):
    """A layer whose input is constant, such as a first recurrent state, is tolerated while predictions differ."""
    varied = np.random.default_rng(0).normal(size=(8, 4))
    same = np.tile(varied[:1], (8, 1))
    tensors = {
        "again_input_0": varied if given_differs else same,
        "again_output_0": same,
        "MSELoss_input_0": varied if answers_differ else same,
    }
    assert bool(run_rule("ActivationCollapse", steps_of([tensors] * 4))) == bool(fires)


@pytest.mark.parametrize(("spread", "fires"), [(1.0, False), (1e-4, True)])
def test_outputs_may_lie_far_from_zero(run_rule, spread, fires):
    """Outputs are compared without the bias, so they may lie far from 0."""
    output = 5000 + spread * np.random.default_rng(0).normal(size=(16, 1))
    tensors = {"head_output_0": output, "Net_output_0": output}
    tensors |= {"Net_head.weight": np.ones((1, 4)), "Net_head.bias": np.array([5000.0 - 3])}
    assert bool(run_rule("ActivationCollapse", steps_of([tensors] * 4))) == fires


def steps_of_layers(changes):
    varied = RNG.normal(size=(8, 6))
    same = np.tile(varied[:1], (8, 1))
    usual = {"Net_input_0": varied, "fc_input_0": varied, "fc_output_0": varied, "Net_fc.weight": np.ones((6, 6))}
    return steps_of([{**usual, **changes(step, varied, same)} for step in range(6)])


@pytest.mark.parametrize(
    ("since", "cause"),
    [(0, "dead units"), (2, "dead units")],
)
def test_a_layer_without_weights_that_makes_all_the_same_is_dead(run_rule, since, cause):
    """The cause is dead units if an activation gives equal outputs, and the message says since when."""
    issues = run_rule(
        "ActivationCollapse",
        steps_of_layers(lambda step, x, same: {"gelu_input_0": x, "gelu_output_0": same * 0 if step >= since else x}),
    )
    assert first_cause(issues) == cause
    assert ("since the first step" in issues[0].message) == (since == 0)


@pytest.mark.parametrize(
    ("name", "shape", "given", "value", "cause"),
    [
        ("scores", (8, 6, 1), 0.0, 1.0, "axes"),
        ("scores", (8, 6, 1), 50.0, 1.0, "dead units"),
        ("scores", (8, 6, 1), 0.0, 0.5, "dead units"),
        ("scores", (8, 6), 0.0, 1.0, "dead units"),
        ("Net", (8, 6, 1), 0.0, 1.0, "initialisation"),
    ],
    ids=["one entry", "a sigmoid", "another value", "several entries", "the whole model"],
)
def test_a_softmax_over_an_axis_with_one_entry_takes_the_wrong_axis(run_rule, name, shape, given, value, cause):
    """All its weights are 1, so that nothing is attended to."""
    varied = given + RNG.normal(size=shape)
    tensors = {f"{name}_input_0": varied, f"{name}_output_0": np.full(shape, value)}
    assert first_cause(run_rule("ActivationCollapse", steps_of_layers(lambda *_: tensors))) == cause


def test_a_layer_that_lets_hardly_anything_through_is_dead(run_rule):
    """An activation that lets less than 1e-8 of its input through is dead, even if its outputs differ."""
    for share, cause in ((1e-9, "dead units"), (1e-5, "initialisation")):
        issues = run_rule(
            "ActivationCollapse",
            steps_of_layers(
                lambda _, x, same, share=share: {
                    "silu_input_0": x,
                    "silu_output_0": share * x,
                    "fc2_input_0": share * x,
                    "fc2_output_0": same,
                    "Net_fc2.weight": np.ones((6, 6)),
                }
            ),
        )
        assert first_cause(issues) == cause


def test_cause_when_samples_become_equal_between_layers_then_is_the_architecture(run_rule):
    """The cause is the architecture if an input is constant that no layer has given, as a mean over the batch."""

    def pooled(_, __, same):
        return {"head_input_0": same + 1, "head_output_0": same, "Net_head.weight": np.ones((6, 6))}

    def handed_on(_, __, same):
        return {"head_input_0": same, "head_output_0": same, "Net_head.weight": np.ones((6, 6))}

    assert first_cause(run_rule("ActivationCollapse", steps_of_layers(pooled))) == "architecture"
    assert first_cause(run_rule("ActivationCollapse", steps_of_layers(handed_on))) == "initialisation"


def test_attention_that_sees_nothing_of_its_samples_is_named(run_rule):
    """The cause is the architecture if attention gives equal outputs for inputs that differ."""
    issues = run_rule(
        "ActivationCollapse",
        steps_of_layers(lambda _, x, same: {"self_attn_input_0": x, "self_attn_output_0": same}),
    )
    assert first_cause(issues) == "architecture"


def test_a_layer_that_is_made_of_others_is_not_dead_itself(run_rule):
    """A module of several layers does not count as dead, because the layers in it have the cause."""
    issues = run_rule(
        "ActivationCollapse",
        steps_of_layers(lambda _, x, same: {"Net_output_0": same, "fc_output_0": same}),
    )
    assert first_cause(issues) == "initialisation"


@pytest.mark.parametrize("begins_varied", [True, False])
def test_layer_when_its_inputs_differ_then_is_named_before_those_that_follow_it(run_rule, begins_varied):
    """The model, which contains it, is not; units that answered before have died."""
    varied, same = RNG.normal(size=(8, 4)), np.zeros((8, 4))

    def step_with(output):
        parts = {"block.fc_input_0": varied, "block.fc_output_0": varied, "block_input_0": varied}
        later = {"block_output_0": output, "after_input_0": output, "after_output_0": output}
        return {"Net_input_0": varied, "Net_output_0": output, "Net_block.fc.weight": np.ones((4, 4)), **parts, **later}

    steps = [step_with(varied)] * 3 * begins_varied + [step_with(same)] * 3
    issues = run_rule("ActivationCollapse", steps_of(steps))
    assert issues[0].tensors[0] == "block_output_0"
    assert first_cause(issues) == ("dead units" if begins_varied else "initialisation")
