"""LearningRateSchedule fires when a schedule was made for another number of steps."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import OptimizerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import TRAIN, fired_at

RISING = np.linspace(0.004, 0.03, 40)


def steps_of(rates):
    return {(TRAIN, step): {"SGD_learning_rate_0": np.float32(rate)} for step, rate in enumerate(rates)}


def optimizers_with(monkeypatch, *each):
    records = [OptimizerRecord(type="SGD", numbers=numbers) for numbers in each]
    optimizers = (OptimizerRecord(type="Adam", numbers={"max_lr": 9.0}), *records)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", optimizers=optimizers))


@pytest.mark.parametrize(
    ("numbers", "rates", "fires"),
    [
        ({"initial_lr": 0.004, "max_lr": 0.1}, RISING, True),
        ({"initial_lr": 0.004, "max_lr": 0.1}, [0.004] * 40, True),
        ({"initial_lr": 0.004, "max_lr": 0.1}, [*RISING, 0.1, 0.05], False),
        ({"initial_lr": 0.1}, RISING, True),
        ({"initial_lr": 0.1}, [0.01] * 40, False),
        ({"initial_lr": 0.1}, RISING[::-1], False),
        ({}, RISING, False),
    ],
    ids=[
        "peak not reached", "never stepped", "peak reached", "warm-up not ended", "resumed", "resumed and falling",
        "unknown plan",
    ],
)  # fmt: skip
def test_a_learning_rate_that_only_rises_must_reach_its_plan(run_rule, monkeypatch, numbers, rates, fires):
    """Whether it does is known when the job has ended; a job that was resumed may be past the peak."""
    optimizers_with(monkeypatch, numbers)
    assert fired_at(run_rule("LearningRateSchedule", steps_of(rates))) == ([39] if fires else [])


def test_the_plan_of_one_of_several_optimizers_of_a_class_is_unknown(run_rule, monkeypatch):
    """Records have no numbers of optimizers; equal plans need none."""
    for other, fires_at in ((0.02, []), (0.1, [39])):
        optimizers_with(monkeypatch, {"max_lr": 0.1}, {"max_lr": other})
        assert fired_at(run_rule("LearningRateSchedule", steps_of(RISING))) == fires_at


@pytest.mark.parametrize(
    ("rates", "fires"),
    [
        (0.1 * 0.5 ** np.arange(100), True),
        (0.05 * (1 + np.cos(np.linspace(0, np.pi, 100))), False),
        (0.1 * 0.1 ** (np.arange(100) // 25), False),
    ],
    ids=["halved each step", "cosine", "a tenth at a time"],
)
def test_a_learning_rate_that_is_soon_almost_zero_fires(run_rule, rates, fires):
    """Schedules for epochs that are stepped once a batch end training early; others come near 0 at the end."""
    assert fired_at(run_rule("LearningRateSchedule", steps_of(rates))) == ([99] if fires else [])


@pytest.mark.parametrize(("losses", "fires"), [([2.3] * 100, True), ([2.3] * 50 + [1.0] * 50, False), ([], False)])
def test_a_rate_below_a_hundredth_fires_if_the_loss_has_not_fallen(run_rule, losses, fires):
    """A decay that was meant for epochs, and takes place at each batch, leaves a rate that trains little."""
    steps = steps_of(0.1 / (1 + 5.0 * np.arange(100)))
    for step, loss in enumerate(losses):
        steps[TRAIN, step]["loss"] = loss
    assert fired_at(run_rule("LearningRateSchedule", steps)) == ([99] if fires else [])
