"""InitialLoss fires when the first predictions are far worse than a guess."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import GLOBAL, TRAIN, fired_at, first_cause, loss_tensors


@pytest.mark.parametrize(("size", "fires"), [(0.1, False), (1.0, False), (30.0, True)])
def test_first_class_scores_must_not_be_far_worse_than_a_guess(run_rule, size, fires):
    """A first cross entropy far above that of equal scores fires, at the first step only."""
    scores, labels = np.random.default_rng(0).normal(size=(64, 4)) * size, np.arange(64) % 4
    steps = {(TRAIN, step): loss_tensors(scores, labels) for step in range(2)}
    assert fired_at(run_rule("InitialLoss", steps)) == ([0] if fires else [])


@pytest.mark.parametrize(("size", "fires"), [(8.0, False), (10.0, True)])
def test_first_numbers_must_be_about_as_large_as_targets(run_rule, size, fires):
    """First predictions of numbers may be up to the square of the factor larger than the targets."""
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(64, 1))
    assert bool(run_rule("InitialLoss", {(TRAIN, 0): loss_tensors(targets[::-1] * size, targets)})) == fires


@pytest.mark.parametrize(("size", "fires"), [(2.0, False), (12.0, True)])
def test_logits_of_two_classes_are_evaluated_by_their_cross_entropy(run_rule, size, fires):
    """Logits are evaluated by their binary cross entropy, and outputs from 0 to 1 give no verdict."""
    scores, labels = np.linspace(-1, 1, 40)[:, None] * size, np.tile([0.0, 1.0], 20)[:, None]
    assert bool(run_rule("InitialLoss", {(TRAIN, 0): loss_tensors(scores, labels)})) == fires
    assert run_rule("InitialLoss", {(TRAIN, 0): loss_tensors(np.ones((4, 1)), np.zeros((4, 1)))}) == []


@pytest.mark.parametrize(("training", "validation", "fires"), [(9.5, 9.4, True), (8.5, 8.4, False), (9.5, 2.0, False)])
def test_the_first_loss_of_trees_tells_of_their_beginning(run_rule, training, validation, fires):
    """A first loss of trees far above the spread of the labels fires, if the validation loss is as far off."""
    labels = np.tile([-1.0, 1.0], 10)
    steps = {(GLOBAL, 0): {"labels": labels, "train-rmse": training, "validation-rmse": validation}}
    assert first_cause(run_rule("InitialLoss", steps)) == ("initialisation" if fires else None)


@pytest.mark.parametrize(("score", "fires"), [(1.0, False), (1.01, True)], ids=["a probability", "a logit"])
def test_outputs_from_0_to_1_when_given_to_a_loss_of_two_classes_then_give_no_verdict(run_rule, score, fires):
    """An output within 0 and 1 may be a probability, so it is not evaluated as a logit."""
    tensors = loss_tensors(np.full((4, 1), score), np.array([[0.0], [0.0], [0.0], [1.0]]))
    assert bool(run_rule("InitialLoss", {(TRAIN, 0): tensors}, factor=1.1)) == fires


@pytest.mark.parametrize(("name", "fires"), [("BCEWithLogitsLoss", True), ("MSELoss", False)])
def test_yes_or_no_under_a_loss_of_quantities_is_a_quantity(run_rule, name, fires):
    """Scores up to 10 are far from labels of 0 and 1 as logits, and within what is allowed as numbers."""
    scores, labels = np.linspace(-10, 10, 40)[:, None], np.tile([0.0, 1.0], 20)[:, None]
    values = {
        "MSELoss": np.mean((scores - labels) ** 2),
        "BCEWithLogitsLoss": np.mean(np.logaddexp(0, scores) - scores * labels),
    }
    tensors = {f"{name}_input_0": scores, f"{name}_input_1": labels, f"{name}_output_0": np.array([values[name]])}
    assert bool(run_rule("InitialLoss", {(TRAIN, 0): tensors})) == fires


@pytest.mark.parametrize(
    ("size", "answers", "cause"),
    [(0.01, 1.0, "inputs"), (0.2, 4.0, "initialisation"), (0.01, 8.0, "initialisation")],
    ids=["small targets", "usual targets", "small targets and large answers"],
)
def test_targets_that_are_small_for_usual_answers_are_to_blame(run_rule, size, answers, cause):
    """Densities of cells are nearly 0 everywhere, while an untrained network answers with numbers about 1."""
    rng = np.random.default_rng(0)
    targets, scores = rng.normal(size=(64, 1)) * size, rng.normal(size=(64, 1)) * answers
    issues = run_rule("InitialLoss", {(TRAIN, 0): loss_tensors(scores, targets, name="MSELoss")})
    assert first_cause(issues) == cause
    assert ("weights or inputs are too large" in issues[0].message) is (cause == "initialisation")
