"""GradientsNotReset fires when updates follow the sum of the gradients of all steps."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.extra.updates import gradients_not_reset
from support.rule_trials import TRAIN, first_cause

RNG = np.random.default_rng(0)


def steps_of_optimizer(optimizer, adds_up, first=0):
    """Return what a job saves whose optimizer gets the gradients of the steps, or their sums."""
    rng = np.random.default_rng(1)
    found, total, weight = {}, 0.0, rng.normal(size=40)
    momentum = mean = square = 0.0
    for step in range(first, first + 12):
        gradient = rng.normal(size=40) + 0.2
        found[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
        total = total + gradient
        used = total if adds_up else gradient
        momentum = 0.9 * momentum + used
        mean, square = 0.9 * mean + 0.1 * used, 0.999 * square + 0.001 * used**2
        count = step - first + 1
        adam = mean / (1 - 0.9**count) / (np.sqrt(square / (1 - 0.999**count)) + 1e-8)
        weight = weight - 0.01 * {"sgd": used, "momentum": momentum, "adam": adam}[optimizer]
    return found


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_updates_by_the_sum_of_gradients_fire(run_rule, optimizer):
    """Updates by the sum of gradients fire with each of the usual optimizers, and sound updates do not."""
    issues = run_rule("GradientsNotReset", steps_of_optimizer(optimizer, adds_up=True))
    assert issues
    assert issues[0].tensors == ("w_weight",)
    assert run_rule("GradientsNotReset", steps_of_optimizer(optimizer, adds_up=False)) == []


def test_without_the_first_steps_or_after_a_gap_there_is_no_verdict(run_rule):
    """Without the first steps, and after a gap, the sum is not known, so there is no verdict."""
    assert run_rule("GradientsNotReset", steps_of_optimizer("sgd", adds_up=True, first=5)) == []
    steps = {key: value for key, value in steps_of_optimizer("sgd", adds_up=True).items() if key[1] % 3}
    assert run_rule("GradientsNotReset", steps) == []


@pytest.mark.parametrize(("period", "fires"), [(10, True), (4, True), (1, False)])
def test_gradients_reset_now_and_then_fire(run_rule, period, fires):
    """Gradients that are reset only every few steps fire if there is an update at each step."""
    rng = np.random.default_rng(3)
    weight, total, steps = rng.normal(size=30), 0.0, {}
    for step in range(24):
        gradient = rng.normal(size=30)
        steps[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
        total = gradient if step % period == 0 else total + gradient
        weight = weight - 0.01 * total
    assert bool(run_rule("GradientsNotReset", steps)) == fires


def test_gradients_gathered_on_purpose_do_not_fire(run_rule):
    """Gradients accumulated on purpose do not fire, because the weight is updated with the last of them."""
    rng = np.random.default_rng(3)
    weight, total, steps = rng.normal(size=30), 0.0, {}
    for step in range(24):
        gradient = rng.normal(size=30)
        steps[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
        total = total + gradient
        if step % 4 == 3:
            weight, total = weight - 0.01 * total, 0.0
    assert run_rule("GradientsNotReset", steps) == []


@pytest.mark.parametrize(
    ("momentum", "cause"), [(0.999, "learning rate too high"), (0.99, None), (1.0, "gradients not reset")]
)
def test_a_momentum_that_is_far_too_large_is_no_sum(run_rule, momentum, cause):
    """A momentum of 0.999 has the learning rate as its cause, 0.99 is tolerated, and 1 is a sum."""
    steps, weight, velocity = {}, RNG.normal(size=60), 0.0
    for step in range(40):
        gradient = RNG.normal(size=60)
        steps[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
        velocity = momentum * velocity + gradient
        weight = weight - 0.01 * velocity
    assert first_cause(run_rule("GradientsNotReset", steps)) == cause


@pytest.mark.parametrize(
    ("momentum", "kept", "cause"),
    [
        (0.999, {}, "learning rate too high"),
        (1.0, {}, "gradients not reset"),
        (1.0, {"SGD_gradients_kept_0": 0.0}, "learning rate too high"),
    ],
    ids=["momentum", "sum", "momentum that is a sum"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_that_hardly_change_tell_a_momentum_from_a_sum(run_rule, monkeypatch, momentum, kept, cause, dtype):
    """For long, such a momentum explains sums far better than smaller ones do, but never as well as the sum itself.

    As long as either may be at work, the weight is examined.
    """
    monkeypatch.setattr(gradients_not_reset, "SETTLED", 8)
    rng = np.random.default_rng(6)
    steps, weight, velocity = {}, rng.normal(size=60), 0.0
    steady = rng.normal(size=60)
    for step in range(60):
        gradient = steady + 0.05 * max(step - 10, 0) * rng.normal(size=60)
        steps[TRAIN, step] = {"w_weight": weight.astype(dtype), "gradient/w_weight": gradient.astype(dtype), **kept}
        velocity = momentum * velocity + gradient
        weight = weight - 0.01 * velocity
    assert first_cause(run_rule("GradientsNotReset", steps)[:1]) == cause


@pytest.mark.parametrize("adds_up", [True, False])
def test_weights_that_sums_never_explain_are_soon_left_alone(run_rule, monkeypatch, adds_up):
    """A weight is no longer examined after many steps in a row that no sum explains better than gradients do."""
    looked_at, compute = [], gradients_not_reset.Optimizers.updates
    monkeypatch.setattr(gradients_not_reset, "SETTLED", 8)
    monkeypatch.setattr(
        gradients_not_reset.Optimizers,
        "updates",
        lambda self, gradients: looked_at.append(1) or compute(self, gradients),
    )
    rng = np.random.default_rng(7)
    steps, weight, total = {}, rng.normal(size=30), 0.0
    for step in range(40):
        gradient = rng.normal(size=30)
        steps[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
        total = total + gradient if adds_up else gradient
        weight = weight - 0.01 * total
    assert bool(run_rule("GradientsNotReset", steps)) == adds_up
    assert len(looked_at) == 39 if adds_up else len(looked_at) < 20


@pytest.mark.parametrize("adds_up", [True, False])
def test_updates_by_signs_of_sums_fire(run_rule, adds_up):
    """Updates by the signs of summed gradients fire, as of Lion."""
    steps, weight, average, total = {}, RNG.normal(size=60), 0.0, 0.0
    for step in range(12):
        gradient = RNG.normal(size=60) + 0.1
        steps[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
        total = total + gradient if adds_up else gradient
        weight = weight - 0.01 * np.sign(0.9 * average + 0.1 * total)
        average = 0.99 * average + 0.01 * total
    assert bool(run_rule("GradientsNotReset", steps)) == adds_up


def test_of_many_weights_a_part_of_each_tells_enough(make_trial, monkeypatch):
    """A part of each of many weights is enough, which bounds the memory, even if some are saved at few steps."""
    monkeypatch.setattr(gradients_not_reset, "MAX_FOLLOWED", 200)
    monkeypatch.setattr(gradients_not_reset, "FEWEST_FOLLOWED", 10)
    names = [f"{letter}_weight" for letter in "abcdefgh"]
    weight, total, steps = RNG.normal(size=60), 0.0, {}
    for step in range(12):
        gradient = RNG.normal(size=60)
        saved = names if step % 5 == 0 else names[:4]
        steps[TRAIN, step] = dict.fromkeys(saved, weight) | {f"gradient/{name}": gradient for name in saved}
        total = total + gradient
        weight = weight - 0.01 * total
    trial = make_trial(steps)
    rule = create_rule("GradientsNotReset", trial)
    assert [issue.tensors for issue in evaluate([rule], trial)][-1] == tuple(names[:4])
    assert {watch.weight.size for watch in rule._watches.values()} == {25}


@pytest.mark.parametrize(
    ("momentum", "begin"),
    [
        (1.0, "Gradients are not reset in {}the change of the first is what"),
        (0.999, "Updates run on in {}the change of the first is that of a momentum"),
    ],
    ids=["sum", "momentum"],
)
@pytest.mark.parametrize(("num_weights", "names"), [(1, "'a_weight': "), (3, "'a_weight' and 2 other tensors: ")])
def test_message_when_of_one_or_several_weights_then_has_no_verb_beside_their_names(
    run_rule, momentum, begin, num_weights, names
):
    """The message needs no singular and plural, because no verb stands beside the names."""
    rng, steps, velocity = np.random.default_rng(0), {}, 0.0
    layers = ["a_weight", "b_weight", "c_weight"][:num_weights]
    weight = rng.normal(size=60)
    for step in range(40):
        gradient = rng.normal(size=60)
        steps[TRAIN, step] = dict.fromkeys(layers, weight) | {f"gradient/{name}": gradient for name in layers}
        velocity = momentum * velocity + gradient
        weight = weight - 0.01 * velocity
    assert run_rule("GradientsNotReset", steps)[0].message.startswith(begin.format(names))


def steps_with_updates(kept, weight=True):
    """Return what `run` saves of a job, with whether each update uses the gradients of the one before once more."""
    steps = steps_of_optimizer("sgd", adds_up=weight)
    for (_, step), tensors in steps.items():
        if step and step - 1 < len(kept):
            tensors["SGD_gradients_kept_0"] = np.array(float(kept[step - 1]))
    return steps


@pytest.mark.parametrize(
    ("kept", "fires"),
    [
        pytest.param([1] * 11, True, id="never reset"),
        pytest.param([1, 1, 1, 0] * 3, True, id="reset at each fourth update"),
        pytest.param([0, 0, 1] * 4, False, id="kept now and then"),
        pytest.param([0] * 11, False, id="always reset"),
    ],
)
def test_updates_with_kept_gradients_fire_whatever_the_weights_look_like(run_rule, kept, fires):
    """What was seen of gradients decides, although the changes of weights look like sums."""
    issues = run_rule("GradientsNotReset", steps_with_updates(kept))
    assert bool(issues) == fires
    if fires:
        assert issues[0].tensors[0] == "SGD_gradients_kept_0"
        assert first_cause(issues) == "gradients not reset"


def test_kept_gradients_fire_where_clipping_hides_the_sum(run_rule):
    """The message counts updates."""
    issues = run_rule("GradientsNotReset", steps_with_updates([1] * 11, weight=False))
    assert issues[0].message.startswith("Gradients are not reset before the updates of SGD: 4 of 4 updates used")
