"""While averages of batch normalisations follow, validation losses say little; rules wait for them."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.inference.moving_averages import MovingAverages
from sagemaker_debug_ext.rules.reading.step_view import StepReader
from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import Trial, create_trial
from support.rule_trials import EVAL, GLOBAL, TRAIN, loss_rounds

NUM_ROUNDS = 20
TRAINING = [0.5**number for number in range(NUM_ROUNDS)]
PARAMETERS = {"Overfit": {"ratio_threshold": 3, "patience": 2, "unless_falling": True}, "GeneralizationGap": {}}
SLOW, FAST = 0.01, 0.5


@pytest.fixture
def averages(monkeypatch):
    """Return a function that records a batch normalisation with the share by which a step moves its averages."""

    def record(share):
        layer = LayerRecord(name="bn", type="BatchNormalization", moving_share=share)
        monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", layers=(layer,)))

    return record


@pytest.mark.parametrize("rule", PARAMETERS)
@pytest.mark.parametrize(("share", "fires"), [(SLOW, False), (FAST, True), (None, True)])
def test_a_validation_loss_that_rises_and_falls_with_the_averages_is_none(run_rule, averages, rule, share, fires):
    """Averages that follow slowly make evaluation worse for some rounds, until they have the model's numbers."""
    averages(share)
    validation = [1.0, 1.0, *[3.0] * (NUM_ROUNDS - 4), 0.5, 0.4]
    assert bool(run_rule(rule, loss_rounds(TRAINING, validation), **PARAMETERS[rule])) == fires


def test_overfitting_when_the_job_ends_before_the_averages_have_followed_then_fires(run_rule, averages):
    """What evaluation is like at the end is what the model is used with."""
    averages(SLOW)
    steps = loss_rounds(TRAINING, [1.0, *[3.0] * (NUM_ROUNDS - 1)])
    (issue,) = run_rule("Overfit", steps, **PARAMETERS["Overfit"])
    assert issue.step == 2 * NUM_ROUNDS - 1
    assert len(run_rule("Overfit", steps, ratio_threshold=3)) > 1


@pytest.mark.parametrize("rule", PARAMETERS)
def test_losses_that_are_paired_by_name_do_not_wait(run_rule, averages, rule):
    """Where evaluation has no steps of its own, it may have been made at any time."""
    averages(SLOW)
    losses = [(TRAINING[0], 1.0), (TRAINING[1], 1.0), *[(train, 3.0) for train in TRAINING[2:]]]
    steps = {
        (GLOBAL, step): {"train-loss": train, "validation-loss": other} for step, (train, other) in enumerate(losses)
    }
    assert run_rule(rule, steps, **PARAMETERS[rule]) != []


def test_a_mismatch_that_is_withheld_is_found_in_a_followed_job_too(tmp_path, averages):
    """The end of a job is known only after its last step."""
    averages(SLOW)
    rng, job = np.random.default_rng(0), SmallTrial(tmp_path)
    for step in range(16):
        mode, loss = (TRAIN, 1.0) if step < 12 else (EVAL, 3.0)
        job.write(mode, step % 12, {"Net_input_0": rng.normal(size=(16, 6)), "loss": loss}, global_step=step)
    trial = create_trial(str(tmp_path))
    rule = create_rule("EvaluationMismatch", trial)
    issues = evaluate([rule], trial, sleep=lambda _seconds: job.end()).run()
    assert [issue.step for issue in issues] == [15]


@pytest.mark.parametrize(("share", "fires_at"), [(SLOW, [15]), (FAST, [12, 13, 14, 15])])
def test_mismatch_of_losses_when_averages_follow_then_only_the_last_step_counts(run_rule, averages, share, fires_at):
    """Averages of the first epochs are no difference between training and evaluation data."""
    averages(share)
    rng = np.random.default_rng(0)
    steps = {(TRAIN, step): {"Net_input_0": rng.normal(size=(16, 6)), "loss": 1.0} for step in range(12)}
    steps |= {(EVAL, step): {"Net_input_0": rng.normal(size=(16, 6)), "loss": 3.0} for step in range(4)}
    assert [issue.step for issue in run_rule("EvaluationMismatch", steps)] == fires_at


def test_steps_when_they_have_no_modes_then_move_averages_too(averages, make_trial):
    """A script that sets no mode trains all the same."""
    averages(SLOW)
    views, found = StepReader(make_trial({(GLOBAL, step): {"loss": 1.0} for step in range(3)})), MovingAverages()
    for step in range(3):
        found.observe(views.at(step))
    assert found.percent_left == pytest.approx(100 * (1 - SLOW) ** 3)
