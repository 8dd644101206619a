"""Losses whose goal moves need not fall, so rules on learning leave them alone."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import TRAIN, loss_tensors, steps_of


def steps_on_targets(*targets):
    """Return steps at which one loss is computed on some targets, one after the other, and nothing is learnt."""
    stem = "BCEWithLogitsLoss"
    found = {f"{stem}_output_{number}": 0.7 for number in range(len(targets))}
    for number, target in enumerate(targets):
        values = np.array(target * 20, dtype=float)[:, None]
        found |= {
            f"{stem}_input_{2 * number}": np.full(values.shape, -0.1),
            f"{stem}_input_{2 * number + 1}": values,
        }
    return {(TRAIN, step): found for step in range(60)}


@pytest.mark.parametrize("rule", ["NoSkill", "LossPlateau", "PredictionCollapse"])
@pytest.mark.parametrize(
    ("targets", "fires"),
    [
        ([[0, 1], [1]], False),  # a discriminator, then its generator
        ([[0, 1], [0]], True),
        ([[0, 1], [0, 1]], True),
        ([[0, 1]], True),
    ],
)
def test_losses_of_discriminator_and_generator_need_not_fall(run_rule, rule, targets, fires):
    """A loss where all shall pass for real, after both classes were told apart, makes the losses adversarial."""
    options = {"tensor_regex": "Loss_output_"} if rule == "LossPlateau" else {}
    assert bool(run_rule(rule, steps_on_targets(*targets), **options)) == fires


def test_real_and_made_points_may_be_evaluated_one_after_the_other(run_rule):
    """Real and generated samples one after the other are adversarial with a generator, and alone are not."""
    for targets, fires in (([[1], [0], [1]], False), ([[1], [0]], True), ([[1], [0], [0]], True)):
        issues = run_rule("LossPlateau", steps_on_targets(*targets), tensor_regex="Loss_output_")
        assert bool(issues) == fires


@pytest.mark.parametrize("loss", ["BCEWithLogitsLoss", "MSELoss"])
@pytest.mark.parametrize(("mixed", "fires"), [(False, False), (True, True)])
def test_targets_of_one_class_by_turns_are_adversarial(run_rule, mixed, fires, loss):
    """Steps whose targets are all of one class, by turns, are adversarial."""
    rng = np.random.default_rng(0)
    steps = []
    for step in range(60):
        targets = rng.integers(0, 2, (20, 1)).astype(float) if mixed else np.full((20, 1), float(step % 2))
        tensors = {
            f"{loss}_input_0": 0.1 * rng.normal(size=(20, 1)),
            f"{loss}_input_1": targets,
        }
        steps.append({**tensors, f"{loss}_output_0": 0.7})
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


@pytest.mark.parametrize(("values", "fires"), [([0.0, 1.0], False), ([-1.0, 1.0], False), ([1.0, 2.0], True)])
def test_squared_errors_of_batches_with_equal_targets_are_adversarial_only_of_two_sides(run_rule, values, fires):
    """Quantities may come sorted, so that all targets of a batch are equal."""
    found = {"MSELoss_input_0": np.random.default_rng(0).normal(size=(20, 1)), "MSELoss_output_0": 0.7}
    steps = [{**found, "MSELoss_input_1": np.full((20, 1), values[step % 2])} for step in range(60)]
    assert bool(run_rule("NoSkill", steps_of(steps))) == fires


@pytest.mark.parametrize(("last", "fires"), [(1.0, False), (0.0, True)])
def test_sum_of_adversarial_losses_need_not_fall(run_rule, last, fires):
    """A sum that the script makes of losses is adversarial if the losses are, wherever the other side is computed."""
    turns = [("made", 0.0), ("other", last)]
    steps = []
    for step in range(120):
        side, target = turns[step % 2]
        tensors = {
            "BCEWithLogitsLoss_input_0": np.full((20, 1), -0.1),
            "BCEWithLogitsLoss_input_1": np.full((20, 1), target),
            "BCEWithLogitsLoss_output_0": 0.7,
        }
        steps.append({**tensors, "loss_output_0": 1.4} if side == "made" else tensors)
    assert bool(run_rule("LossPlateau", steps_of(steps), tensor_regex="oss_output_")) == fires


@pytest.mark.parametrize("rule", ["LossDivergence", "LossPlateau", "NoSkill"])
@pytest.mark.parametrize(("growth", "fires"), [(0.05, False), (0.0, True)])
def test_targets_that_grow_make_no_bad_loss(run_rule, rule, growth, fires):
    """The returns of an agent grow as it learns to act, and the error of its critic with them."""
    rng, steps = np.random.default_rng(0), []
    for step in range(120):
        targets = (1 + growth * step) * rng.uniform(0.5, 1.5, size=(40, 1))
        scores = np.full((40, 1), targets.mean())
        loss = (1 if rule == "LossPlateau" else 1 + 0.1 * step) * (0.1 + growth)
        steps.append(loss_tensors(scores, targets, loss=loss, name="MSELoss"))
    options = {} if rule == "NoSkill" else {"tensor_regex": "Loss_output_"}
    assert bool(run_rule(rule, steps_of(steps), **options)) == fires
