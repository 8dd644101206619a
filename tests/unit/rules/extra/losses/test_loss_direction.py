"""LossDirection fires when the loss falls while the predictions get worse."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import LossRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
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


def answers_to_masks(num_steps, *, last, first=0.5, falls=True, width=8, back_at=None, empty=False):
    """Yield masks of 8 % of the places, answers that end at a number where these are 1, and the loss of each step.

    Answers may come back to 0.9 at a step, and every second mask may be empty.
    """
    rng = np.random.default_rng(0)
    for step in range(num_steps):
        part = min(1.0, step / 10)
        masks = (rng.random((40, width, width, 1)) < 0.08 * (not empty or step % 2)).astype(np.float32)
        answer = 0.9 if back_at is not None and step >= back_at else first + part * (last - first)
        yield masks, np.where(masks, answer, 0.05), 1 - part / 2 if falls else 1 + part / 2


AVOIDED = {
    "avoided": ({"num_steps": 60, "last": 1e-3}, True),
    "answered little at first": ({"num_steps": 60, "first": 0.02, "last": 1e-3}, True),
    "some masks are empty": ({"num_steps": 120, "last": 1e-3, "empty": True}, True),
    "as the mean": ({"num_steps": 60, "last": 0.05}, False),
    "as the mean of masks that are often empty": ({"num_steps": 120, "last": 6e-3, "empty": True}, False),
    "never answered": ({"num_steps": 60, "first": 5e-3, "last": 1e-3}, False),
    "loss that rises": ({"num_steps": 60, "last": 1e-3, "falls": False}, False),
    "few steps": ({"num_steps": 37, "last": 1e-3}, False),
    "enough steps": ({"num_steps": 38, "last": 1e-3}, True),
    "found at last": ({"num_steps": 90, "last": 1e-3, "back_at": 80}, False),
    "one place": ({"num_steps": 60, "last": 1e-3, "width": 1}, True),
}


@pytest.mark.parametrize(("settings", "fires"), AVOIDED.values(), ids=AVOIDED)
def test_answers_that_come_to_avoid_a_mask_fire(run_rule, settings, fires):
    """The overlap of answers and mask, which is to grow, is minimised."""
    steps = [loss_tensors(answers, masks, loss, "OwnLoss") for masks, answers, loss in answers_to_masks(**settings)]
    assert fired_at(run_rule("LossDirection", steps_of(steps))) == ([len(steps) - 1] if fires else [])


@pytest.mark.parametrize("falls", [True, False])
def test_a_loss_that_was_not_finite_once_is_left_out(run_rule, falls):
    """Neither a first nor a later one keeps the rule from comparing the others."""
    given = answers_to_masks(80, last=1e-3, falls=falls)
    steps = [loss_tensors(answers, masks, loss, "OwnLoss") for masks, answers, loss in given]
    steps[3]["OwnLoss_output_0"] = steps[50]["OwnLoss_output_0"] = np.nan
    assert bool(run_rule("LossDirection", steps_of(steps))) == falls


def test_answers_that_are_avoided_in_the_second_half_only_do_not_fire(run_rule):
    """A model that forgets a mask late has another fault."""
    late = list(answers_to_masks(61, last=1e-3))
    early = [(masks, np.where(masks, 0.5, 0.05), 1.0) for masks, _, _ in answers_to_masks(61, last=0.5)]
    steps = [loss_tensors(answers, masks, loss, "OwnLoss") for masks, answers, loss in early + late]
    assert not run_rule("LossDirection", steps_of(steps))


@pytest.mark.parametrize(("shape", "fires"), [((20, 20), False), ((20, 5, 4), True)])
def test_answers_to_pairs_of_samples_may_be_distances(run_rule, shape, fires):
    """Those of samples that are alike come to 0 in a sound job, and pairs make a matrix."""
    rng, steps = np.random.default_rng(0), []
    for step in range(60):
        alike = (rng.random(shape) < 0.2).astype(float)
        steps.append(loss_tensors(np.where(alike, 0.3 * 0.5**step, 0.6), alike, 1 / (1 + step), "OwnLoss"))
    assert bool(run_rule("LossDirection", steps_of(steps))) == fires


def test_answers_without_the_last_axis_of_the_mask_are_compared(run_rule):
    """A loss of the script's own may reshape them."""
    steps = [
        loss_tensors(answers[..., 0], masks, loss, "OwnLoss")
        for masks, answers, loss in answers_to_masks(60, last=1e-3)
    ]
    assert run_rule("LossDirection", steps_of(steps))


VALUES = {
    "its own": ("OwnLoss", lambda masks, answers: float(answers.mean()), True),
    "the framework's": ("BCELoss", lambda masks, answers: float(answers.mean()), False),
    "a cross entropy": ("OwnLoss", lambda masks, answers: -np.log(np.where(masks, answers, 1 - answers)).mean(), False),
    "a mean error": ("OwnLoss", lambda masks, answers: np.abs(masks - answers).mean(), False),
}


@pytest.mark.parametrize(("name", "value", "fires"), VALUES.values(), ids=VALUES)
def test_losses_that_aim_at_the_mask_do_not_reward_answers_that_avoid_it(run_rule, name, value, fires):
    """A model that such a loss leaves at 0 has another fault, and other rules find it."""
    steps = []
    for masks, answers, _ in answers_to_masks(60, first=0.9, last=5e-3):
        everywhere = np.full(masks.shape, answers[masks == 1].mean())
        steps.append(loss_tensors(everywhere, masks, value(masks, everywhere), name))
    issues = run_rule("LossDirection", steps_of(steps))
    assert any("where the target is 1" in issue.message for issue in issues) == fires


@pytest.mark.parametrize(
    ("kind", "last", "fires"), [("", 1e-3, True), ("", 0.9, False), ("binary_crossentropy", 1e-3, False)]
)
def test_answers_to_one_of_several_masks_of_keras_fire(run_rule, make_trial, monkeypatch, kind, last, fires):
    """The loss of an output is not saved for single batches; the program record tells which one is the script's own."""
    losses = (LossRecord(name="predictions_0", type=kind),)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", losses=losses))
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
