"""LossPlateau fires when the loss has hardly fallen since training began."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import EVAL, fired_at, loss_tensors, steps_of, steps_with


@pytest.mark.parametrize(("last", "fires"), [(0.96, True), (0.94, False), (2.0, True)])
def test_the_latest_mean_must_be_below_the_first(run_rule, last, fires):
    """The latest mean must be 5 % below the first when the job has ended."""
    assert fired_at(run_rule("LossPlateau", steps_with("loss", [1.0] * 10 + [last] * 45))) == ([54] if fires else [])


@pytest.mark.parametrize(
    ("last", "text"), [(0.98, "a fall of 2 % (a fall of at least 5 %"), (1.5, "a rise of 50 % (a fall of at least 5 %")]
)
def test_the_message_says_in_which_direction_the_loss_went(run_rule, last, text):
    """A loss that has risen is not called a negative fall."""
    (issue,) = run_rule("LossPlateau", steps_with("loss", [1.0] * 10 + [last] * 45))
    assert text in issue.message


def test_a_loss_that_falls_late_does_not_fire(run_rule):
    """A loss that falls late does not fire, unless it stood still beyond `patience_running`."""
    steps = steps_with("loss", [1.0] * 50 + [0.5] * 10)
    assert run_rule("LossPlateau", steps) == []
    assert fired_at(run_rule("LossPlateau", steps, patience=30, patience_running=40))[:1] == [39]


def test_few_values_and_those_of_evaluation_give_no_verdict(run_rule):
    """Fewer values than the patience, and evaluation losses, give no verdict."""
    assert run_rule("LossPlateau", steps_with("loss", [1.0] * 49)) == []
    assert run_rule("LossPlateau", steps_with("loss", [1.0] * 99, EVAL)) == []


@pytest.mark.parametrize(("known", "fires"), [(0.8, False), (0.1, True)])
def test_a_loss_may_stand_still_if_predictions_have_skill(run_rule, known, fires):
    """A loss may stand still if the predictions are better than the best constant."""
    rng = np.random.default_rng(0)
    steps, targets = [], rng.normal(size=(32, 1))
    for _ in range(60):
        scores = known * targets
        loss = float(np.mean((scores - targets) ** 2))
        steps.append({"MSELoss_input_0": scores, "MSELoss_input_1": targets, "MSELoss_output_0": np.array(loss)})
        if fires:
            steps[-1]["MSELoss_input_0"] = known * rng.normal(size=(32, 1))
    assert bool(run_rule("LossPlateau", steps_of(steps), tensor_regex="Loss_output_")) == fires


def test_a_loss_of_both_signs_gives_no_verdict(run_rule):
    """The loss of a policy gradient has nothing to fall to, and that of a large constant has."""
    losses = np.tile([-1.0, 1.5], 30)
    assert run_rule("LossPlateau", steps_with("loss", losses)) == []
    assert run_rule("LossPlateau", steps_with("loss", losses + 2))


@pytest.mark.parametrize(
    ("name", "last", "fires"),
    [("loss", -1.0, False), ("loss", -1.95, True), ("loss", -2.2, False), ("MSELoss", -1.0, True)],
)
def test_a_negative_loss_is_known_from_what_it_is_of(run_rule, name, last, fires):
    """The gain of a policy, with its sign turned, has no value to fall to; a wrong sign is seen beside targets."""
    rng = np.random.default_rng(0)
    losses = [-2.0] * 30 + [last] * 30
    steps = [loss_tensors(rng.normal(size=(32, 1)), rng.normal(size=(32, 1)), loss, name) for loss in losses]
    if name == "loss":
        steps = [{"loss": loss} for loss in losses]
    assert bool(run_rule("LossPlateau", steps_of(steps), tensor_regex="^loss$|Loss_output_")) == fires


def test_a_loss_that_changes_its_sign_later_gives_no_verdict(run_rule):
    """A policy gradient that begins with bad rewards only."""
    assert run_rule("LossPlateau", steps_with("loss", np.linspace(-20.0, 1.0, 60))) == []
