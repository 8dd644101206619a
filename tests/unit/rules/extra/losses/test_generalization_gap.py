"""GeneralizationGap fires when the validation loss rises while the training loss falls."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import EVAL, GLOBAL, TRAIN, fired_at, loss_rounds


def rounds_then_zero(training, validation):
    steps = {}
    for number, (train, valid) in enumerate(zip(training, validation, strict=True)):
        steps[TRAIN, number] = {"loss": train}
        steps[EVAL, number] = {"loss": valid}
    steps[TRAIN, len(training)] = {"loss": 0.0}
    return steps


def test_a_rising_validation_loss_fires_while_training_goes_on_well(run_rule):
    """A validation loss above its best for two rounds fires at the step that ends the second."""
    issues = run_rule("GeneralizationGap", rounds_then_zero([4.0, 3, 2, 1, 0.5], [4.0, 3, 2, 2.5, 2.6]))
    assert [(issue.step, round(issue.value, 2)) for issue in issues] == [(10, 0.3)]


@pytest.mark.parametrize(
    ("training", "validation"),
    [
        ([4.0, 3, 2, 1, 1], [9.0, 8, 7, 6, 5]),
        ([4.0, 3, 2, 2, 3], [4.0, 3, 2, 5, 6]),
        ([3.0, 2, 1], [2.0, 2.3, 2.39]),
    ],
    ids=["a gap alone", "both rise", "a small rise"],
)
def test_other_courses_do_not_fire(run_rule, training, validation):
    """A gap alone, a training loss that rises too, and a small rise do not fire."""
    assert run_rule("GeneralizationGap", rounds_then_zero(training, validation)) == []


def test_losses_paired_by_name_fire_too(run_rule):
    """Losses of trials without modes, such as those of XGBoost, are paired by name."""
    steps = {(GLOBAL, step): {"train-loss": 1 / (step + 1), "validation-loss": 1 + abs(step - 3)} for step in range(7)}
    trial_issues = run_rule("GeneralizationGap", steps)
    assert fired_at(trial_issues) == [5, 6]


@pytest.mark.parametrize(("scale", "fires"), [(0.01, False), (1.0, True)])
def test_small_losses_may_go_up_and_down(run_rule, scale, fires):
    """A rise that is small in relation to the first loss does not fire."""
    training = [1.0, *(scale * np.array([0.9, 0.8, 0.7, 0.6]))]
    validation = [1.1, *(scale * np.array([1.0, 1.4, 1.5, 1.6]))]
    steps = loss_rounds(training, validation)
    assert bool(run_rule("GeneralizationGap", steps)) == fires
