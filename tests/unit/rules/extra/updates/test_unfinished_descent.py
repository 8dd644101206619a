"""UnfinishedDescent fires when the gradient still points where it pointed before, and little has been learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.extra.updates._gradient_direction import GradientDirection
from support.rule_trials import EVAL, TRAIN, steps_of

NUM_STEPS = 120


def descent(rate: float, *, signal: float = 1.0, noise: float = 0.5, batch: int = 16, num: int = NUM_STEPS) -> Any:
    """Return steps of linear regression, whose targets depend on the inputs by `signal`."""
    rng = np.random.default_rng(0)
    weight, wanted = np.zeros(10), signal * rng.normal(size=10)
    steps = []
    for _ in range(num):
        inputs = rng.normal(size=(batch, 10))
        targets = inputs @ wanted + noise * rng.normal(size=batch)
        answers = inputs @ weight
        gradient = 2 * inputs.T @ (answers - targets) / batch
        steps.append(
            {
                "w_weight": weight,
                "gradient/w_weight": gradient,
                "MSELoss_input_0": answers[:, None],
                "MSELoss_input_1": targets[:, None],
                "MSELoss_output_0": float(np.mean((answers - targets) ** 2)),
            }
        )
        weight = weight - rate * gradient
    return steps


@pytest.mark.parametrize(
    ("options", "fires"),
    [
        ({"rate": 1e-6}, True),
        ({"rate": 1e-3}, True),
        ({"rate": 0.05}, False),
        ({"rate": 1e-3, "signal": 0.0}, False),
        ({"rate": 0.05, "signal": 0.05}, False),
        ({"rate": 1e-3, "num": 15}, False),
    ],
    ids=["tiny rate", "low rate", "learnt", "nothing to learn", "only noise left", "few steps"],
)
def test_training_that_ends_on_its_way_down_fires(run_rule, options, fires):
    """Noise has no direction, and neither has the gradient at a minimum, however little there was to learn."""
    issues = run_rule("UnfinishedDescent", steps_of(descent(**options)))
    assert [(issue.step, issue.tensors) for issue in issues] == [(NUM_STEPS - 1, ("MSELoss_output_0",))] * fires


def changed(steps: Any, change: Any) -> Any:
    """Return steps whose tensors are changed by a function of the number of the step and of its tensors."""
    return steps_of([tensors | change(number, tensors) for number, tensors in enumerate(steps)])


@pytest.mark.parametrize(
    ("change", "fires"),
    [
        (lambda _, __: {"w_weight": np.ones(10)}, False),
        (lambda number, _: {"w_weight": np.sin(number + np.arange(10.0))}, False),
        (lambda number, tensors: descent(1e-3)[number % 50], False),
        (lambda _, tensors: {"v_weight": np.ones(500), "gradient/v_weight": 99 * np.ones(500)}, True),
    ],
    ids=["still", "to and fro", "set anew", "others still"],
)
def test_parameters_that_do_not_follow_are_on_no_way(run_rule, change, fires):
    """Weight decay, a projection or an optimizer of another part hold them, or they begin again."""
    assert bool(run_rule("UnfinishedDescent", changed(descent(1e-3), change))) is fires


@pytest.mark.parametrize(("falls", "fires"), [(False, False), (True, True)])
def test_worst_of_several_losses_must_still_fall(run_rule, falls, fires):
    """One of two tasks may be hard to learn, and what is left of its error may be noise."""
    targets = np.random.default_rng(0).normal(size=(NUM_STEPS, 30, 1))

    def other(number, _):
        loss = 2.0 - number / NUM_STEPS if falls else 1.0
        return {"L1Loss_input_0": np.zeros((30, 1)), "L1Loss_input_1": targets[number], "L1Loss_output_0": loss}

    assert bool(run_rule("UnfinishedDescent", changed(descent(1e-3), other))) is fires


def test_factor_of_a_gradient_scaler_that_grows_makes_no_way(run_rule):
    """The factor is that of each step."""

    def scaled(number, tensors):
        factor = 1024.0 * 2 ** (number // 30)
        return {
            "gradient/w_weight": factor * tensors["gradient/w_weight"],
            "loss_output_0": factor * tensors["MSELoss_output_0"],
        }

    assert bool(run_rule("UnfinishedDescent", changed(descent(1e-3), scaled)))
    assert run_rule("UnfinishedDescent", changed(descent(0.05), scaled)) == []


def test_limit_is_the_gain_over_a_constant(run_rule):
    """What has been learnt in part is enough if little is asked for."""
    steps = steps_of(descent(5e-3))
    (issue,) = run_rule("UnfinishedDescent", steps, max_gain_percent=99)
    assert 10 < issue.value < 90
    assert run_rule("UnfinishedDescent", steps, max_gain_percent=issue.value - 1) == []


def test_slow_end_of_training_is_no_way_down(run_rule):
    """All data at once have no noise, so that the direction stays, but the gradient is small and the loss at rest."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(300, 2)) * [1.0, 0.05]
    targets = inputs @ [1.0, 1.0] + 2 * rng.normal(size=300)
    weight, steps = np.zeros(2), []
    for _ in range(NUM_STEPS):
        answers = inputs @ weight
        gradient = 2 * inputs.T @ (answers - targets) / 300
        tensors = {
            "w_weight": weight,
            "gradient/w_weight": gradient,
            "MSELoss_output_0": np.mean((answers - targets) ** 2),
        }
        steps.append(tensors | {"MSELoss_input_0": answers[:, None], "MSELoss_input_1": targets[:, None]})
        weight = weight - 0.1 * gradient
    assert run_rule("UnfinishedDescent", steps_of(steps)) == []


