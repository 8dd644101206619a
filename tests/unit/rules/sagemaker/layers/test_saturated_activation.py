"""SaturatedActivation fires when too many units of tanh or sigmoid are saturated."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.recommended import recommended_parameters
from sagemaker_debug_ext.rules.sagemaker.layers.saturated_activation import activation_of
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.format.keys import program_key
from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import TRAIN, steps_with


@pytest.mark.parametrize(
    ("name", "kind"),
    [("tanh_input", "tanh"), ("Sigmoid_input", "sigmoid"), ("sigmoid_tanh_input", "tanh"), ("relu_input", None),
     ("tanh1_sigmoid_input", "sigmoid")],
)  # fmt: skip
def test_the_last_function_in_a_name_is_the_layers(name, kind):
    """The function is that which the name mentions last, because names of layers contain those of others."""
    assert activation_of(name) == kind


@pytest.mark.parametrize(
    ("name", "value", "fires"),
    [
        ("tanh_input", 9.4999, True), ("tanh_input", 9.49, False), ("tanh_input", -9.4999, True),
        ("sigmoid_input", 16.99999, True), ("sigmoid_input", 16.9, False),
        ("sigmoid_input", -23.0, True), ("sigmoid_input", -22.9, False), ("sigmoid_input", -17.5, False),
    ],
)  # fmt: skip
def test_a_value_on_the_limit_is_saturated(run_rule, name, value, fires):
    """A value on the limit is saturated, and limits differ by function and, for sigmoid, by sign."""
    assert bool(run_rule("SaturatedActivation", steps_with(name, [np.full((4, 2), value)]))) == fires


@pytest.mark.parametrize(("saturated", "fires"), [(5, False), (6, True)])
def test_exactly_half_of_the_nodes_is_tolerated(run_rule, saturated, fires):
    """More saturated units than `threshold_layer` percent fire, exactly as many do not."""
    inputs = np.zeros((10, 10))
    inputs[:, :saturated] = 100
    assert bool(run_rule("SaturatedActivation", steps_with("tanh_input", [inputs]))) == fires


def test_a_collection_alone_replaces_the_default_pattern(run_rule):
    """A collection replaces the default pattern, and is united with a pattern that is given."""
    steps = {(TRAIN, 0): {"tanh_input": np.full((4, 2), 50), "gradient/tanh": np.full((4, 2), 50)}}
    (issue,) = run_rule("SaturatedActivation", steps, collection_names="gradients")
    assert issue.tensors == ("gradient/tanh",)
    (issue,) = run_rule("SaturatedActivation", steps, collection_names="gradients", tensor_regex="tanh_input")
    assert issue.tensors == ("gradient/tanh", "tanh_input")


def test_one_sample_gives_no_verdict(run_rule):
    """A single sample gives no verdict, because it cannot tell a saturated unit from a busy one."""
    assert run_rule("SaturatedActivation", steps_with("tanh_input", [np.full((1, 9), 50)])) == []


@pytest.mark.parametrize(("kind", "fires"), [("Tanh", True), ("Sigmoid", False), ("Linear", False)])
def test_layer_whose_name_is_a_number_when_the_record_tells_its_class_then_it_has_its_limits(tmp_path, kind, fires):
    """An input of 8 saturates tanh, and not a sigmoid."""
    job = SmallTrial(tmp_path)
    job.write(TRAIN, 0, {"a.1_input_0": np.full((4, 2), 8.0)})
    record = ProgramRecord(framework="PyTorch", layers=(LayerRecord(name="a.1", type=kind),))
    LocalBackend(str(tmp_path)).write(program_key("worker_0"), (record.to_json().encode(),))
    job.end()
    trial = create_trial(str(tmp_path))
    rule = create_rule("SaturatedActivation", trial, recommended_parameters(trial)["SaturatedActivation"])
    assert [issue.tensors for issue in evaluate([rule], trial)] == ([("a.1_input_0",)] if fires else [])
