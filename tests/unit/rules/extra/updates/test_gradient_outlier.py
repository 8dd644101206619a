"""GradientOutlier fires when the norm of a gradient is far above its usual one, or far too large."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import EVAL, TRAIN, fired_at, first_cause, steps_of, steps_with


def test_a_gradient_far_above_its_usual_norm_fires(run_rule):
    """A norm above 50 times the usual one fires, and so does one above 1000 at any step."""
    usual = [np.ones(4)] * 20
    assert fired_at(run_rule("GradientOutlier", steps_with("gradient/w", [*usual, np.ones(4) * 51]))) == [20]
    assert run_rule("GradientOutlier", steps_with("gradient/w", [*usual, np.ones(4) * 49])) == []
    assert fired_at(run_rule("GradientOutlier", steps_with("gradient/w", [np.ones(4) * 501]))) == [0]


@pytest.mark.parametrize(("norm", "fires_at"), [(1000.0, []), (1001.0, [0])], ids=["at the limit", "above it"])
def test_norm_when_above_the_absolute_limit_then_fires_at_once(run_rule, norm, fires_at):
    """A norm of exactly `max_norm` does not fire, and a larger one does at the first step."""
    assert fired_at(run_rule("GradientOutlier", steps_with("gradient/w", [np.array([norm])]))) == fires_at


def test_gradients_of_nan_when_among_usual_ones_then_do_not_fire(run_rule):
    """A norm of NaN is not above any limit, and the usual norm stays as it was."""
    values = [np.ones(4)] * 20 + [np.full(4, np.nan), np.ones(4) * 49, np.ones(4) * 60]
    assert fired_at(run_rule("GradientOutlier", steps_with("gradient/w", values))) == [22]


@pytest.mark.parametrize(("scale", "fires"), [(65536.0, False), (1.0, True), (60000.0, True), (2.0, True)])
def test_gradients_of_a_scaled_loss_are_compared_without_the_factor(run_rule, scale, fires):
    """A gradient scaler multiplies the loss by a large power of two; other factors are the script's own."""
    losses = {"CrossEntropyLoss_output_0": np.float32(0.75), "loss_output_0": np.float32(0.75 * scale)}
    steps = steps_of([{"gradient/w_weight": np.full(4, 65536.0), **losses}] * 3)
    assert bool(run_rule("GradientOutlier", steps, max_norm=3000)) == fires


@pytest.mark.parametrize(
    ("kind", "activation", "cause"),
    [
        ("LSTM", "relu", "exploding gradients"),
        ("SimpleRNN", "linear", "exploding gradients"),
        ("LSTM", "tanh", "learning rate too high"),
        ("Dense", "relu", "learning rate too high"),
    ],
)
def test_recurrent_layers_without_a_bound_point_at_the_steps_of_sequences(
    run_rule, monkeypatch, kind, activation, cause
):
    """What such a layer remembers may grow at each step of a sequence, whatever the updates are."""
    layer = LayerRecord(name="memory", type=kind, activation=activation)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", layers=(layer,)))
    steps = steps_with("gradient/w", [np.ones(4), np.ones(4) * 501])
    assert first_cause(run_rule("GradientOutlier", steps)) == cause


@pytest.mark.parametrize(("size", "fires"), [(0.9, False), (1.1, True)])
def test_gradients_of_a_harmless_size_do_not_fire(run_rule, size, fires):
    """A gradient may be a hundred times its usual size, where that is tiny."""
    values = [np.array([1e-3])] * 20 + [np.array([size])]
    assert bool(run_rule("GradientOutlier", steps_with("gradient/w_weight", values), window=10)) == fires


@pytest.mark.parametrize(("num_answers", "norm", "fires"), [(5, 60.0, False), (4, 60.0, True), (5, 1001.0, True)])
def test_the_gradient_of_an_agent_has_no_usual_norm(run_rule, num_answers, norm, fires):
    """An agent answers for single samples before it is trained; beyond the absolute limit it fires, too."""
    steps = {(EVAL, step): {"Net_input_0": np.zeros((1, 3))} for step in range(num_answers)}
    steps |= {(TRAIN, step): {"gradient/w": np.ones(1)} for step in range(20)}
    steps[TRAIN, 20] = {"gradient/w": np.array([norm])}
    assert bool(run_rule("GradientOutlier", steps)) == fires
