"""InitialWeights fires when weights start far too large, far too small, or all equal."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.extra.initialization.initial_weights import gain
from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import GLUON_COLLECTIONS, TRAIN, fired_at, steps_of, steps_with

RNG = np.random.default_rng(0)


def layers_of(*gains):
    """Return weights with these gains."""
    signs = np.where(np.arange(80).reshape(5, 16) % 2, 0.25, -0.25)
    return {f"fc{number}_weight": gain * signs for number, gain in enumerate(gains)}


@pytest.mark.parametrize(("size", "fires"), [(0.57, False), (7.9, False), (8.1, True), (0.021, False), (0.019, True)])
def test_the_gain_of_a_layer_must_be_usual(run_rule, size, fires):
    """A gain beyond 8 or below 0.02 fires, at the first step only."""
    issues = run_rule("InitialWeights", {(TRAIN, step): layers_of(size, size) for step in range(3)})
    assert fired_at(issues) == ([0] if fires else [])


@pytest.mark.parametrize(("size", "fires"), [(0.01, False), (9.0, True)])
def test_a_single_layer_may_start_small(run_rule, size, fires):
    """Policies of agents often end in a layer with a gain of a hundredth; a large one needs no second one."""
    assert bool(run_rule("InitialWeights", {(TRAIN, 0): layers_of(1.0, size)})) == fires


def test_some_weights_have_no_gain(run_rule):
    """Weights of one axis, weights of 0 and embeddings are not evaluated."""
    assert gain(np.ones(5)) is None
    assert gain(np.zeros((5, 5))) is None
    assert run_rule("InitialWeights", {(TRAIN, 0): {"embedding.weight": np.ones((5, 900))}}) == []


@pytest.mark.parametrize(
    ("kind", "size", "fires"),
    [
        ("Embedding", 0.0, False),
        ("Embedding", 1e-4, False),
        ("Linear", 1e-4, True),
        ("Embedding", 12.0, False),
        ("Embedding", 36.0, True),
    ],
)
def test_tables_of_vectors_have_another_gain_whatever_their_names(run_rule, monkeypatch, kind, size, fires):
    """The inputs of an embedding are indices, so its vectors may be small, and their number does not count."""
    layers = tuple(LayerRecord(name=name, type=kind) for name in ("users", "items"))
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=layers))
    weights = layers_of(size, size).values()  # of a root mean square of a quarter of that size
    tables = {f"Net_{layer.name}.weight": weight for layer, weight in zip(layers, weights, strict=True)}
    issues = run_rule("InitialWeights", {(TRAIN, 0): tables})
    assert bool(issues) == fires


@pytest.mark.parametrize(("value", "fires"), [(0.05, True), (0.0, False), (1.0, False)])
def test_weights_of_one_value_fire(run_rule, value, fires):
    """A weight with one value other than 0 and 1 fires, and one with an element for each unit does not."""
    assert bool(run_rule("InitialWeights", steps_of([{"conv_weight": np.full((4, 1, 3, 3), value)}]))) == fires
    assert run_rule("InitialWeights", steps_of([{"norm_weight": np.full((4, 1, 1), 0.5)}])) == []


@pytest.mark.parametrize(
    ("name", "size", "fires"), [("hh_l0", 4.1, True), ("hh_l0", 3.9, False), ("ih_l0", 4.1, False)]
)
def test_recurrent_weights_have_to_be_smaller(run_rule, name, size, fires):
    """The limit of recurrent weights is half of the usual one, because they are applied at each step."""
    weight = np.where(RNG.random((8, 16)) < 0.5, size / 4, -size / 4)
    assert bool(run_rule("InitialWeights", steps_of([{f"rnn.weight_{name}": weight}]))) == fires


@pytest.mark.parametrize(("size", "threshold"), [(8.1, 8.0), (0.019, 0.02)], ids=["too large", "too small"])
def test_issue_when_a_gain_is_beyond_a_limit_then_has_that_limit(run_rule, size, threshold):
    """The threshold of an issue is the limit that the gain has passed."""
    (issue,) = run_rule("InitialWeights", {(TRAIN, 0): layers_of(size, size)})
    assert (issue.value, issue.threshold) == (pytest.approx(size), threshold)


@pytest.mark.parametrize(("factor", "fires_at"), [(1.09, [1]), (1.11, [])], ids=["a small update", "a large update"])
def test_weights_saved_after_the_update_are_evaluated_if_updates_are_small(make_trial, run_rule, factor, fires_at):
    """A weight that MXNet saved after the first update is evaluated if the second changed it by a tenth at most."""
    weight = RNG.normal(size=(5, 16)) * 50
    steps = steps_with("dense0_weight", [weight, weight * factor])
    assert fired_at(run_rule("InitialWeights", make_trial(steps, collections=GLUON_COLLECTIONS))) == fires_at


@pytest.mark.parametrize(("shape", "fires"), [((1, 1), False), ((1, 2), True)])
def test_a_slope_may_have_any_size(run_rule, shape, fires):
    """The weight of a line from one number to another depends on their units."""
    assert bool(run_rule("InitialWeights", {(TRAIN, 0): {"w_weight": np.arange(50.0, 50 + shape[1])[None]}})) == fires
