"""NoiseFloor fires when most of the loss comes from the size of updates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import OptimizerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import EVAL, GLUON_COLLECTIONS, KERAS_COLLECTIONS, TRAIN, loss_tensors, steps_of

NUM_STEPS = 200


class Line:
    """Linear regression by stochastic gradient descent with momentum, from its minimum on.

    Args:
        rate: The learning rate.
        momentum: The momentum.
        noise: Standard deviation of what the inputs do not tell of the targets.
        is_ahead: Whether the momentum is Nesterov's.
        decay: Step from which on the rate is a thousandth.
    """

    def __init__(
        self, rate: float, *, momentum: float = 0.0, noise: float = 1.0, is_ahead: bool = False, decay: int = NUM_STEPS
    ) -> None:
        rng = np.random.default_rng(0)
        weight, velocity = np.zeros(20), np.zeros(20)
        self.steps: list[dict[str, Any]] = []
        self.losses: list[float] = []
        self.updated: list[Any] = []
        for step in range(NUM_STEPS):
            inputs, wanted = rng.normal(size=(8, 20)), noise * rng.normal(size=8)
            errors = inputs @ weight - wanted
            gradient = 2 * inputs.T @ errors / 8
            loss = float(np.mean(errors**2))
            self.losses.append(float(weight @ weight))  # above that of the minimum, over all inputs
            self.steps.append({"w_weight": weight, "gradient/w_weight": gradient, "loss": loss})
            velocity = momentum * velocity + gradient
            update = gradient + momentum * velocity if is_ahead else velocity
            weight = weight - (rate if step < decay else 1e-3 * rate) * update
            self.updated.append(weight)

    @property
    def share(self) -> float:
        """Share of the loss in the latter half of training that comes from the size of updates."""
        losses = [step["loss"] for step in self.steps[NUM_STEPS // 2 :]]
        return float(np.mean(self.losses[NUM_STEPS // 2 :]) / np.mean(losses))


def program_of(*numbers: dict[str, Any], kind: str = "SGD") -> ProgramRecord:
    """Return the record of a program with optimizers of some numbers."""
    optimizers = tuple(OptimizerRecord(type=kind, numbers=each) for each in numbers)
    return ProgramRecord(framework="PyTorch", optimizers=optimizers)


@pytest.mark.parametrize(("rate", "momentum"), [(0.01, 0.0), (0.03, 0.0), (0.05, 0.0), (0.003, 0.9), (0.001, 0.9)])
def test_share_when_training_rests_then_is_that_of_the_real_loss(run_rule, monkeypatch, rate, momentum):
    """The share agrees with the mean loss over all data, which training never sees."""
    monkeypatch.setattr(Trial, "program", program_of({"momentum": momentum}))
    line = Line(rate, momentum=momentum)
    (issue,) = run_rule("NoiseFloor", steps_of(line.steps), max_share=0.0)
    assert issue.value == pytest.approx(line.share, rel=0.35)
    assert (issue.step, issue.tensors) == (NUM_STEPS - 1, ("loss",))


def test_share_with_nesterov_momentum_is_that_of_the_real_loss(run_rule, monkeypatch):
    """Its first update of a gradient is nearly twice as long as that of a plain momentum."""
    monkeypatch.setattr(Trial, "program", program_of({"momentum": 0.9, "nesterov": True}))
    line = Line(0.003, momentum=0.9, is_ahead=True)
    (issue,) = run_rule("NoiseFloor", steps_of(line.steps), max_share=0.0)
    assert issue.value == pytest.approx(line.share, rel=0.35)


@pytest.mark.parametrize(
    ("program", "factor"),
    [
        (program_of({"betas": [0.9, 0.999]}, kind="Adam"), 10),
        (program_of({"beta_1": 0.9}, kind="AdamW"), 10),
        (program_of({}, {"momentum": 0.9}), 1),
        (program_of({"betas": [0.9, 0.99]}, kind="Lion"), 1),
        (program_of(), 1),
    ],
    ids=["Adam", "AdamW of Keras", "two optimizers", "signs", "unknown"],
)
def test_momentum_is_the_smallest_that_is_known(run_rule, monkeypatch, program, factor):
    """It prolongs the way of a gradient."""
    steps = steps_of(Line(0.01).steps)
    (plain,) = run_rule("NoiseFloor", steps, max_share=0.0)
    monkeypatch.setattr(Trial, "program", program)
    (prolonged,) = run_rule("NoiseFloor", steps, max_share=0.0)
    assert prolonged.value == pytest.approx(factor * plain.value)


def test_rate_that_falls_in_the_end_lets_the_loss_get_lower(run_rule):
    """Most of training may have a high rate."""
    assert run_rule("NoiseFloor", steps_of(Line(0.23, decay=NUM_STEPS - 20).steps)) == []


@pytest.mark.parametrize(("rate", "fires"), [(0.003, False), (0.03, False), (0.23, True)])
def test_rate_when_too_high_for_noisy_targets_then_fires(run_rule, rate, fires):
    """The default asks for three fifths of the loss."""
    line = Line(rate)
    assert (line.share > 0.6) is fires
    assert bool(run_rule("NoiseFloor", steps_of(line.steps))) is fires


def test_share_when_only_some_steps_are_saved_then_is_the_same(run_rule, monkeypatch):
    """With a momentum, an update over several steps holds most of the way that a gradient takes the weights."""
    monkeypatch.setattr(Trial, "program", program_of({"momentum": 0.9}))
    line = Line(0.003, momentum=0.9)
    steps = {(TRAIN, number): step for number, step in enumerate(line.steps) if number % 2 == 0}
    (issue,) = run_rule("NoiseFloor", steps, max_share=0.0)
    assert issue.value == pytest.approx(line.share, rel=0.4)


def test_share_when_weights_are_saved_after_the_update_then_is_the_same(run_rule, make_trial, monkeypatch):
    """Keras saves a weight with the gradient that has just moved it."""
    monkeypatch.setattr(Trial, "program", program_of({"momentum": 0.9}))
    line = Line(0.003, momentum=0.9)
    steps = [
        {
            "hid/weights/hid/kernel:0": weight,
            "gradients/hid/kernelGrad": step["gradient/w_weight"],
            "loss": step["loss"],
        }
        for weight, step in zip(line.updated, line.steps, strict=True)
    ]
    collections = KERAS_COLLECTIONS | {"weights": ["/weights/"], "gradients": ["^gradients/"]}
    found = run_rule("NoiseFloor", make_trial(steps_of(steps), collections=collections), max_share=0.0)
    assert [issue.value for issue in found] == [pytest.approx(line.share, rel=0.35)]


def test_factor_of_a_gradient_scaler_does_not_count(run_rule):
    """The script calls backward on 1,024 times the loss, and the optimizer divides gradients by it."""
    line = Line(0.05)
    (plain,) = run_rule("NoiseFloor", steps_of(line.steps), max_share=0.0)
    steps = [
        {
            "w_weight": step["w_weight"],
            "gradient/w_weight": 1024 * step["gradient/w_weight"],
            "MSELoss_output_0": step["loss"],
            "loss_output_0": 1024 * step["loss"],
        }
        for step in line.steps
    ]
    (scaled,) = run_rule("NoiseFloor", steps_of(steps), max_share=0.0)
    assert scaled.value == pytest.approx(plain.value)


@pytest.mark.parametrize(
    ("losses", "fires"),
    [
        (np.full(NUM_STEPS, 2.0), True),
        (np.linspace(4.0, 1.9, NUM_STEPS), True),
        (np.geomspace(200, 2, NUM_STEPS), False),
        (np.where(np.arange(NUM_STEPS) < 20, 30, 2.0), False),
        (np.where(np.arange(NUM_STEPS) < 2, 30, 2.0), True),
    ],
    ids=["rests", "falls slowly", "still falls", "has fallen", "has jumped at first"],
)
def test_loss_that_falls_is_on_its_way(run_rule, losses, fires):
    """Updates that would make most of a loss at rest do no harm to one that falls, or that is low already."""
    steps = [step | {"loss": loss} for step, loss in zip(Line(0.23).steps, losses, strict=True)]
    assert bool(run_rule("NoiseFloor", steps_of(steps))) is fires


def test_a_single_jump_is_no_noise(run_rule):
    """One gradient that is a hundred times as large as all others makes the mean product large, but not the median."""
    line = Line(0.03)
    line.steps[150]["gradient/w_weight"] = 1e4 * line.steps[150]["gradient/w_weight"]
    assert run_rule("NoiseFloor", steps_of(line.steps)) == []


def test_too_few_steps_or_several_losses_are_not_evaluated(run_rule):
    """The share is that of one loss, and needs some steps to be known."""
    steps = Line(0.23).steps
    assert run_rule("NoiseFloor", steps_of(steps[:80])) == []
    assert run_rule("NoiseFloor", steps_of([step | {"OtherLoss_output_0": 1.0} for step in steps])) == []
    assert run_rule("NoiseFloor", steps_of([step | {"loss": -1.0} for step in steps])) == []
    assert run_rule("NoiseFloor", steps_of([step | {"loss": np.nan} for step in steps])) == []


def test_sum_over_a_batch_is_no_larger_loss(run_rule, make_trial, monkeypatch):
    """Gluon differentiates the sum of the losses of the samples, which its trainer divides by their number."""
    monkeypatch.setattr(Trial, "program", program_of({"momentum": 0.9}))
    line = Line(0.003, momentum=0.9)
    steps = [
        {
            "dense0_weight": weight,
            "gradient/dense0_weight": 8 * step["gradient/w_weight"],
            "l2loss0_output_0": np.full(8, step["loss"]),
        }
        for weight, step in zip(line.updated, line.steps, strict=True)
    ]
    collections = GLUON_COLLECTIONS | {"gradients": ["^gradient/"]}
    found = run_rule("NoiseFloor", make_trial(steps_of(steps), collections=collections), max_share=0.0)
    assert [issue.value for issue in found] == [pytest.approx(line.share, rel=0.35)]


def test_gradients_of_something_else_than_the_loss_are_not_evaluated(run_rule):
    """A factor that the hook does not see makes the share impossibly large."""
    steps = [step | {"gradient/w_weight": 32768 * step["gradient/w_weight"]} for step in Line(0.05).steps]
    assert run_rule("NoiseFloor", steps_of(steps)) == []


def test_evaluation_between_steps_of_training_does_not_count(run_rule):
    """Losses of evaluation are no part of the series."""
    steps = Line(0.23).steps
    found = {}
    for number, step in enumerate(steps):
        found[TRAIN, number] = step
        found[EVAL, number] = {"loss": 1e9}
    found[TRAIN, len(steps)] = steps[-1]
    assert len(run_rule("NoiseFloor", found)) == 1


def test_targets_that_grow_are_no_task_to_settle_in(run_rule):
    """An agent that learns to act has a loss that follows its returns."""
    steps = [
        step | loss_tensors(np.zeros(8), np.full(8, 1.0 + number), loss=(1.0 + number) ** 2, name="MSELoss")
        for number, step in enumerate(Line(0.23).steps)
    ]
    for step in steps:
        del step["loss"]
    assert run_rule("NoiseFloor", steps_of(steps), max_share=0.0) == []
