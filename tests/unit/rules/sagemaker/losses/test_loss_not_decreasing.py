"""LossNotDecreasing fires when a loss has not fallen enough over a number of steps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import InsufficientInformationForRuleInvocation, SMDebugValueError
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.sagemaker.losses.loss_not_decreasing import (
    change_percent,
    is_not_decreasing,
    reference_step,
)
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import EVAL, GLOBAL, PREDICT, TRAIN

NAN, INF = math.nan, math.inf


def losses(values, mode=TRAIN, interval=1):
    """Return the steps of a trial with one loss."""
    return {(mode, interval * number): {"loss": float(value)} for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("current", "reference", "change"),
    [(90, 100, -10), (105, 100, 5), (-90, -100, 10), (1, 0, INF), (-1, 0, -INF), (0, 0, 0)],
)
def test_change_is_relative_to_the_size_of_the_reference(current, reference, change):
    """The change is relative to the absolute value of the reference, and from 0 every change is infinite."""
    assert change_percent(current, reference) == change


@pytest.mark.parametrize(
    ("current", "reference", "fires"),
    [
        (99.89, 100, False),
        (0.75, 1, False),
        (99.95, 100, True),
        (100, 100, True),
        (104.9, 100, False),
        (105, 100, False),
        (105.1, 100, True),
        (NAN, 100, True),
        (INF, 100, True),
        (-INF, 100, True),
        (1, NAN, False),
        (1, INF, False),
        (1, -INF, False),
        (1, 0, True),
        (0, 0, True),
        (-1, 0, False),
        (-101, -100, False),
        (-94, -100, True),
    ],
)
def test_verdict_tolerates_a_small_rise_and_no_standstill(current, reference, fires):
    """A loss that is not finite fires, a reference that is not finite does not, and the limits are strict."""
    assert is_not_decreasing(current, reference, diff_percent=0.1, increase_percent=5.0) == fires


@given(st.lists(st.integers(0, 60), unique=True, max_size=20).map(sorted), st.integers(0, 60), st.integers(1, 20))
def test_reference_is_the_newest_step_far_enough_back(saved, step, num_steps):
    """The reference step equals that of a search through all steps."""
    far_enough = [saved_step for saved_step in saved if saved_step <= step - num_steps]
    assert reference_step(saved, step, num_steps) == (max(far_enough) if far_enough else None)


def test_checks_of_a_loss_saved_every_three_steps_are_twelve_apart(run_rule):
    """A loss saved every 3 steps is checked every 12 steps with `num_steps` 10, each time against the check before."""
    issues = run_rule("LossNotDecreasing", losses([1] * 14, interval=3))
    assert [issue.mode_step for issue in issues] == [12, 24, 36]
    assert [issue.step for issue in issues] == [4, 8, 12]
    assert "(step 12)" in issues[1].message


@pytest.mark.parametrize(
    ("values", "fires"),
    [([100, 99.89], False), ([100, 99.91], True), ([100, 104], False), ([100, 106], True), ([100, NAN], True)],
)
def test_decrease_and_increase_are_evaluated_by_their_own_parameters(run_rule, values, fires):
    """By default a fall of 0.1 % is required, or a rise of no more than 5 %."""
    assert bool(run_rule("LossNotDecreasing", losses(values, interval=10))) == fires


@pytest.mark.parametrize(
    ("parameters", "fires"),
    [
        ({"diff_percent": "2", "increase_threshold_percent": "5"}, True),
        ({"diff_percent": 0.5}, False),
        ({"num_steps": 11}, False),
        ({"mode": "EVAL"}, False),
        ({"mode": "TRAIN", "diff_percent": 2}, True),
    ],
)
def test_parameters_set_the_limits(run_rule, parameters, fires):
    """Parameters decide whether a fall of 1 % is enough, and in which mode it is measured."""
    assert bool(run_rule("LossNotDecreasing", losses([100, 99], interval=10), **parameters)) == fires


def test_issue_says_from_where_to_where(run_rule):
    """The value of an issue is the change in percent, and its threshold the limit that was not kept."""
    fallen, risen = (run_rule("LossNotDecreasing", losses(values, interval=10))[0] for values in ([2, 2], [2, 3]))
    assert (fallen.value, fallen.threshold) == (0, -0.1)
    assert (risen.value, risen.threshold) == (50, 5)
    assert "from 2 (step 0) to 3" in risen.message
    assert risen.worker == "worker_0"
    assert "a finite loss was expected" in run_rule("LossNotDecreasing", losses([2, NAN], interval=10))[0].message


def test_the_largest_rise_is_named_first(run_rule):
    """Losses are named by the size of their rise, and NaN comes first."""
    steps = {(TRAIN, 0): {"loss_a": 1.0, "loss_b": 1.0, "loss_c": 1.0, "loss_d": 9.0}}
    steps[TRAIN, 10] = {"loss_a": 1.0, "loss_b": 2.0, "loss_c": NAN, "loss_d": 1.0}
    (issue,) = run_rule("LossNotDecreasing", steps)
    assert issue.tensors == ("loss_c", "loss_b", "loss_a")


def test_each_loss_has_a_schedule_of_its_own(run_rule):
    """A loss that is first saved later is checked at later steps."""
    steps = {(TRAIN, step): {"loss_a": 1.0, **({"loss_b": 1.0} if step >= 5 else {})} for step in range(0, 30, 5)}
    issues = run_rule("LossNotDecreasing", steps)
    assert [(issue.mode_step, issue.tensors) for issue in issues] == [
        (10, ("loss_a",)),
        (15, ("loss_b",)),
        (20, ("loss_a",)),
        (25, ("loss_b",)),
    ]


def test_steps_before_the_first_invoked_one_serve_as_reference(make_trial):
    """The reference is read from the trial, so it may lie before the first evaluated step."""
    trial = make_trial(losses([1, 1, 1], interval=10))
    issues = evaluate([create_rule("LossNotDecreasing", trial)], trial, start_step=2).run()
    assert [issue.mode_step for issue in issues] == [20]


@pytest.mark.parametrize(
    ("mode", "fires_at"), [(None, [10]), ("TRAIN", [11]), ("EVAL", [10]), ("GLOBAL", [10]), ("", [10])]
)
def test_evaluation_steps_are_preferred_and_counted_by_themselves(run_rule, mode, fires_at):
    """Distances are counted in steps of the loss's own mode, and EVAL is preferred unless a mode is given."""
    steps = {(EVAL, 0): {"loss": 1.0}, (TRAIN, 0): {"loss": 50.0}}
    steps.update({(EVAL, step): {"loss": 1.0 - step / 100} for step in range(1, 9)})
    steps[EVAL, 10] = {"loss": 1.0}
    steps[TRAIN, 10] = {"loss": 50.0}
    assert [issue.step for issue in run_rule("LossNotDecreasing", steps, mode=mode)] == fires_at


