"""VanishingGradient fires when the mean absolute value of a gradient is below a threshold."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.rule_trials import TRAIN

TINY = np.full((2, 3), 1e-9, np.float32)
FINE = np.full((2, 3), -1e-3, np.float32)


def test_the_smallest_is_named_first_and_nan_never(run_rule):
    """The smallest gradient is named first, and one that is NaN is not named."""
    values = {"gradient/a": 0.2, "gradient/b": 0.1, "gradient/c": float("nan"), "gradient/d": 0.5}
    (issue,) = run_rule("VanishingGradient", {(TRAIN, 0): values}, threshold=0.5)
    assert issue.tensors == ("gradient/b", "gradient/a")


def test_one_vanished_gradient_among_many_fires_and_is_named(run_rule):
    """Any gradient fires the rule, and the issue has its name, mean, step and worker."""
    steps = {
        (TRAIN, 0): {"gradient/a": FINE, "gradient/b": FINE},
        (TRAIN, 10): {"gradient/a": FINE, "gradient/b": TINY},
    }
    (issue,) = run_rule("VanishingGradient", steps)
    assert (issue.step, issue.mode, issue.mode_step, issue.tensors) == (1, TRAIN, 10, ("gradient/b",))
    assert issue.worker == "worker_0"
    assert issue.value == pytest.approx(1e-9)
    assert issue.threshold == 1e-7
    assert "'gradient/b'" in issue.message
    assert issue.advice


@pytest.mark.parametrize(("value", "fires"), [(0.249, True), (0.25, False), (0.251, False)])
def test_threshold_is_a_strict_limit(run_rule, value, fires):
    """A mean equal to the threshold does not fire."""
    steps = {(TRAIN, 0): {"gradient/a": np.array([value, -value])}}
    assert bool(run_rule("VanishingGradient", steps, threshold="0.25")) == fires


@pytest.mark.parametrize("mode", list(ModeKeys))
def test_steps_of_every_mode_are_evaluated(run_rule, mode):
    """Gradients of every mode are evaluated."""
    assert len(run_rule("VanishingGradient", {(mode, 0): {"gradient/a": TINY}})) == 1


@pytest.mark.parametrize(
    "value",
    [
        np.array([np.nan, 0.0]),
        np.array([], np.float32),
        np.array(["text"]),
        np.array([np.inf, 0.0]),
    ],
    ids=["nan", "empty", "text", "infinite"],
)
def test_values_without_a_mean_below_the_limit_do_not_fire(run_rule, value):
    """Gradients that are NaN, infinite, empty or texts do not fire."""
    assert run_rule("VanishingGradient", {(TRAIN, 0): {"gradient/a": value}}) == []


def test_tensors_outside_the_collection_do_not_count(run_rule):
    """Only tensors of the collection `gradients` are evaluated."""
    assert run_rule("VanishingGradient", {(TRAIN, 0): {"weight": TINY}}) == []


def test_a_trial_without_the_collection_gives_no_verdict(make_trial, run_rule):
    """A trial without the collection `gradients` gives no verdict."""
    trial = make_trial({(TRAIN, 0): {"gradient/a": TINY}}, collections={"losses": ["loss"]})
    assert run_rule("VanishingGradient", trial) == []


def test_a_trial_of_reductions_is_evaluated_by_its_mean_of_absolute_values(run_rule):
    """The reduction `abs_mean` stands for the gradient, and without it there is no verdict."""
    steps = {
        (TRAIN, 0): {reduction_tensor_name("mean", True, "gradient/a"): np.array(1e-9)},
        (TRAIN, 1): {reduction_tensor_name("mean", False, "gradient/a"): np.array(1e-9)},
        (TRAIN, 2): {reduction_tensor_name("mean", True, "gradient/a"): np.array(1e-3)},
    }
    (issue,) = run_rule("VanishingGradient", steps)
    assert (issue.step, issue.tensors) == (0, ("gradient/a",))


def test_with_several_workers_the_first_is_read(tmp_path, run_rule):
    """Gradients of the first worker decide, and the issue names that worker."""
    job = SmallTrial(tmp_path, workers=("worker_0", "worker_1"))
    for step, (first, second) in enumerate([(TINY, FINE), (FINE, TINY)]):
        job.write(TRAIN, step, {"gradient/a": first}, global_step=step, worker="worker_0")
        job.write(TRAIN, step, {"gradient/a": second}, global_step=step, worker="worker_1")
    job.end()
    issues = run_rule("VanishingGradient", create_trial(str(tmp_path)))
    assert [(issue.step, issue.worker) for issue in issues] == [(0, "worker_0")]


def test_a_negative_threshold_is_refused(make_trial, run_rule):
    """A negative threshold is refused."""
    with pytest.raises(SMDebugValueError, match="threshold"):
        run_rule("VanishingGradient", {(TRAIN, 0): {"gradient/a": TINY}}, threshold="-1")
