"""OverRegularisation fires when dropout, weight decay or label smoothing leaves too little to learn with."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.extra.layers.over_regularisation import Drops
from sagemaker_debug_ext.rules.recommended import RECOMMENDED
from support.rule_trials import TRAIN, fired_at, steps_of, steps_with

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("kept", "fires"), [(0.1, True), (0.5, False)])
def test_dropping_nearly_everything_fires(run_rule, kept, fires):
    """Dropout of nine tenths fires after ten steps, and dropout of a half does not."""
    rng = np.random.default_rng(0)
    inputs = np.ones((16, 16))
    steps = {
        (TRAIN, step): {"drop_input_0": inputs, "drop_output_0": inputs * (rng.random((16, 16)) < kept)}
        for step in range(10)
    }
    assert fired_at(run_rule("OverRegularisation", steps)) == ([9] if fires else [])


@pytest.mark.parametrize(("dropped", "fires"), [(3072, False), (3095, False), (3100, True)])
def test_share_of_dropped_elements_when_above_the_limit_then_fires(run_rule, dropped, fires):
    """Three quarters do not fire, nor what chance explains; 3 standard errors of 40,960 elements are 26 of 4,096."""
    inputs, kept = np.ones((64, 64)), (np.arange(4096) >= dropped).reshape(64, 64)
    steps = steps_of([{"drop_input_0": inputs, "drop_output_0": inputs * kept}] * 10)
    assert bool(run_rule("OverRegularisation", steps)) == fires


@pytest.mark.parametrize("seed", range(5))
def test_share_that_is_below_the_limit_does_not_fire_by_chance(run_rule, seed):
    """The median over few steps of few elements exceeds the limit now and then."""
    rng = np.random.default_rng(seed)
    inputs = np.ones((8, 8))
    steps = [{"drop_input_0": inputs, "drop_output_0": inputs * (rng.random((8, 8)) >= 0.75)} for _ in range(300)]
    assert not run_rule("OverRegularisation", steps_of(steps), **RECOMMENDED["OverRegularisation"])


@pytest.mark.parametrize(("dropped", "fires"), [(0.8, True), (0.72, False)])
def test_share_to_keep_that_is_given_as_the_share_to_drop_is_found_as_recommended(run_rule, dropped, fires):
    """Papers name the share that is kept, often 0.8, and arguments of today's layers the other one."""
    rng = np.random.default_rng(0)
    inputs, kept = np.ones((32, 16)), [rng.random((32, 16)) >= dropped for _ in range(20)]
    steps = steps_of([{"drop_input_0": inputs, "drop_output_0": inputs * each} for each in kept])
    assert bool(run_rule("OverRegularisation", steps, **RECOMMENDED["OverRegularisation"])) == fires


@pytest.mark.parametrize(("rate", "fires"), [(0.9, True), (0.99, False), (1.1, False)])
def test_weights_that_shrink_fire(run_rule, rate, fires):
    """Weights whose norm shrinks to a part of the first fire, and scales of normalisations may shrink."""
    steps = {
        (TRAIN, step): {"a_weight": np.ones((4, 4)) * rate**step, "n_weight": np.ones(2) * 0.1**step}
        for step in range(10)
    }
    assert bool(run_rule("OverRegularisation", steps)) == fires


def test_few_elements_give_no_share():
    """Fewer than 64 elements give no share, because they may be dropped by chance."""
    assert Drops().add(np.ones(63), np.zeros(63)) is None
    assert Drops().add(np.ones((8, 8)), np.zeros((8, 8))) == 1


@pytest.mark.parametrize(("share", "fires"), [(0.6, True), (0.4, False)])
def test_labels_that_are_smoothed_too_much_fire(run_rule, share, fires):
    """A loss value that mixes in more than half of equal labels fires."""

    def step(_):
        scores, labels = RNG.normal(size=(32, 4)), RNG.integers(0, 4, 32)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        plain, equal = -logs[np.arange(32), labels].mean(), -logs.mean()
        return {
            "CrossEntropyLoss_input_0": scores,
            "CrossEntropyLoss_input_1": labels,
            "CrossEntropyLoss_output_0": (1 - share) * plain + share * equal,
        }

    assert bool(run_rule("OverRegularisation", steps_of(map(step, range(30))))) == fires


@pytest.mark.parametrize(("shape", "fires"), [((3, 5), False), ((4, 4), True)])
def test_weights_of_few_elements_may_shrink(run_rule, shape, fires):
    """Fewer than 16 numbers may come near 0 because the task needs them there, as the slope of a line."""
    assert (
        bool(run_rule("OverRegularisation", steps_with("a_weight", [np.ones(shape) * 0.9**n for n in range(12)])))
        == fires
    )


@pytest.mark.parametrize(("num_steps", "fires_at"), [(9, []), (10, [9])])
def test_weights_that_shrink_when_fewer_steps_than_the_window_then_do_not_fire(run_rule, num_steps, fires_at):
    """Nine steps are fewer than the window of ten, even for weights that have all but vanished."""
    steps = steps_with("a_weight", [np.ones((4, 4)) * 0.1**step for step in range(num_steps)])
    assert fired_at(run_rule("OverRegularisation", steps)) == fires_at
