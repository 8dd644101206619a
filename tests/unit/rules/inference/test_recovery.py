"""Verdicts that training may disprove are held until it shows."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.store.format.program import OptimizerRecord, ProgramRecord
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import Trial, create_trial
from support.rule_trials import TRAIN, fired_at, steps_of

VARIED = np.random.default_rng(0).normal(size=(8, 6))
SAME = np.tile(VARIED[:1], (8, 1))
NUM_STEPS = 40


def collapse(until, loss):
    """Return steps whose layer gives the same output to all samples until a step, with the loss of each."""
    return steps_of(
        {"fc_output_0": SAME if step < until else VARIED, "Loss_output_0": loss(step)} for step in range(NUM_STEPS)
    )


def halves(step):
    return 2.0 if step < 12 else 0.5


@pytest.mark.parametrize(
    ("until", "loss", "fired"),
    [
        (10, halves, []),  # overcome
        (10, lambda _: 2.0, [2]),  # nothing is learnt afterwards
        (NUM_STEPS, halves, [2]),  # the loss falls by a bias, say, and outputs stay the same
        (10, lambda step: 2.0 - 0.02 * step, [2]),  # a fall that may be noise
    ],
)
def test_issue_when_sign_vanishes_and_loss_halves_then_is_taken_back(run_rule, until, loss, fired):
    """Both are needed; the issue that holds has the step at which it was found."""
    assert fired_at(run_rule("ActivationCollapse", collapse(until, loss), patience_running=100)) == fired


def test_issue_when_nothing_is_to_be_waited_for_then_comes_at_once(run_rule):
    """As without the parameter."""
    assert fired_at(run_rule("ActivationCollapse", collapse(5, halves))) == [2, 3, 4]


def test_issue_when_training_has_not_recovered_in_time_then_holds_while_the_job_runs(run_rule):
    """After that many training steps, issues come as they are found."""
    found = run_rule("ActivationCollapse", collapse(10, lambda step: 2.0 if step < 30 else 0.5), patience_running=4)
    assert fired_at(found) == [2, 7, 8, 9]


def test_issue_when_job_is_followed_then_is_the_same_as_in_a_replay(tmp_path):
    """At the end of the job, when no more steps come."""
    job = SmallTrial(tmp_path)
    for (mode, step), tensors in collapse(NUM_STEPS, lambda _: 2.0).items():
        job.write(mode, step, tensors)
    trial = create_trial(str(tmp_path))
    rule = create_rule("ActivationCollapse", trial, {"patience_running": 1000})
    assert fired_at(evaluate([rule], trial, sleep=lambda _: job.end())) == [2]


@pytest.mark.parametrize(("last", "fired"), [(0.1, []), (0.6, [1])])
def test_flat_loss_when_loss_halves_later_then_is_taken_back(run_rule, last, fired):
    """A slow start is no fault of the loss."""
    steps = steps_of(
        {"w_weight": np.ones((2, 2)), "gradient/w_weight": np.full((2, 2), 1e-4), "loss": 0.6 if step < 20 else last}
        for step in range(NUM_STEPS)
    )
    found = run_rule("FlatLoss", steps, patience=2, threshold=0.1, patience_running=100)
    assert fired_at(found) == fired


@pytest.mark.parametrize(
    ("num_large", "loss", "fires"),
    [
        (8, lambda step: 9.0 * 0.8**step, False),  # small weights grow, and the loss falls
        (8, lambda step: 9.0 if step < 8 else 6.0, False),  # embeddings begin tiny, and the loss cannot become small
        (8, lambda step: 9.0 if step < 8 else 7.0, True),
        (8, lambda _: 9.0, True),
        (NUM_STEPS, lambda step: 9.0 * 0.8**step, True),  # updates stay large
        (8, lambda step: 9.0 * 0.8**step + 30 * (step == 6), True),  # the loss jumps
    ],
)
def test_learning_rate_when_updates_shrink_and_loss_falls_then_is_not_too_high(run_rule, num_large, loss, fires):
    """Otherwise it is."""
    sizes = np.cumprod([1.0 + (0.5 if step < num_large else 0.001) for step in range(NUM_STEPS)])
    steps = steps_of(
        {"w_weight": np.ones((2, 2)) * size, "Loss_output_0": loss(step)} for step, size in enumerate(sizes)
    )
    assert bool(run_rule("LearningRateTooHigh", steps, patience_running=100)) == fires


def test_issue_when_losses_were_not_saved_then_holds(run_rule):
    """Nothing disproves it."""
    steps = {(TRAIN, step): {"fc_output_0": SAME if step < 10 else VARIED} for step in range(NUM_STEPS)}
    assert fired_at(run_rule("ActivationCollapse", steps, patience_running=100)) == [2]


@pytest.mark.parametrize(
    ("after", "fired"),
    [
        ([1.0] * 9, []),
        ([2.5] * 9, [25]),
        ([9.0, 9.0, *[1.0] * 7], []),  # from a jump it recovers
        ([9.0, 9.0, 9.0, *[1.0] * 6], [25]),
        ([2.5], [25]),  # the end of the job decides
        ([1.0], []),
        ([], [25]),  # nothing shows that it was harmless
        ([np.nan] * 9, [25]),
    ],
)
def test_gradient_outlier_when_no_loss_rises_then_is_dropped(run_rule, after, fired):
    """A hard sample gives a large gradient, which matters if the model gets worse by it."""
    norms, losses = [0.5] * 25 + [90.0] + [0.5] * len(after), [5.0] * 5 + [1.0] * 21 + after
    steps = steps_of({"gradient/w": np.full(1, size), "loss": loss} for size, loss in zip(norms, losses, strict=True))
    assert fired_at(run_rule("GradientOutlier", steps, unless_harmless=True)) == fired
    assert fired_at(run_rule("GradientOutlier", steps)) == [25]


@pytest.mark.parametrize(("last", "fired"), [(0.5, []), (0.0, [25])])
def test_gradient_outlier_when_gradients_are_zero_since_then_did_harm(run_rule, last, fired):
    """An enormous update may kill all units of a layer, after which the model answers by a constant."""
    norms = [0.5] * 25 + [2000.0] + [last] * 14
    steps = steps_of({"gradient/w": np.full(1, size), "loss": 1.0} for size in norms)
    assert fired_at(run_rule("GradientOutlier", steps, unless_harmless=True)) == fired


@pytest.mark.parametrize(
    ("kind", "parameters", "times", "losses", "fired"),
    [
        ("Adam", ("w",), 1001, lambda step: 1.0, [25]),
        ("Adam", (), 1001, lambda step: 1.0, [25]),
        ("Adam", ("v",), 1001, lambda step: 1.0, []),
        ("Adam", ("w",), 999, lambda step: 1.0, []),
        ("SGD", ("w",), 1001, lambda step: 1.0, []),
        ("Adam", ("w",), 1001, lambda step: 1.0 if step < 60 else 0.89, []),
        ("Adam", ("w",), 1001, lambda step: 1.0 if step < 60 else 0.91, [25]),
        ("Adam", ("w",), 1001, lambda step: 1.0 if step < 15 else 0.49, []),
        ("Adam", ("w",), 1001, lambda step: 3.0 if step > 25 else 1.0, [25]),
    ],
)
@pytest.mark.parametrize("num_after", [49, 50])
def test_gradient_when_enormous_then_may_stop_optimizers_that_remember_it(
    run_rule, monkeypatch, kind, parameters, times, losses, fired, num_after
):
    """They divide updates by the size of earlier gradients, unless the script has clipped them."""
    program = ProgramRecord(framework="PyTorch", optimizers=(OptimizerRecord(type=kind, parameters=parameters),))
    monkeypatch.setattr(Trial, "program", program)
    norms = [0.5] * 25 + [50.0 * times] + [0.5] * num_after
    steps = steps_of({"gradient/w": np.full(1, size), "loss": losses(step)} for step, size in enumerate(norms))
    rises = losses(26) > 1
    expected = fired if num_after == 50 or rises else []
    assert fired_at(run_rule("GradientOutlier", steps, unless_harmless=True, factor=100)) == expected


@pytest.mark.parametrize(("step", "last", "fired"), [(25, 1.0, []), (25, 3.0, [25]), (0, 1.0, [0])])
def test_gradient_when_beyond_all_bounds_then_losses_tell_whether_it_did_harm(run_rule, step, last, fired):
    """Clipping may make any norm harmless; at the first step, there are no losses to compare with."""
    steps = steps_of(
        {"gradient/w": np.full(1, 2000.0 if number == step else 0.5), "loss": last if number > 25 else 1.0}
        for number in range(40)
    )
    assert fired_at(run_rule("GradientOutlier", steps, unless_harmless=True)) == fired
