"""DeadRelu fires when more units of a ReLU than the threshold are hardly ever active."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.reading.tensor_roles import KERAS, Role
from sagemaker_debug_ext.rules.recommended import recommended_parameters
from sagemaker_debug_ext.rules.sagemaker.layers.dead_relu import dead_percent, unit_activity_percent
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.format.keys import program_key, reduction_tensor_name
from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import EVAL, KERAS_COLLECTIONS, TRAIN


def layer(units: int, dead: int, samples: int = 4) -> np.ndarray:
    """Return the output of a layer of which some units never are positive."""
    output = np.ones((samples, units), np.float32)
    output[:, :dead] = 0
    return output


def test_activity_is_counted_per_position_over_the_batch():
    """Axis 0 is the batch, and each position of the other axes is a unit."""
    output = np.zeros((4, 2, 3, 3))
    output[:3, 1] = 5
    activity = unit_activity_percent(output)
    assert activity.shape == (2, 3, 3)
    assert set(activity[0].flat) == {0}
    assert set(activity[1].flat) == {75}


def test_a_tensor_of_one_axis_is_one_unit():
    """The elements of a tensor of one axis are samples of one unit."""
    assert unit_activity_percent(np.array([0, 0, 0, 1.0])) == 25


@pytest.mark.parametrize("output", [np.array(1.0), np.ones((1, 5)), np.ones(1)])
def test_fewer_than_two_samples_give_no_activity(output):
    """A single sample gives no activity, because it cannot tell a dead unit from an idle one."""
    assert unit_activity_percent(output) is None


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=3, min_side=2, max_side=4)), st.floats(0, 100))
def test_decision_equals_that_of_a_naive_loop(output, threshold):
    """The share of dead units equals a count unit by unit."""
    samples = output.shape[0]
    units = output.reshape(samples, -1)
    dead = 0
    for unit in range(units.shape[1]):
        active = sum(1 for sample in range(samples) if units[sample, unit] > 0)
        dead += 100.0 * active / samples < threshold
    assert dead_percent(unit_activity_percent(output), threshold) == 100.0 * dead / units.shape[1]


@pytest.mark.parametrize(("dead", "fires"), [(5, False), (6, True), (10, True), (0, False)])
def test_more_than_half_of_the_units_dead_fires_by_default(run_rule, dead, fires):
    """More than half of the units dead fires by default, and exactly half does not."""
    issues = run_rule("DeadRelu", {(TRAIN, 0): {"net_relu_output_0": layer(10, dead)}})
    assert [issue.value for issue in issues] == ([10.0 * dead] if fires else [])


@pytest.mark.parametrize(("active_samples", "fires"), [(1, False), (0, True)])
def test_a_unit_active_for_exactly_the_threshold_lives(run_rule, active_samples, fires):
    """A unit that is active for exactly the threshold of samples is not dead."""
    output = np.zeros((100, 3))
    output[:active_samples] = 1
    assert bool(run_rule("DeadRelu", {(TRAIN, 0): {"relu_output": output}})) == fires


def test_the_worst_layer_is_named_first(run_rule):
    """Several layers make one issue, which names the layer with most dead units first."""
    tensors = {"a_relu_output": layer(10, 6), "b_relu_output": layer(10, 9), "c_relu_output": layer(10, 1)}
    (issue,) = run_rule("DeadRelu", {(EVAL, 3): tensors})
    assert issue.tensors == ("b_relu_output", "a_relu_output")
    assert (issue.value, issue.threshold, issue.mode, issue.mode_step) == (90, 50, EVAL, 3)


@pytest.mark.parametrize(
    ("parameters", "fires_at"),
    [
        ({}, [0]),
        ({"tensor_regex": "gelu"}, [1]),
        ({"tensor_regex": ["gelu", "relu"]}, [0, 1]),
        ({"tensor_regex": "gelu,relu", "threshold_layer": "85"}, [1]),
        ({"threshold_layer": 100}, []),
        ({"threshold_inactivity": 0}, []),
    ],
)
def test_parameters_choose_layers_and_limits(run_rule, parameters, fires_at):
    """Parameters choose layers and limits, as typed values or as text."""
    steps = {(TRAIN, 0): {"relu_output": layer(10, 8)}, (TRAIN, 1): {"gelu_output": layer(10, 9)}}
    assert [issue.step for issue in run_rule("DeadRelu", steps, **parameters)] == fires_at


@pytest.mark.parametrize(
    "value",
    [np.zeros((0, 4)), np.zeros((4, 0)), np.array(["a", "b"]), np.zeros((1, 4))],
    ids=["no samples", "no units", "text", "one sample"],
)
def test_tensors_that_cannot_be_evaluated_do_not_fire(run_rule, value):
    """Empty tensors, texts and single samples give no verdict."""
    assert run_rule("DeadRelu", {(TRAIN, 0): {"relu_output": value}}) == []


def test_nan_is_not_a_positive_output(run_rule):
    """A unit whose outputs are all NaN counts as dead."""
    assert len(run_rule("DeadRelu", {(TRAIN, 0): {"relu_output": np.full((4, 4), np.nan)}})) == 1


def test_a_trial_of_reductions_gives_no_verdict(run_rule):
    """Reductions give no verdict, because they do not tell the share of dead units."""
    assert run_rule("DeadRelu", {(TRAIN, 0): {reduction_tensor_name("max", False, "relu_output"): np.array(0.0)}}) == []


def test_a_layer_without_relu_gives_no_verdict_on_dead_units(make_trial):
    """A layer without ReLU is skipped, also where many steps are screened together."""
    outputs, kernel = np.array([[-1.0, 2.0], [3.0, -4.0]]), np.eye(2)
    steps = {(TRAIN, step): {"dense/outputs": outputs, "dense/weights/dense/kernel:0": kernel} for step in range(2)}
    trial = make_trial(steps, collections=KERAS_COLLECTIONS)
    rule = create_rule("DeadRelu", trial, {"tensor_regex": KERAS.patterns[Role.RELU_OUTPUT]})
    evaluation = evaluate([rule], trial)
    assert evaluation.run() == []
    assert [(status.num_steps, status.num_skipped) for status in evaluation.statuses] == [(0, 2)]


def test_with_several_workers_the_first_is_read(tmp_path, run_rule):
    """Values of the second worker are not read."""
    job = SmallTrial(tmp_path, workers=("worker_0", "worker_1"))
    job.write(TRAIN, 0, {"relu_output": layer(4, 0)}, global_step=0, worker="worker_0")
    job.write(TRAIN, 0, {"relu_output": layer(4, 4)}, global_step=0, worker="worker_1")
    job.end()
    assert run_rule("DeadRelu", create_trial(str(tmp_path))) == []


@pytest.mark.parametrize(("kind", "fires"), [("ReLU", True), ("Linear", False)])
def test_layer_whose_name_is_a_number_when_the_record_tells_its_class_then_it_is_checked(tmp_path, kind, fires):
    """Layers of a `Sequential` have no names, but the hook has recorded their classes."""
    job = SmallTrial(tmp_path)
    job.write(TRAIN, 0, {"1_output_0": layer(4, 4), "11_output_0": layer(4, 4)})
    record = ProgramRecord(framework="PyTorch", layers=(LayerRecord(name="1", type=kind),))
    LocalBackend(str(tmp_path)).write(program_key("worker_0"), (record.to_json().encode(),))
    job.end()
    trial = create_trial(str(tmp_path))
    rule = create_rule("DeadRelu", trial, recommended_parameters(trial)["DeadRelu"])
    assert [issue.tensors for issue in evaluate([rule], trial)] == ([("1_output_0",)] if fires else [])
