"""FrozenParameters fires when a parameter does not change while others do, or while it has a gradient."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.extra.updates.frozen_parameters import (
    CUT_OFF,
    NO_BACKWARD,
    NO_GRADIENT,
    has_directions,
    have_learnt,
)
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.store.format.program import OptimizerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import KERAS_COLLECTIONS, TRAIN, fired_at, first_cause, steps_of, steps_with


@pytest.mark.parametrize(
    ("gradient", "reason"),
    [(np.ones(2), "no optimizer changes it"), (np.zeros(2), "its gradient is 0"), (None, "no gradient reaches it")],
)
def test_message_has_the_reason(run_rule, gradient, reason):
    """The message has the reason, which follows from the gradients that were saved."""
    steps = {}
    for step in range(7):
        steps[TRAIN, step] = {
            "a_weight": np.ones(2),
            "b_weight": np.full(2, 1.0 + step),
            "gradient/b_weight": np.ones(2),
        }
        if gradient is not None:
            steps[TRAIN, step]["gradient/a_weight"] = gradient
    issues = run_rule("FrozenParameters", steps)
    assert fired_at(issues) == [5, 6]
    assert issues[0].tensors == ("a_weight",)
    assert reason in issues[0].message


@pytest.mark.parametrize(
    ("growth", "gradient", "options", "fires"),
    [
        (0.0, True, {}, True),
        (0.1, True, {}, False),  # it is trained
        (0.0, False, {}, False),  # without a gradient, it may be anything
        (0.0, True, {"tensor_regex": "^b_weight"}, False),
    ],
)
def test_parameters_when_in_no_collection_then_gradients_tell_them(run_rule, growth, gradient, options, fires):
    """A parameter whose name has neither "weight" nor "bias" is checked if its gradient was saved."""
    steps = {}
    for step in range(7):
        steps[TRAIN, step] = {
            "pos_emb": np.full((1, 4, 2), growth * step),
            "b_weight": np.full(2, 1.0 + step),
            "gradient/b_weight": np.ones(2),
        }
        if gradient:
            steps[TRAIN, step]["gradient/pos_emb"] = np.ones((1, 4, 2))
    issues = run_rule("FrozenParameters", steps, **options)
    assert [issue.tensors for issue in issues] == ([("pos_emb",)] * 2 if fires else [])


def test_a_change_resets_the_count(run_rule):
    """Any change resets the count, even a small one."""
    values = [np.ones(2)] * 5 + [np.ones(2) + 1e-7] * 5
    assert run_rule("FrozenParameters", steps_with("a_weight", values)) == []


@pytest.mark.parametrize(("size", "fires"), [(9, False), (11, True)])
def test_a_sliver_of_the_model_may_stand_still(run_rule, size, fires):
    """Offsets may stand still if they are less than a hundredth of all parameters."""
    steps = {(TRAIN, step): {"a_bias": np.zeros(size), "b_weight": np.full((20, 50), 1.0 + step)} for step in range(7)}
    assert bool(run_rule("FrozenParameters", steps, tensor_regex="weight,bias")) is fires


def test_no_weight_is_a_sliver(run_rule):
    """A weight that stands still fires, however small it is."""
    steps = {
        (TRAIN, step): {"a_weight": np.ones((1, 2)), "b_weight": np.full((20, 50), 1.0 + step)} for step in range(7)
    }
    assert fired_at(run_rule("FrozenParameters", steps)) == [5, 6]


@pytest.mark.parametrize(
    ("scale", "offset", "gradient", "fires"),
    [
        (0.5, 0.5, False, False),  # trained before, and left out of training
        (0.5, 0.5, True, False),  # left out of the optimizer only
        (0.5, 0.3, False, True),  # drawn from a normal distribution, offsets as they are by default
        (0.1, 0.5, False, True),  # too small to have been trained
    ],
)
def test_layers_that_were_trained_before_may_be_frozen(run_rule, scale, offset, gradient, fires):
    """Layers outside the optimizer are tolerated if their values cannot be those of new layers."""
    rng = np.random.default_rng(2)
    layer = {"a.weight": np.clip(rng.normal(size=(12, 9)), -2.5, 2.5) * scale / 3, "a.bias": np.full(12, offset)}
    if gradient:
        layer |= {"gradient/a.weight": np.ones((12, 9)), "gradient/a.bias": np.ones(12)}
    steps = {
        (TRAIN, step): {**layer, "b.weight": np.full((2, 12), 1.0 + step), "gradient/b.weight": np.ones((2, 12))}
        for step in range(7)
    }
    assert bool(run_rule("FrozenParameters", steps)) is fires


def test_weights_that_are_uniform_are_new():
    """Weights with a uniform distribution count as new, and others as trained if their offsets are large."""
    rng = np.random.default_rng(3)
    uniform, other = rng.uniform(-1, 1, size=(30, 16)), rng.normal(size=(30, 16))
    assert not have_learnt([(uniform, np.ones(30), 0)])
    assert have_learnt([(other, np.ones(30), 0)])
    assert not have_learnt([(other, None, 0)])


@pytest.mark.parametrize(("scale", "learnt"), [(1.0, False), (np.linspace(0.9, 1.1, 8), True)])
def test_new_normalisations_have_one_scale(scale, learnt):
    """Scales of a normalisation that differ from each other count as trained."""
    assert have_learnt([(np.ones((3, 3)), None, 0)], [np.full(8, scale)]) == learnt


@pytest.mark.parametrize(("strength", "learnt"), [(1.0, False), (2.5, True)])
def test_random_weights_have_no_direction_of_their_own(strength, learnt):
    """Weights with a direction that stands out count as trained, as vectors of words have one."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(200, 16))
    table[:, 0] *= strength
    assert has_directions(table, 0) == have_learnt([(table, None, 0)]) == learnt


