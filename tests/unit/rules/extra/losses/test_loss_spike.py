"""LossSpike fires when one loss is far above the usual ones."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import EVAL, TRAIN, fired_at, loss_tensors, steps_of, steps_with


@pytest.mark.parametrize(("peak", "fires"), [(5.1, True), (4.9, False), (np.inf, True), (np.nan, True)])
def test_a_value_far_above_the_usual_fires(run_rule, peak, fires):
    """A loss far above the usual, infinite or NaN fires at its step."""
    issues = run_rule("LossSpike", steps_with("loss", [1.0, 1.1, 0.9, 1.0] * 6 + [peak, 1.0]))
    assert fired_at(issues) == ([24] if fires else [])


def test_noise_does_not_fire(run_rule):
    """A large loss does not fire where such losses are usual."""
    values = [0.1, 0.1, 0.1, 4.0] * 8
    assert run_rule("LossSpike", steps_with("loss", values)) == []


@pytest.mark.parametrize(("jumps", "fires"), [(1, False), (2, True)])
def test_one_hard_batch_is_no_fault(run_rule, jumps, fires):
    """With a patience of 2, a single spike does not fire."""
    losses = [1.0] * 25 + [9.0] * jumps + [1.0] * 5
    assert bool(run_rule("LossSpike", steps_of([{"loss": loss} for loss in losses]), patience=2)) == fires


@pytest.mark.parametrize(("num_targets", "fires"), [(1, False), (7, False), (8, True)])
def test_the_loss_of_a_few_samples_is_that_of_the_hardest(run_rule, num_targets, fires):
    """Texts are often learnt one by one, and some of them are hard."""
    tensors = loss_tensors(np.zeros((num_targets, 3)), np.zeros(num_targets, int))
    losses = [1.0, *[0.03] * 25, 2.0, 2.0, 0.03]
    steps = steps_of({**tensors, "CrossEntropyLoss_output_0": loss} for loss in losses)
    assert bool(run_rule("LossSpike", steps, factor=10, patience=2)) == fires


@pytest.mark.parametrize(
    ("num_answers", "answer", "fires"),
    [
        (5, {"Net_input_0": np.zeros((1, 3))}, False),
        (5, {"Net_input_0": np.zeros(3)}, False),
        (5, {"Net_input_0": np.zeros(3, int)}, True),
        (4, {"Net_input_0": np.zeros((1, 3))}, True),
        (5, {"Net_input_0": np.zeros((2, 3))}, True),
        (5, {"Net_input_0": np.zeros((1, 3)), "loss": 1.0}, True),
        (0, {}, True),
    ],
)
def test_the_loss_of_an_agent_jumps_as_it_comes_to_something_new(run_rule, num_answers, answer, fires):
    """An agent answers for single samples before it is trained; what is trained on these is none."""
    steps = {(EVAL, step): answer for step in range(num_answers)}
    losses = [1.0] * 25 + [9.0, 1.0]
    steps |= {(TRAIN, step): {"Net_input_0": np.zeros((8, 3)), "loss": loss} for step, loss in enumerate(losses)}
    assert bool(run_rule("LossSpike", steps)) == fires


@pytest.mark.parametrize("name", ["loss_output_0", "MSELoss_output_0"])
def test_losses_of_models_in_turn_are_told_apart_by_their_gradients(run_rule, name):
    """Numbers on which a script calls ``backward`` all have the same name."""
    steps = [{name: 20.0, "gradient/G": np.ones(1)}]  # of another model, after which the rule begins anew
    for _ in range(30):
        steps += [{name: 1.0, "gradient/D": np.ones(1)}] * 11 + [{name: 20.0, "gradient/G": np.ones(1)}]
    assert bool(run_rule("LossSpike", steps_of(steps))) == (name != "loss_output_0")
