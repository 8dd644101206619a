"""MovingAverageLag fires when evaluation uses averages that have hardly moved, and goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import EVAL, TRAIN, fired_at


def steps_of(validation, num=20, rounds=2):
    """Return rounds of ten training steps with a loss of 1, each with an evaluation."""
    found = {}
    for position in range(rounds):
        found.update(
            {(TRAIN, step): {"loss": 1.0} for step in range(position * num // rounds, (position + 1) * num // rounds)}
        )
        found[EVAL, position] = {"loss": validation[position]}
    return found


@pytest.fixture
def layers(monkeypatch):
    """Return a function that records batch normalisations with the fractions by which their averages move."""

    def record(*shares):
        known = tuple(LayerRecord(name=f"bn{i}", type="BatchNorm1d", moving_share=s) for i, s in enumerate(shares))
        monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=known))

    return record


@pytest.mark.parametrize(
    ("shares", "validation", "fires"),
    [
        ((0.001,), (3.0, 3.0), True),
        ((0.5, 0.01), (3.0, 3.0), True),
        ((0.1,), (3.0, 3.0), False),
        ((0.05,), (3.0, 3.0), False),
        ((0.05,), (11.0, 11.0), True),
        ((0.001,), (1.5, 1.5), False),
        ((0.001,), (3.0, 1.5), False),
        ((None,), (3.0, 3.0), False),
        ((), (3.0, 3.0), False),
    ],
    ids=[
        "slow",
        "one slow",
        "fast",
        "less slow",
        "less slow and far wrong",
        "evaluation is sound",
        "evaluation becomes sound",
        "does not move",
        "none",
    ],
)
def test_averages_that_have_hardly_moved_fire_at_the_end(run_rule, layers, shares, validation, fires):
    """The slowest layer counts, and the last evaluation."""
    layers(*shares)
    assert fired_at(run_rule("MovingAverageLag", steps_of(validation))) == ([21] if fires else [])


def test_losses_that_are_told_apart_by_name_are_compared(run_rule, layers):
    """Keras saves the validation loss at a training step."""
    layers(0.01)
    steps = {(TRAIN, step): {"loss": 1.0, **({"val_loss": 5.0} if step % 5 == 4 else {})} for step in range(10)}
    (issue,) = run_rule("MovingAverageLag", steps)
    assert (issue.step, issue.tensors) == (9, ("val_loss",))
    assert "after 10 training steps, 90 %" in issue.message


def test_steps_of_an_earlier_model_do_not_count(run_rule, layers):
    """A layer that goes on to another model and other data has averages of the first ones."""
    layers(0.01)
    steps = {
        (TRAIN, step): {
            "loss": 1.0,
            ("first_weight" if step < 400 else "second_weight"): np.ones(2),
            **({"val_loss": 5.0} if step % 5 == 4 else {}),
        }
        for step in range(410)
    }
    assert fired_at(run_rule("MovingAverageLag", steps)) == [409]


@pytest.mark.parametrize(
    ("shares", "num_steps", "fires"),
    [((0.1, 0.8), 20, True), ((0.7,), 20, False), ((1.0,), 20, False), ((1.0, 0.9), 20, True), ((0.8,), 8, False)],
    ids=["one fast", "less fast", "the last batch on purpose", "one on purpose", "few steps"],
)
def test_averages_that_keep_little_but_the_last_batch_fire_once(run_rule, layers, shares, num_steps, fires):
    """A momentum of 0.8 means that in PyTorch, and a fifth of it in Keras."""
    layers(*shares)
    steps = steps_of((1.0, 1.0), num_steps)
    for (_, step), tensors in steps.items():
        tensors["Net_input_0"] = np.full((8, 4), float(step))
    issues = run_rule("MovingAverageLag", steps)
    share = f"{max(share for share in shares if share < 1):.0%}" if fires else ""
    assert all(f"by {share} of the way" in issue.message for issue in issues)
    assert [issue.step for issue in issues] == [num_steps // 2] * fires


def test_averages_of_the_last_batch_matter_in_evaluation_only(run_rule, layers):
    """Training does not use them."""
    layers(0.8)
    assert run_rule("MovingAverageLag", {(TRAIN, step): {"loss": 1.0} for step in range(30)}) == []


@pytest.mark.parametrize(
    ("batch", "layer", "fires"),
    [
        (lambda step: np.full((8, 4), float(step)), "bn0", True),
        (lambda _: np.zeros((8, 4)), "bn0", False),
        (lambda _: np.zeros((8, 2)), "bn0", False),
        (lambda _: np.zeros((0, 4)), "bn0", False),
        (lambda step: np.roll(np.arange(32.0).reshape(8, 4), step, axis=0), "bn0", False),
        (lambda step: np.full((8, 4), float(step)), "other", False),
    ],
    ids=[
        "batches",
        "one whole",
        "one of few features",
        "empty",
        "one in other orders",
        "a layer that is not evaluated",
    ],
)
def test_averages_of_all_data_and_of_layers_that_evaluation_leaves_out_are_no_fault(
    run_rule, layers, batch, layer, fires
):
    """The last batch of a graph is the whole graph, and a discriminator is not evaluated."""
    layers(0.9)
    steps = {(TRAIN, step): {"loss": 1.0, "Net_input_0": batch(step), "bn0_output_0": np.ones(4)} for step in range(20)}
    steps[EVAL, 0] = {"loss": 1.0, f"{layer}_output_0": np.ones(4)}
    assert bool(run_rule("MovingAverageLag", steps)) is fires