@pytest.mark.parametrize(("moves_at", "fires"), [(30, False), (99, True)])
def test_layers_may_be_trained_later(run_rule, moves_at, fires):
    """A layer that moves within `patience_running` is tolerated."""
    head = [np.full((3, 3), float(step)) for step in range(40)]
    body = [np.eye(3) + (step >= moves_at) * step for step in range(40)]
    steps = {(TRAIN, step): {"a_weight": body[step], "b_weight": head[step]} for step in range(40)}
    issues = run_rule("FrozenParameters", steps, patience=10, patience_running=50)
    assert fired_at(issues) == ([39] if fires else [])


def test_a_parameter_that_moved_and_has_a_gradient_is_not_frozen(run_rule):
    """A parameter that moved before and has a gradient is not frozen, because its learning rate became too small."""
    steps = {
        (TRAIN, step): {"a_weight": np.ones(2) * min(step, 2), "gradient/a_weight": np.ones(2)} for step in range(12)
    }
    assert run_rule("FrozenParameters", steps) == []


@pytest.mark.parametrize(("slope_of_weight", "fires"), [(1.0, False), (0.0, True)])
def test_an_offset_without_effect_on_the_loss_is_tolerated(run_rule, slope_of_weight, fires):
    """An offset whose gradient is 0 is tolerated as long as the weight beside it learns."""
    steps = steps_of(
        {
            "Net_a.weight": np.full((2, 2), 1.0 + step * slope_of_weight),
            "Net_a.bias": np.ones(2),
            "Net_b.weight": np.full((2, 2), 1.0 + step),
            "gradient/Net_a.weight": np.full((2, 2), slope_of_weight),
            "gradient/Net_a.bias": np.zeros(2),
            "gradient/Net_b.weight": np.ones((2, 2)),
        }
        for step in range(8)
    )
    assert bool(run_rule("FrozenParameters", steps)) == fires


@pytest.mark.parametrize(
    ("other", "shape", "cause"),
    [
        (0.0, (2, 5), "initialisation"),
        (1.0, (2, 5), "loss or output"),
        (0.0, (4, 5), "loss or output"),
        (0.0, (3, 2), "loss or output"),
        (0.0, (2,), "loss or output"),
    ],
    ids=["both are 0", "one is 0", "no product", "side by side", "a bias"],
)
def test_weights_that_are_multiplied_are_not_both_zero_at_first(run_rule, other, shape, cause):
    """Neither has a gradient then, as of an adapter of low rank; that of other weights is 0 because of the loss."""
    values = {"lora_A": np.zeros((3, 2)), "lora_B": np.full(shape, other)}
    gradients = {f"gradient/{name}": np.zeros_like(value) for name, value in values.items()}
    issues = run_rule("FrozenParameters", steps_of([{**values, **gradients, "loss": 1.0}] * 8))
    assert first_cause(issues) == cause


