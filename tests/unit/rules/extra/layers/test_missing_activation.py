"""MissingActivation fires when fully connected layers follow each other without an activation."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import KERAS_COLLECTIONS, TRAIN, fired_at


def steps_of_two_layers(between, num=4):
    rng = np.random.default_rng(0)
    found = {}
    for step in range(num):
        x, hidden = rng.normal(size=(8, 5)), rng.normal(size=(8, 6))
        found[TRAIN, step] = {
            "Net_a.weight": np.ones((6, 5)), "Net_b.weight": np.ones((2, 6)),
            "a_input_0": x, "a_output_0": hidden, "b_input_0": between(hidden), "b_output_0": hidden[:, :2],
        }  # fmt: skip
    return found


def test_layers_that_follow_each_other_unchanged_fire(run_rule):
    """An output that is the next layer's input unchanged fires after three steps, and a ReLU between them does not."""
    (issue, *_) = run_rule("MissingActivation", steps_of_two_layers(lambda hidden: hidden))
    assert (issue.step, issue.tensors) == (2, ("a_output_0",))
    assert run_rule("MissingActivation", steps_of_two_layers(lambda hidden: np.maximum(hidden, 0))) == []


@pytest.mark.parametrize(
    ("taken", "made", "after", "fires"),
    [(8, 3, 8, False), (3, 3, 8, True), (8, 3, 3, True), (8, 3, 2, True)],
    ids=["code of an autoencoder", "as wide as its input", "as wide as the next one", "narrower layer after layer"],
)
def test_a_bottleneck_needs_no_activation(run_rule, taken, made, after, fires):
    """A layer that is narrower than its neighbours makes two layers of low rank, on purpose."""
    rng, steps = np.random.default_rng(0), {}
    for step in range(4):
        code = rng.normal(size=(9, made))
        steps[TRAIN, step] = {
            "Net_a.weight": np.ones((made, taken)), "Net_b.weight": np.ones((after, made)),
            "a_input_0": rng.normal(size=(9, taken)), "a_output_0": code,
            "b_input_0": code, "b_output_0": rng.normal(size=(9, after)),
        }  # fmt: skip
    assert bool(run_rule("MissingActivation", steps)) == fires


@pytest.mark.parametrize(("num", "fires_at"), [(2, []), (3, [2])])
def test_layers_when_unchanged_for_fewer_steps_than_patience_then_do_not_fire(run_rule, num, fires_at):
    """Two steps in a row are fewer than the patience of three."""
    assert fired_at(run_rule("MissingActivation", steps_of_two_layers(lambda hidden: hidden, num))) == fires_at


@pytest.mark.parametrize(("others", "fires"), [(0, True), (1, False)])
def test_layers_when_fewer_than_half_follow_unchanged_then_do_not_fire(run_rule, others, fires):
    """One of two layers fires, and one of three does not, because a matrix may have factors on purpose."""
    apart = {"Net_c.weight": np.ones((2, 3)), "c_input_0": np.eye(8, 3), "c_output_0": np.ones((8, 2))}
    following = steps_of_two_layers(lambda hidden: hidden)
    steps = {key: {**step, **(apart if others else {})} for key, step in following.items()}
    assert bool(run_rule("MissingActivation", steps)) == fires


def steps_of_a_recurrent_cell(bend, *, has_head=False, is_fused=False):
    """Return steps of a cell that joins two of its layers for a third, and perhaps of two more layers before it."""
    rng = np.random.default_rng(0)
    found = {}
    for step in range(4):
        state, answer = rng.normal(size=(8, 6)), rng.normal(size=(8, 2))
        found[TRAIN, step] = {
            "Net_state.weight": np.ones((6, 9)), "Net_answer.weight": np.ones((2, 9)),
            "Net_last.weight": np.ones((2, 8)), "state_input_0": np.ones((8, 9)), "state_output_0": state,
            "answer_input_0": np.ones((8, 9)) * (1 + is_fused), "answer_output_0": answer,
            "last_input_0": np.hstack([bend(state), bend(answer)]), "last_output_0": answer * 2,
        }  # fmt: skip
        if has_head:
            for name in ("first", "second"):
                found[TRAIN, step] |= {
                    f"Net_{name}.weight": np.ones((9, 3)),
                    f"{name}_input_0": np.ones((8, 3)),
                    f"{name}_output_0": rng.normal(size=(8, 9)),
                }
    return found


def test_layers_when_all_are_joined_unchanged_then_fire(run_rule):
    """A cell whose layers are all linear is linear itself, whatever joins them."""
    (issue, *_) = run_rule("MissingActivation", steps_of_a_recurrent_cell(lambda values: values))
    assert (issue.step, issue.tensors) == (2, ("answer_output_0", "state_output_0"))
    assert run_rule("MissingActivation", steps_of_a_recurrent_cell(np.tanh)) == []


def test_projections_of_several_inputs_when_joined_then_do_not_fire(run_rule):
    """What a picture and a text give is often joined as it is, after other layers than fully connected ones."""
    assert run_rule("MissingActivation", steps_of_a_recurrent_cell(lambda values: values, is_fused=True)) == []


def test_layers_of_single_numbers_give_no_error(run_rule):
    """A loss with a weight of its own has no axis to join or to compare."""
    steps = steps_of_a_recurrent_cell(lambda values: values)
    for values in steps.values():
        values |= {"answer_output_0": np.float64(1.5), "state_input_0": np.float64(0.5)}
    assert run_rule("MissingActivation", steps) == []


def test_layers_when_some_are_joined_unchanged_then_do_not_fire(run_rule):
    """Projections that a model joins are common, and no fault if its other layers have activations."""
    assert run_rule("MissingActivation", steps_of_a_recurrent_cell(lambda values: values, has_head=True)) == []


