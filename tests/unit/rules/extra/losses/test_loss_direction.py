"""LossDirection fires when the loss falls while the predictions get worse."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import KERAS_COLLECTIONS, TRAIN, fired_at, loss_tensors, steps_of

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


def answers_to_masks(num_steps, *, last, first=0.5, falls=True, width=8):
    """Yield masks of 8 % of the places, answers that end at a number where these are 1, and the loss of each step."""
    rng = np.random.default_rng(0)
    for step in range(num_steps):
        part = min(1.0, step / 10)
        masks = (rng.random((40, width, width, 1)) < 0.08).astype(np.float32)
        yield masks, np.where(masks, first + part * (last - first), 0.05), 1 - part / 2 if falls else 1 + part / 2


AVOIDED = {
    "avoided": ({"num_steps": 60, "last": 1e-3}, True),
    "as the mean": ({"num_steps": 60, "last": 0.05}, False),
    "never answered": ({"num_steps": 60, "first": 0.01, "last": 1e-3}, False),
    "loss that rises": ({"num_steps": 60, "last": 1e-3, "falls": False}, False),
    "few steps": ({"num_steps": 35, "last": 1e-3}, False),
    "one place": ({"num_steps": 60, "last": 1e-3, "width": 1}, False),
}


@pytest.mark.parametrize(("settings", "fires"), AVOIDED.values(), ids=AVOIDED)
def test_answers_that_come_to_avoid_a_mask_fire(run_rule, settings, fires):
    """The overlap of answers and mask, which is to grow, is minimised."""
    steps = [loss_tensors(answers, masks, loss, "OwnLoss") for masks, answers, loss in answers_to_masks(**settings)]
    assert bool(run_rule("LossDirection", steps_of(steps))) == fires


@pytest.mark.parametrize(("last", "fires"), [(1e-3, True), (0.9, False)])
def test_answers_to_one_of_several_masks_of_keras_fire(run_rule, make_trial, last, fires):
    """The loss of each output is not saved for single batches, and all losses of the step fall."""
    both = {"labels_1": np.ones((40, 1)), "predictions_1": np.ones((40, 1))}
    steps = [
        {"labels_0": masks, "predictions_0": answers, **both, "loss": np.float32(loss)}
        for masks, answers, loss in answers_to_masks(60, last=last)
    ]
    trial = make_trial(steps_of(steps), collections=KERAS_COLLECTIONS)
    assert bool(run_rule("LossDirection", trial)) == fires


def test_answers_that_are_a_lot_where_a_mask_is_not_do_not_hide_that_they_avoid_it(run_rule):
    """Answers that are the opposite of the mask avoid it as well."""
    steps = [
        loss_tensors(np.where(masks, answers, 0.9), masks, loss, "OwnLoss")
        for masks, answers, loss in answers_to_masks(60, last=1e-3)
    ]
    assert run_rule("LossDirection", steps_of(steps))