@pytest.mark.parametrize("has_learnt", [False, True])
@pytest.mark.parametrize("loss", [1.0, 0.0])
def test_gradients_that_are_all_zero_come_from_the_loss(run_rule, loss, has_learnt):
    """Gradients that are all 0 have the loss as their cause, unless the model has learnt until the loss is 0."""
    first, later = ({f"{name}_weight": np.full((2, 2), value) for name in "ab"} for value in (2.0, 1.0))
    gradients = {f"gradient/{name}": np.zeros((2, 2)) for name in later}
    steps = [{**later, **gradients, "loss": loss}] * 8
    if has_learnt:
        steps = [{**first, **{name: value + 1 for name, value in gradients.items()}, "loss": 1.0}, *steps]
    cause = "parameters not trained" if has_learnt and loss == 0 else "loss or output"
    assert first_cause(run_rule("FrozenParameters", steps_of(steps))) == cause


@pytest.mark.parametrize(("shape", "fires"), [((2,), False), ((1, 2), True)], ids=["an offset", "two axes"])
def test_only_an_offset_is_tolerated_beside_a_weight_that_learns(run_rule, shape, fires):
    """A parameter of two axes with a gradient of 0 fires, even under the name of an offset."""
    steps = steps_of(
        {
            "Net_a.weight": np.full((2, 2), 1.0 + step), "gradient/Net_a.weight": np.ones((2, 2)),
            "Net_a.bias": np.ones(shape), "gradient/Net_a.bias": np.zeros(shape),
        }
        for step in range(8)
    )  # fmt: skip
    assert bool(run_rule("FrozenParameters", steps, tensor_regex="^Net_a")) == fires


def test_steps_without_a_backward_pass_do_not_count(run_rule):
    """A policy that is asked for many actions before each update is not frozen."""
    steps, weight = {}, np.ones((4, 4))
    for step in range(40):
        steps[TRAIN, step] = {"w_weight": weight.copy()}
        if step % 20 == 19:
            steps[TRAIN, step]["gradient/w_weight"] = np.ones((4, 4))
            weight = weight - 0.1
    assert run_rule("FrozenParameters", steps) == []
    without = {key: {"w_weight": np.ones((4, 4))} for key in steps}
    assert run_rule("FrozenParameters", without)


def test_a_parameter_that_moves_between_backward_passes_is_not_frozen(run_rule):
    """Two passes of a model share an update, which comes after the second, and only the second has gradients."""
    steps, weight = {}, np.ones((4, 4))
    for step in range(40):
        steps[TRAIN, step] = {"w_weight": weight.copy()}
        if step % 2:
            steps[TRAIN, step]["gradient/w_weight"] = np.ones((4, 4))
            weight = weight - 0.1
    assert run_rule("FrozenParameters", steps) == []


def test_a_frozen_parameter_is_told_although_the_last_step_has_no_backward_pass(run_rule):
    """As where the script evaluates at its end without saying so; that step counts for nothing."""
    steps = {(TRAIN, step): {"w_weight": np.ones((4, 4)), "gradient/w_weight": np.ones((4, 4))} for step in range(20)}
    steps[TRAIN, 20] = {"w_weight": np.ones((4, 4))}
    (issue,) = run_rule("FrozenParameters", steps, patience=10, patience_running=200)
    assert issue.step == 20
    assert "same for 19 saved steps (it has a gradient, so no optimizer changes it)" in issue.message


@pytest.mark.parametrize(
    ("name", "cause"),
    [("LSTM_weight_hh_l0", "architecture"), ("LSTM_weight_ih_l0", "parameters not trained")],
)
def test_recurrent_weights_of_single_steps_point_at_the_shape_of_the_data(run_rule, name, cause):
    """Sequences of one step leave nothing to remember, so that the gradient of what remembers is 0."""
    moving = [{"head_weight": np.full((3, 3), step), "gradient/head_weight": np.ones((3, 3))} for step in range(20)]
    still = {name: np.ones((4, 4)), f"gradient/{name}": np.zeros((4, 4))}
    issues = run_rule("FrozenParameters", steps_of([{**step, **still} for step in moving]))
    assert first_cause(issues) == cause