@pytest.mark.parametrize(("kind", "fires"), [("Dropout", True), ("BatchNorm1d", True), ("GELU", False)])
def test_layers_that_bend_nothing_are_no_activation(run_rule, monkeypatch, kind, fires):
    """Dropout and batch normalisation between two layers leave them equivalent to one."""
    monkeypatch.setattr(
        Trial, "program", ProgramRecord(framework="PyTorch", layers=(LayerRecord(name="between", type=kind),))
    )
    steps = steps_of_two_layers(lambda hidden: hidden * 2)
    for values in steps.values():
        values["between_input_0"], values["between_output_0"] = values["a_output_0"], values["b_input_0"]
    assert fired_at(run_rule("MissingActivation", steps)) == ([2, 3] if fires else [])


@pytest.mark.parametrize(
    ("record", "between", "fires"),
    [
        (LayerRecord(name="a", type="Softmax"), lambda hidden: hidden, True),
        (LayerRecord(name="a", type="Linear", activation="softmax"), lambda hidden: hidden, True),
        (LayerRecord(name="a", type="Softmax"), lambda hidden: hidden * 2, False),
        (LayerRecord(name="b", type="Softmax"), lambda hidden: hidden, False),
        (LayerRecord(name="a", type="ReLU"), lambda hidden: hidden, False),
    ],
    ids=["softmax", "in the layer", "not what enters", "at the end", "ReLU"],
)
def test_softmax_between_layers_fires(run_rule, monkeypatch, record, between, fires):
    """A softmax that the record names fires if its output is the input of a fully connected layer."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=(record,)))
    messages = [issue.message for issue in run_rule("MissingActivation", steps_of_two_layers(between))]
    assert any("A softmax lies between layers in 'a_output_0'" in message for message in messages) == fires


def steps_of_convolutions(kinds, *, is_normalised, num=4):
    """Return steps of convolutions, each followed by a ReLU, or by nothing but perhaps a normalisation."""
    rng, found = np.random.default_rng(0), {}
    for step in range(num):
        values, tensors = rng.normal(size=(4, 3, 6, 6)), {}
        for name, kind in zip("abcdefgh", kinds, strict=False):
            outputs = rng.normal(size=values.shape)
            tensors |= {f"Net_{name}.weight": np.ones((3, 3, 3, 3)), f"{name}_input_0": values}
            tensors[f"{name}_output_0"] = outputs
            values = 2 * outputs if is_normalised else outputs
            if is_normalised:
                tensors |= {f"norm_{name}_input_0": outputs, f"norm_{name}_output_0": values}
            values = np.maximum(values, 0) if kind == "relu" else values
        found[TRAIN, step] = tensors
    return found


@pytest.mark.parametrize(
    ("kinds", "fires"),
    [
        (["plain"] * 4, True),
        (["relu"] * 4, False),
        (["plain", "relu"] * 3, False),  # separable
        (["plain", "plain", "relu"] * 2, True),
        (["plain"] * 2, False),
    ],
)
@pytest.mark.parametrize("is_normalised", [True, False])
def test_convolutions_that_follow_each_other_unchanged_fire(run_rule, monkeypatch, kinds, fires, is_normalised):
    """Convolutions without activations between them are equivalent to one, with or without a normalisation."""
    norms = tuple(LayerRecord(name=f"norm_{name}", type="BatchNorm2d") for name in "abcdefgh")
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=norms))
    steps = steps_of_convolutions(kinds, is_normalised=is_normalised)
    assert fired_at(run_rule("MissingActivation", steps)) == ([2] if fires else [])


@pytest.mark.parametrize(("activation", "fires"), [("linear", True), (None, True), ("relu", False)])
def test_convolutions_of_keras_may_have_their_activation_within(run_rule, make_trial, monkeypatch, activation, fires):
    """The output of such a layer enters the next one unchanged, so that only the record tells."""
    rng, steps = np.random.default_rng(0), {}
    for step in range(4):
        values, steps[TRAIN, step] = rng.normal(size=(4, 6, 6, 3)), {}
        for name in "abc":
            outputs = np.abs(rng.normal(size=values.shape))
            kernel = {f"{name}/weights/{name}/kernel:0": np.ones((3, 3, 3, 3))}
            steps[TRAIN, step] |= {**kernel, f"{name}/inputs": values, f"{name}/outputs": outputs}
            values = outputs
    layers = tuple(LayerRecord(name=name, type="Conv2D", activation=activation) for name in "abc")
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", layers=layers))
    trial = make_trial(steps, collections=KERAS_COLLECTIONS)
    assert fired_at(run_rule("MissingActivation", trial)) == [2] * fires


@pytest.mark.parametrize(("activation", "fires"), [("linear", True), ("relu", False)])
def test_an_activation_that_cuts_nothing_is_known_by_the_record(run_rule, make_trial, monkeypatch, activation, fires):
    """What a ReLU makes of positive numbers is what it gets."""
    rng, steps = np.random.default_rng(0), {}
    kernel = rng.random((5, 6), np.float32)
    for step in range(4):
        values = rng.random((8, 5), np.float32)
        steps[TRAIN, step] = {
            "a/weights/a/kernel:0": kernel, "b/weights/b/kernel:0": np.ones((6, 2)), "a/inputs": values,
            "a/outputs": values @ kernel, "b/inputs": values @ kernel, "b/outputs": np.ones((8, 2)),
        }  # fmt: skip
    layers = tuple(LayerRecord(name=name, type="Dense", activation=activation) for name in "ab")
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", layers=layers))
    trial = make_trial(steps, collections=KERAS_COLLECTIONS)
    assert bool(run_rule("MissingActivation", trial)) == fires