def test_training_steps_are_read_until_the_first_evaluation_step(run_rule):
    """Training losses are checked until the first evaluation step, and evaluation losses from then on."""
    steps = {(TRAIN, step): {"loss": 1.0} for step in range(0, 30, 10)}
    steps[EVAL, 0] = {"loss": 1.0}
    steps.update({(TRAIN, step): {"loss": 1.0} for step in range(30, 50, 10)})
    steps[EVAL, 10] = {"loss": 1.0}
    issues = run_rule("LossNotDecreasing", steps)
    assert [(issue.mode, issue.mode_step) for issue in issues] == [(TRAIN, 10), (TRAIN, 20), (EVAL, 10)]


@pytest.mark.parametrize("mode", [GLOBAL, PREDICT])
def test_other_modes_are_read_by_global_steps(run_rule, mode):
    """Losses of no or of the PREDICT mode are counted by global steps."""
    issues = run_rule("LossNotDecreasing", losses([1] * 12, mode))
    assert [issue.step for issue in issues] == [10]


@pytest.mark.parametrize(
    "values",
    [[np.ones(2)] * 2, [np.array([], np.float32)] * 2, [np.array(["x"])] * 2, [1.0, np.ones(2)], [np.ones(2), 1.0]],
    ids=["vector", "empty", "text", "vector now", "vector before"],
)
def test_only_tensors_of_one_element_are_compared(run_rule, values):
    """Tensors that do not have one element give no verdict, at either step."""
    steps = {(TRAIN, 10 * number): {"loss": value} for number, value in enumerate(values)}
    assert run_rule("LossNotDecreasing", steps) == []


def test_tensors_of_one_element_may_have_any_shape_and_type(run_rule):
    """A tensor of one element is a scalar, whatever its shape and type."""
    steps = {(TRAIN, 0): {"loss": np.full((1, 1), 3, np.int32)}, (TRAIN, 10): {"loss": np.array(3.0, np.float16)}}
    assert len(run_rule("LossNotDecreasing", steps)) == 1


def test_losses_of_which_only_reductions_were_saved_give_no_verdict(run_rule):
    """Reductions of a loss give no verdict, because there is no value to compare."""
    steps = {(TRAIN, step): {reduction_tensor_name("mean", False, "loss"): np.array(1.0)} for step in (0, 10)}
    assert run_rule("LossNotDecreasing", steps) == []


@pytest.mark.parametrize(
    ("parameters", "tensors"),
    [
        ({}, {"loss"}),
        ({"use_losses_collection": "False", "tensor_regex": "acc"}, {"accuracy"}),
        ({"tensor_regex": "acc"}, {"accuracy", "loss"}),
        ({"collection_names": "metrics", "use_losses_collection": False}, {"accuracy"}),
    ],
)
def test_selection_is_united_with_the_losses_collection(make_trial, run_rule, parameters, tensors):
    """Selected tensors are added to the losses collection, unless that is switched off."""
    steps = {(TRAIN, step): {"loss": 1.0, "accuracy": 1.0} for step in (0, 10)}
    trial = make_trial(steps, collections={"losses": ["loss"], "metrics": ["acc"]})
    (issue,) = run_rule("LossNotDecreasing", trial, **parameters)
    assert set(issue.tensors) == tensors


def test_with_nothing_selected_the_rule_cannot_be_made(make_trial, run_rule):
    """A rule with nothing selected is refused, and the error names the parameter to set."""
    with pytest.raises(InsufficientInformationForRuleInvocation, match="use_losses_collection"):
        run_rule("LossNotDecreasing", losses([1]), use_losses_collection=False)


@pytest.mark.parametrize(
    "parameters", [{"mode": "PREDICT"}, {"mode": "train"}, {"num_steps": 0}, {"diff_percent": 100}, {"steps": 1}]
)
def test_values_out_of_range_and_unknown_names_are_refused(run_rule, parameters):
    """A value out of range or an unknown parameter is refused when the rule is made, and named."""
    with pytest.raises(SMDebugValueError, match=next(iter(parameters))):
        run_rule("LossNotDecreasing", losses([1]), **parameters)


def test_with_several_workers_the_first_is_read(tmp_path, run_rule):
    """Losses of the second worker are not read."""
    job = SmallTrial(tmp_path, workers=("worker_0", "worker_1"))
    for step in (0, 10):
        job.write(TRAIN, step, {"loss": 1.0 - step / 100}, global_step=step, worker="worker_0")
        job.write(TRAIN, step, {"loss": 1.0}, global_step=step, worker="worker_1")
    job.end()
    assert run_rule("LossNotDecreasing", create_trial(str(tmp_path))) == []