def test_gradients_are_no_parameters(run_rule, make_trial):
    """In Keras, the gradient of recurrent weights is 0 at all steps as well, and is named with the weights alone."""
    names = "lstm/weights/lstm/cell/recurrent_kernel:0", "gradients/lstm/cell/recurrent_kernelGrad"
    still = {names[0]: np.ones((4, 4)), names[1]: np.zeros((4, 4))}
    moving = {"d/weights/d/kernel:0": np.ones((3, 3)), "gradients/d/kernelGrad": np.ones((3, 3))}
    steps = [{**still, **{name: value * step for name, value in moving.items()}} for step in range(1, 20)]
    issues = run_rule(
        "FrozenParameters", make_trial(steps_of(steps), collections={**KERAS_COLLECTIONS, "weights": ["kernel:0"]})
    )
    assert {issue.tensors for issue in issues} == {names[:1]}
    assert first_cause(issues) == "architecture"


@pytest.mark.parametrize(
    ("trained", "copied_at", "updated_at", "fires"),
    [
        pytest.param(("G_weight", "D_weight"), None, None, True, id="what a generator makes is detached"),
        pytest.param(("D_weight",), None, None, False, id="no optimizer has it"),
        pytest.param((), None, None, False, id="nothing is recorded"),
        pytest.param(("G_weight", "D_weight"), None, 30, False, id="its gradient comes later"),
        pytest.param(("G_weight", "D_weight"), 14, None, False, id="a target network that is copied"),
    ],
)
def test_parameters_that_an_optimizer_is_to_train_need_a_gradient_some_time(
    run_rule, monkeypatch, trained, copied_at, updated_at, fires
):
    """A model whose steps are without a backward pass is judged by whether its gradient ever comes."""
    optimizer = OptimizerRecord(type="Adam", parameters=trained)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", optimizers=(optimizer,)))
    steps = {}
    for step in range(0, 40, 2):
        is_copied = copied_at is not None and step >= copied_at
        steps[TRAIN, step] = {"G_weight": np.full((4, 4), 1.0 + is_copied)}
        steps[TRAIN, step + 1] = {"D_weight": np.full((4, 4), float(step)), "gradient/D_weight": np.ones((4, 4))}
    if updated_at is not None:
        steps[TRAIN, updated_at + 1]["gradient/G_weight"] = np.ones((4, 4))
    issues = run_rule("FrozenParameters", steps)
    assert [issue.tensors for issue in issues] == ([("G_weight",)] if fires else [])
    assert not issues or (first_cause(issues) == "parameters not trained" and CUT_OFF in issues[0].message)


@pytest.mark.parametrize(
    ("frozen", "trained", "fires"),
    [
        ("Net_1_fc.weight", ("Net_fc.weight",), False),
        ("Net_fc.weight", ("Net_1_fc.weight",), False),
        ("Net_1_fc.weight", ("Net_fc.weight", "Net_1_fc.weight"), True),
        ("Other_fc.weight", ("Net_fc.weight",), True),
        ("Net_1_fc.weight", (), True),
    ],
)
def test_a_second_model_that_gets_copies_is_no_fault(run_rule, monkeypatch, frozen, trained, fires):
    """An optimizer has the other one, as it has the network whose copy a target network is."""
    optimizer = OptimizerRecord(type="Adam", parameters=trained)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", optimizers=(optimizer,)))
    other = "Net_fc.weight" if frozen != "Net_fc.weight" else "Net_1_fc.weight"
    steps = {
        (TRAIN, step): {
            frozen: np.full((4, 4), 0.1), other: np.full((4, 4), float(step)), f"gradient/{other}": np.ones((4, 4)),
        }
        for step in range(12)
    }  # fmt: skip
    assert bool(run_rule("FrozenParameters", steps)) is fires