@pytest.mark.parametrize(("every", "fires"), [(NUM_STEPS, True), (10, False)])
def test_evaluation_does_not_count_and_other_parameters_begin_anew(run_rule, every, fires):
    """Steps of evaluation are left out, and gradients are followed as long as they are of the same parameters."""
    steps: dict[Any, dict[str, Any]] = {}
    for number, tensors in enumerate(descent(1e-3)):
        steps[TRAIN, number] = tensors
        steps[EVAL, number] = tensors | {"gradient/w_weight": -100 * tensors["gradient/w_weight"]}
        if number % every == 5:
            steps[TRAIN, number] = tensors | {"v_weight": np.ones(3), "gradient/v_weight": np.full(3, np.inf)}
    assert bool(run_rule("UnfinishedDescent", steps)) is fires


@given(st.integers(16, 200), st.floats(0, 10), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_share_is_that_of_the_mean_without_bias(num, size, seed):
    """The share of a known direction in noise is found, whatever the number of steps and the size of the direction."""
    rng = np.random.default_rng(seed)
    mean = size * np.ones(2000) / np.sqrt(2000)
    direction, weight = GradientDirection(), np.zeros(2000)
    for _ in range(num):
        gradient = mean + rng.normal(size=2000) / np.sqrt(2000)
        direction.observe({"w": weight}, {"w": gradient})
        weight = weight - 0.1 * gradient
    found = direction.persistence()
    expected = size**2 / (size**2 + 1)
    assert abs((found.share if found is not None else 0.0) - expected) < 0.1
    assert found is None or size < 1 or (abs(found.cosine - 1) < 0.1 and abs(found.size - 1) < 0.3)


def test_direction_of_many_parameters_is_sampled():
    """A large model takes no more memory than 65,536 numbers for each part."""
    direction = GradientDirection()
    for step in range(40):
        weights = {"w": np.full((1000, 500), -float(step)), "b": np.full(10, -float(step))}
        direction.observe(weights, {name: np.ones_like(weight) for name, weight in weights.items()})
    found = direction.persistence()
    assert found is not None
    assert found == pytest.approx((1, 1, 1, 1), rel=0.15)
