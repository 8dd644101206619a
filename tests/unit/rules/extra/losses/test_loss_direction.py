"""LossDirection fires when the loss falls while the predictions get worse."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import TRAIN, fired_at, loss_tensors, steps_of

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("sign", "fires"), [(1, False), (-1, True)])
def test_a_loss_that_falls_while_answers_get_worse_fires(run_rule, sign, fires):
    """A loss that falls while the cross entropy of the scores rises fires, as one of the wrong sign."""
    labels = np.array([0, 1, 0, 1])
    right = np.eye(2)[labels]
    steps = {}
    for step in range(10):
        scores = right * sign * step
        steps[TRAIN, step] = loss_tensors(scores, labels, loss=5.0 - step, name="OwnLoss")
    assert bool(run_rule("LossDirection", steps)) == fires


@pytest.mark.parametrize(("sign", "factor", "fires"), [(1, 1, False), (-1, 1, True), (-1, 3, False)])
def test_numbers_are_evaluated_if_the_value_shows_that_the_loss_is_a_squared_error(run_rule, sign, factor, fires):
    """Predictions of numbers are evaluated if the loss value is a squared error, but for its sign."""
    targets = np.linspace(-1, 1, 10)[:, None]
    steps = {}
    for step in range(10):
        scores = targets * (1 + 0.1 * (step if sign < 0 else 10 - step))
        loss = sign * factor * np.mean((scores - targets) ** 2)
        steps[TRAIN, step] = loss_tensors(scores + 1e-3, targets, loss=loss, name="OwnLoss")
    assert bool(run_rule("LossDirection", steps)) == fires


@pytest.mark.parametrize(("spread", "loss", "fires"), [(0.3, 0.05, True), (0.7, 0.05, False), (0.3, 0.2, False)])
def test_a_loss_that_one_answer_for_all_satisfies_fires(run_rule, spread, loss, fires):
    """A loss that falls to a tenth while the predictions become alike fires."""
    noise, targets = RNG.normal(size=(20, 2, 3)), RNG.integers(0, 2, 20).astype(float)

    def step(number):
        share = 0.0 if number < 10 else 1.0
        return {
            "FunctionLoss_input_0": 1 + noise * (1 + share * (spread - 1)) * 0.2,
            "FunctionLoss_input_1": targets,
            "FunctionLoss_output_0": 1 + share * (loss - 1),
        }

    assert bool(run_rule("LossDirection", steps_of(map(step, range(30))))) == fires


@pytest.mark.parametrize(("num_steps", "fires_at"), [(4, []), (5, [4])])
def test_loss_when_seen_for_fewer_steps_than_the_window_then_gives_no_verdict(run_rule, num_steps, fires_at):
    """Four steps are fewer than the window of five."""
    labels = np.array([0, 1, 0, 1])
    steps = steps_of(
        loss_tensors(-np.eye(2)[labels] * step, labels, loss=5.0 - step, name="OwnLoss") for step in range(num_steps)
    )
    assert fired_at(run_rule("LossDirection", steps)) == fires_at


@pytest.mark.parametrize(("last", "fires"), [(0.0, False), (1.0, True)])
def test_targets_that_are_all_the_same_say_nothing(run_rule, last, fires):
    """A loss of triplets needs no targets and is given zeros, from which distances may move away."""
    targets = np.zeros((4, 1))
    targets[-1] = last
    steps = steps_of(loss_tensors(targets + step, targets, loss=5.0 - step, name="MSELoss") for step in range(1, 5 + 5))
    assert bool(run_rule("LossDirection", steps)) == fires


@pytest.mark.parametrize(("growth", "fires"), [(1.0, True), (1.2, False)])
def test_errors_that_grow_with_their_targets_do_not_fire(run_rule, growth, fires):
    """The returns of an agent that learns to act grow, and errors in a few of them grow with them."""
    targets = np.linspace(1, 2, 10)[:, None]
    steps = steps_of(
        loss_tensors(
            growth**step * targets - (0.1 + 0.02 * step),
            growth**step * targets,
            loss=1 / (1 + step),
            name="SmoothL1Loss",
        )
        for step in range(40)
    )
    assert any(step >= 20 for step in fired_at(run_rule("LossDirection", steps))) == fires