@pytest.mark.parametrize(
    ("have_gradients", "is_named"), [((False,), True), ((False, True), False), ((None,), False), ((), False)]
)
def test_parameters_whose_optimizer_has_no_gradient_are_named_before_all_else(
    run_rule, monkeypatch, have_gradients, is_named
):
    """Without a backward pass nothing is learnt, whatever else is wrong."""
    optimizers = tuple(
        OptimizerRecord(type="Adam", parameters=("fc.weight",), has_gradients=known) for known in have_gradients
    )
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", optimizers=optimizers))
    issues = run_rule("FrozenParameters", steps_of({"fc.weight": np.ones((4, 4))} for _ in range(12)))
    assert [NO_BACKWARD in issue.message for issue in issues] == [is_named] * len(issues)
    assert issues
    mismatch = Issue(rule="LossInputMismatch", step=0, message="Answers do not suit the loss.")
    assert (first_cause([mismatch, *issues]) == "parameters not trained") is is_named


@pytest.mark.parametrize("is_trained", [True, False])
def test_parameters_with_names_of_their_own_are_known_from_the_optimizer(run_rule, monkeypatch, is_trained):
    """A name without "weight" or "bias" is no parameter's for certain, unless an optimizer is to train it."""
    trained = ("fc.bias", "fc.core") if is_trained else ("fc.bias",)
    optimizer = OptimizerRecord(type="Adam", parameters=trained)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", optimizers=(optimizer,)))
    steps = steps_of(
        {"fc.bias": np.full(4, float(step)), "gradient/fc.bias": np.ones(4), "fc.core": np.ones((4, 4))}
        for step in range(12)
    )
    issues = run_rule("FrozenParameters", steps)
    assert {issue.tensors for issue in issues} == ({("fc.core",)} if is_trained else set())
    assert not issues or (first_cause(issues) == "parameters not trained" and NO_GRADIENT in issues[0].message)


@pytest.mark.parametrize(
    ("gradient", "moves", "fires"), [(1.0, False, True), (1.0, True, False), (0.0, False, False), (None, False, False)]
)
def test_a_generator_that_is_never_updated_fires(run_rule, gradient, moves, fires):
    """Its gradient comes at steps of the discriminator; a model without one is only asked."""
    steps = {}
    for step in range(0, 40, 2):
        steps[TRAIN, step] = {"G_weight": np.full((4, 4), float(step) if moves else 1.0)}
        of_discriminator = {"D_weight": np.full((4, 4), float(step)), "gradient/D_weight": np.ones((4, 4))}
        of_generator = {} if gradient is None else {"gradient/G_weight": np.full((4, 4), gradient)}
        steps[TRAIN, step + 1] = {**of_discriminator, **of_generator}
    issues = run_rule("FrozenParameters", steps)
    assert bool(issues) is fires
    assert not fires or (issues[0].tensors == ("G_weight",) and first_cause(issues) == "parameters not trained")


@pytest.mark.parametrize(
    ("not_compiled", "growth", "cause"),
    [(("base/kernel",), 0.0, "parameters not trained"), (("base/kernel",), 0.1, None), ((), 0.0, None)],
    ids=["not compiled", "changes nevertheless", "frozen on purpose"],
)
def test_layers_of_keras_are_trained_after_they_are_compiled(
    run_rule, make_trial, monkeypatch, not_compiled, growth, cause
):
    """Layers that have learnt may be frozen on purpose, but not if the script has set them to train."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", not_compiled=not_compiled))
    learnt = np.outer(np.arange(1.0, 9), np.arange(1.0, 7))
    steps = [
        {
            "base/weights/base/kernel:0": learnt + growth * step,
            "head/weights/head/kernel:0": np.full((6, 2), 1.0 + step),
            "gradients/head/kernelGrad:0": np.ones((6, 2)),
        }
        for step in range(30)
    ]
    trial = make_trial(steps_of(steps), collections={**KERAS_COLLECTIONS, "weights": ["kernel:0"]})
    issues = run_rule("FrozenParameters", trial)
    assert first_cause(issues) == cause
    assert all(issue.tensors == ("base/weights/base/kernel:0",) for issue in issues)
    assert all("compiled again" in issue.message for issue in issues)
