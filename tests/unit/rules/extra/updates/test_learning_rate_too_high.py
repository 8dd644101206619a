"""LearningRateTooHigh fires when the usual update is too large in relation to the weight."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import OptimizerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import TRAIN, steps_of, steps_with


@pytest.mark.parametrize(("factor", "fires"), [(1.3, True), (1.1, False), (1 + 1e-6, False), (1.0, False)])
def test_usual_update_when_too_large_then_fires(run_rule, factor, fires):
    """An update by 30 % at each step fires, and one by 10 %, a tiny one or none does not."""
    steps = steps_with("w_weight", [np.full(3, factor**step) for step in range(15)])
    assert bool(run_rule("LearningRateTooHigh", steps)) == fires


@pytest.mark.parametrize(("first", "fires"), [(0.0, False), (1e-4, False), (0.01, True)])
def test_a_weight_that_begins_at_zero_has_no_size_yet(run_rule, first, fires):
    """A weight that begins at 0, or as near as some tables of vectors do, is not evaluated by its updates."""
    steps = steps_with("w_weight", [np.full(3, first if step == 0 else 0.1 * 1.5**step) for step in range(8)])
    assert bool(run_rule("LearningRateTooHigh", steps)) == fires


def test_updates_count_for_each_step_between_saved_ones(run_rule):
    """An update is divided by the number of steps since the last saved one."""
    steps = {(TRAIN, 10 * step): {"w_weight": np.full(3, 1.5**step)} for step in range(8)}
    assert run_rule("LearningRateTooHigh", steps) == []


@pytest.mark.parametrize(
    ("numbers", "fires"),
    [([1.0, 0.8, 0.6, 0.4, 0.2, 0.05, -0.1, -0.3, -0.5, -0.7, -0.8], False), ([(-3.0) ** n for n in range(9)], True)],
    ids=["passes 0", "diverges"],
)
def test_a_weight_of_few_elements_may_pass_zero(run_rule, numbers, fires):
    """Near 0, a small step is a large part of the slope of a line; it is compared with the largest slope so far."""
    steps = steps_with("w_weight", [np.full((1, 1), number) for number in numbers])
    assert bool(run_rule("LearningRateTooHigh", steps)) == fires


@pytest.mark.parametrize(("shape", "fires"), [((1,), False), ((1, 1), True)], ids=["a slope", "a matrix"])
def test_a_single_number_beside_matrices_has_no_size(run_rule, shape, fires):
    """The slope of a PReLU may change by half of its size, and the only weight of a line may not."""
    steps = [{"w_weight": np.full((3, 3), 1.01**step), "v_weight": np.full(shape, 1.5**step)} for step in range(8)]
    assert bool(run_rule("LearningRateTooHigh", steps_of(steps))) == fires
    assert run_rule("LearningRateTooHigh", steps_with("v_weight", [np.full(shape, 1.5**step) for step in range(8)]))


@pytest.mark.parametrize(("rate", "fires"), [(0.6, False), (2.0, False), (4.0, True)])
def test_first_updates_that_shrink_are_waited_for(run_rule, rate, fires):
    """First updates that shrink, as those of Adagrad, are tolerated if later ones are small."""
    rng = np.random.default_rng(0)
    weight, steps = rng.normal(size=1000), []
    for step in range(12):
        steps.append({"w_weight": weight})
        weight = weight + rate / np.sqrt(step + 1) * rng.choice([-1, 1], size=1000)
    assert bool(run_rule("LearningRateTooHigh", steps_of(steps))) == fires


@pytest.mark.parametrize(("later", "fires"), [(2.0, False), (2.1, True)], ids=["doubled", "more than doubled"])
def test_first_updates_that_shrink_when_the_loss_jumps_then_fire(run_rule, later, fires):
    """First updates that shrink are not waited for once the loss has more than doubled."""
    rng = np.random.default_rng(0)
    weight, steps = rng.normal(size=1000), []
    for step in range(12):
        steps.append({"w_weight": weight, "loss": 1.0 if step < 2 else later})
        weight = weight + 2.0 / np.sqrt(step + 1) * rng.choice([-1, 1], size=1000)
    assert bool(run_rule("LearningRateTooHigh", steps_of(steps))) == fires


@pytest.mark.parametrize(
    ("highest", "last", "fires"), [(0.5, 0.2, False), (0.9, 0.2, True), (0.9, 0.02, False), (3.1, 0.02, True)]
)
def test_large_updates_that_training_overcomes_do_not_fire(run_rule, highest, last, fires):
    """With `patience_running`, a loss that falls disproves them: further if it jumped, and never if it exploded."""
    losses = [1.0, 0.4, highest, *[last] * 60]
    weights = [1.5 ** min(step, 10) for step in range(len(losses))]
    steps = [{"loss": loss, "w_weight": np.full(3, weight)} for loss, weight in zip(losses, weights, strict=True)]
    assert bool(run_rule("LearningRateTooHigh", steps_of(steps), patience_running=100)) == fires


@pytest.mark.parametrize(("optimizer", "fires"), [("SGD", True), ("LBFGS", False)])
def test_long_steps_of_an_optimizer_that_measures_the_curvature_are_fine(run_rule, monkeypatch, optimizer, fires):
    """L-BFGS goes to where it takes the minimum to be, however far."""
    program = ProgramRecord(framework="PyTorch", optimizers=(OptimizerRecord(type=optimizer),))
    monkeypatch.setattr(Trial, "program", program)
    steps = steps_with("w_weight", [np.full(3, 2.0**step) for step in range(8)])
    assert bool(run_rule("LearningRateTooHigh", steps)) == fires


@pytest.mark.parametrize(
    ("losses", "fires"),
    [([10.0], False), ([11.0], True), ([2.5] * 5, False), ([2.6] * 5, True), ([2.6] * 3, False), ([9.0, 1.0], False)],
    ids=["one high", "one very high", "less raised", "raised", "raised for a while", "noise"],
)
def test_half_of_the_limit_is_enough_if_the_first_updates_overshoot(run_rule, losses, fires):
    """The updates are below the limit, and the next losses tell whether they have overshot; one may be noise."""
    losses = [1.0, *losses, *[0.5] * (19 - len(losses))]
    steps = [{"loss": loss, "w_weight": np.full(3, 0.8**step)} for step, loss in enumerate(losses)]
    assert bool(run_rule("LearningRateTooHigh", steps_of(steps))) == fires


@pytest.mark.parametrize(
    ("later_gradient", "later_loss", "fires"), [(0.0, 1.0, True), (0.1, 1.0, False), (0.0, 0.1, False)]
)
def test_half_of_the_limit_is_enough_if_units_die_of_such_updates(run_rule, later_gradient, later_loss, fires):
    """The gradient of a weight with updates below the limit is 0 from step 10 on, and the loss has fallen or not."""
    steps = [
        {
            "loss": 1.0 if step < 10 else later_loss,
            "w_weight": np.full(3, 0.8 ** min(step, 10)),
            "gradient/w_weight": np.full(3, 0.1 if step < 10 else later_gradient),
        }
        for step in range(60)
    ]
    issues = run_rule("LearningRateTooHigh", steps_of(steps))
    assert [("later its gradient is 0" in issue.message, issue.step) for issue in issues] == [(True, 5)] * fires
