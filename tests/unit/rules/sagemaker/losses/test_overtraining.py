"""Overtraining fires when neither the training nor the validation loss improves any more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.sagemaker.losses.overtraining import Optimum
from support.rule_trials import EVAL, GLOBAL, TRAIN, fired_at, steps_with


def paired_losses(training, validation):
    found = {}
    for step, (train, valid) in enumerate(zip(training, validation, strict=True)):
        found[TRAIN, step] = {"loss": train}
        found[EVAL, step] = {"loss": valid}
    return found


def test_both_losses_must_stand_still(run_rule):
    """Both losses must stand still for their patience, counted from the first one."""
    still = paired_losses([1.0] * 4, [1.0] * 4)
    issues = run_rule("Overtraining", still, patience_train=2, patience_validation=2)
    assert fired_at(issues) == [5, 6, 7]
    falling = paired_losses([4.0, 3.0, 2.0, 1.0], [1.0] * 4)
    assert run_rule("Overtraining", falling, patience_train=2, patience_validation=2) == []


def test_an_improvement_must_exceed_delta(run_rule):
    """A fall of exactly `delta` is not an improvement."""
    steps = paired_losses([1.0, 0.75, 0.5], [1.0, 1.0, 1.0])
    given = {"patience_train": 2, "patience_validation": 2}
    assert fired_at(run_rule("Overtraining", steps, delta=0.5, **given)) == [5]
    assert run_rule("Overtraining", steps, delta=0.2, **given) == []


def test_without_validation_it_never_fires(run_rule):
    """Training losses alone give no verdict."""
    assert run_rule("Overtraining", steps_with("loss", [1.0] * 30)) == []


def test_trials_without_modes_are_paired_by_name(run_rule):
    """Losses of trials without modes are paired by name, and a name without prefix is of training."""
    steps = {
        (GLOBAL, step): {"train-loss": 1.0, "validation-loss": 1.0, "loss2": 3.0, "val_loss2": 3.0 - step}
        for step in range(4)
    }
    issues = run_rule("Overtraining", steps, patience_train=2, patience_validation=2)
    assert [(issue.step, issue.tensors) for issue in issues] == [
        (2, ("validation-loss",)),
        (3, ("validation-loss",)),
    ]


@given(st.lists(st.floats(0, 10), min_size=1, max_size=12), st.floats(0, 2))
def test_optimum_equals_that_of_a_naive_loop(values, delta):
    """The best loss and its age equal those of a loop over the values."""
    optimum = Optimum()
    for value in values:
        optimum.observe(value, delta)
    best, age = values[0], 0
    for value in values[1:]:
        best, age = (value, 0) if value < best - delta else (best, age + 1)
    assert (optimum.best, optimum.age) == (best, age)
