"""GradientDecay fires when gradients shrink from layer to layer by orders of magnitude."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import classification_steps, fired_at, steps_of


@pytest.mark.parametrize(
    ("share", "steps"), [(0.9e-6, [2, 3]), (1.1e-6, []), (0.0, []), (0.9e-10, [0, 1, 2, 3]), (1.1e-10, [2, 3])]
)
def test_gradients_that_vanish_on_their_way_fire(run_rule, share, steps):
    """A gradient below 1e-6 of the largest fires after three steps, below 1e-10 at once, and 0 has another cause."""
    sizes = {"a_weight": 1.0, "b_weight": 0.1, "c_weight": 1e-3, "d_weight": share}
    weights = {name: np.ones((2, 3)) for name in sizes}
    gradients = {f"gradient/{name}": np.full((2, 3), size) for name, size in sizes.items()}
    offset = {"e_weight": np.ones(3), "gradient/e_weight": np.full(3, 1e-12)}
    issues = run_rule("GradientDecay", steps_of([{**weights, **gradients, **offset}] * 4))
    assert [issue.step for issue in issues] == steps


@pytest.mark.parametrize(("share", "confidence", "steps"), [(9e-4, 0.0, [2]), (9e-4, 0.3, []), (1.1e-3, 0.0, [])])
def test_small_gradients_explain_a_model_that_learns_nothing(run_rule, share, confidence, steps):
    """A gradient below a thousandth of the largest fires at the end, unless predictions beat a constant."""
    sizes = {"a_weight": 1.0, "b_weight": 0.1, "c_weight": 0.01, "d_weight": share}
    tensors = {name: np.ones((2, 3)) for name in sizes}
    tensors |= {f"gradient/{name}": np.full((2, 3), size) for name, size in sizes.items()}
    trained = {step: {**tensors, **losses} for step, losses in classification_steps(confidence).items()}
    assert [issue.step for issue in run_rule("GradientDecay", trained)] == steps


def test_gradients_that_vanish_later_do_not_fire(run_rule):
    """Gradients that vanish after sound first steps do not fire, because weights may have shrunk."""
    names = [f"{letter}_weight" for letter in "abcd"]
    sound = {name: np.ones((2, 3)) for name in names} | {f"gradient/{name}": np.ones((2, 3)) for name in names}
    later = {**sound, "gradient/a_weight": np.full((2, 3), 1e-12)}
    assert run_rule("GradientDecay", steps_of([sound, *[later] * 5])) == []


@pytest.mark.parametrize("odd", [np.inf, np.nan])
def test_a_gradient_that_is_not_finite_says_nothing_of_the_others(run_rule, odd):
    """A gradient that is not finite, as of a scaled loss, is left out of the comparison."""
    names = [f"{letter}_weight" for letter in "abcde"]
    sound = {name: np.ones((2, 3)) for name in names} | {f"gradient/{name}": np.ones((2, 3)) for name in names}
    beyond = {**sound, "gradient/a_weight": np.full((2, 3), odd)}
    vanishing = {"gradient/b_weight": np.full((2, 3), 1e-7)}
    assert run_rule("GradientDecay", steps_of([beyond, *[sound] * 3])) == []
    issues = run_rule("GradientDecay", steps_of([{**beyond, **vanishing}, *[{**sound, **vanishing}] * 3]))
    assert [issue.step for issue in issues] == [2, 3]


@pytest.mark.parametrize(("num_layers", "fires_at"), [(3, []), (4, [0])])
def test_layers_when_fewer_than_four_then_give_no_verdict(run_rule, num_layers, fires_at):
    """Three layers are too few for a verdict, and four are enough."""
    names = ["a_weight", "b_weight", "c_weight", "d_weight"][:num_layers]
    tensors = {name: np.ones((2, 3)) for name in names} | {f"gradient/{name}": np.ones((2, 3)) for name in names}
    tensors["gradient/a_weight"] = np.full((2, 3), 1e-12)
    assert fired_at(run_rule("GradientDecay", steps_of([tensors]))) == fires_at


@pytest.mark.parametrize(
    ("num_small", "names"), [(1, "'gradient/a_weight': "), (3, "'gradient/a_weight' and 2 other tensors: ")]
)
def test_message_when_one_or_several_layers_vanish_then_has_no_verb_beside_their_names(run_rule, num_small, names):
    """The message needs no singular and plural, because no verb stands beside the names."""
    layers = [f"{letter}_weight" for letter in "abcdefgh"[: num_small + 4]]
    step = {name: np.ones((2, 3)) for name in layers}
    for number, name in enumerate(layers):
        step[f"gradient/{name}"] = np.full((2, 3), 1e-12 if number < num_small else 1.0)
    (issue,) = run_rule("GradientDecay", steps_of([step]))
    assert f"the layers in {names}the mean absolute value of the first is" in issue.message
