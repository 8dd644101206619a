"""TrainEvalMixup fires when dropout or normalisation layers are in the wrong mode."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.extra.layers import train_eval_mixup
from sagemaker_debug_ext.rules.extra.layers.train_eval_mixup import drops, drops_by_chance, is_centred_on
from sagemaker_debug_ext.store.format.keys import program_key
from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import EVAL, KERAS_COLLECTIONS, TRAIN, MemoryJob, first_cause, steps_of

RNG = np.random.default_rng(0)


def layers_in_mode(in_training):
    inputs = RNG.normal(size=(16, 8)) + 3
    kept = RNG.random((16, 8)) > 0.5 if in_training else np.ones((16, 8), bool)
    norm = RNG.normal(size=(16, 4)) + (0.0 if in_training else 0.3)
    if in_training:
        norm = norm - norm.mean(axis=0)
    return {
        "drop_input_0": inputs, "drop_output_0": inputs * kept, "bn_output_0": norm, "Net_bn.bias": np.zeros(4),
    }  # fmt: skip


@pytest.mark.parametrize(("mode", "in_training", "fires"), [
    (TRAIN, True, False), (TRAIN, False, True), (EVAL, False, False), (EVAL, True, True),
])  # fmt: skip
def test_layers_in_the_wrong_mode_fire(run_rule, mode, in_training, fires):
    """Layers that behave as in the other mode for two steps in a row fire, dropout once it was seen to drop."""
    steps = {(TRAIN, 0): layers_in_mode(in_training=True)}
    steps |= {(mode, step + 1): layers_in_mode(in_training) for step in range(2)}
    issues = run_rule("TrainEvalMixup", steps)
    assert [issue.tensors for issue in issues] == ([("bn_output_0", "drop_output_0")] if fires else [])


def test_few_elements_or_samples_give_no_verdict():
    """Few elements, few samples and a bias of another shape give no verdict."""
    assert drops(np.zeros((4, 4)), np.zeros((4, 4))) is None
    assert is_centred_on(np.ones((16, 4)), np.ones(3)) is None
    assert is_centred_on(np.ones((16, 4)), np.ones(4)) is None


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_values_that_are_not_finite_give_no_verdict(lost):
    """A dropout that multiplies NaN by 0 drops nothing that could be seen; its other elements still tell."""
    inputs = np.full((16, 16), lost)
    assert drops(inputs, np.full((16, 16), np.nan)) is None
    inputs[8:] = 1.0
    output = np.where(np.arange(16) % 2, 2 * inputs, 0)
    assert drops(inputs, output) is True
    assert drops(inputs, inputs) is False
    assert drops(inputs, np.where(np.isfinite(inputs), inputs, 0)) is False


@pytest.mark.parametrize(("shape", "expected"), [((1, 3, 4, 4), True), ((1, 3, 1, 4), None), ((4, 3), None)])
def test_the_places_of_a_single_picture_show_whether_its_statistics_were_used(shape, expected):
    """Pictures are often evaluated one at a time."""
    output = RNG.normal(size=shape)
    output -= output.mean(axis=tuple(axis for axis in range(len(shape)) if axis != 1), keepdims=True)
    assert is_centred_on(output, np.zeros(3)) is expected


def test_mean_of_few_digits_is_no_proof_of_the_other_mode():
    """Numbers of 16 bits may miss the bias by rounding alone, which is unclear; by more, or in 32 bits, it is not."""
    centred = RNG.normal(size=(512, 4)) + 3
    centred -= centred.mean(axis=0) - 2
    bias = np.full(4, 2.0)
    off = (centred + 1e-3).astype(np.float32)
    rounded = (off.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    assert is_centred_on(off, bias) is False
    assert is_centred_on(rounded, bias) is None
    assert is_centred_on((centred + 0.25).astype(np.float16), bias) is False


@pytest.mark.parametrize("activation", [lambda x: x, np.tanh, lambda x: np.maximum(x, 0) + 0.01 * x])
def test_zeros_of_dropout_are_recognised_after_any_activation(activation):
    """Zeros of dropout are recognised whatever the activation before, and those of the activation are not dropout."""
    given = RNG.normal(size=(64, 24))
    output = activation(given)
    kept = RNG.random(given.shape) < 0.5
    assert drops_by_chance(given, output * kept * 2)
    assert not drops_by_chance(given, output)


def test_zeros_of_other_kinds_are_no_dropout():
    """Zeros of ReLU, thresholds, masks, targets and unrelated tensors are not dropout."""
    given = RNG.normal(size=(64, 24))
    masks = RNG.random((64, 1)) < 0.5, RNG.random((1, 24)) < 0.5
    others = [np.maximum(given, 0), np.where(np.abs(given) < 0.5, 0, given), *(given * mask for mask in masks)]
    others.append((RNG.random(given.shape) < 0.5).astype(float))
    others.append(np.maximum(RNG.normal(size=given.shape), 0))
    assert not any(drops_by_chance(given, other) for other in others)


@pytest.mark.parametrize("is_dropped", [True, False])
def test_dropout_that_knows_of_no_modes_fires_in_evaluation(run_rule, is_dropped):
    """Dropout called without a mode fires in evaluation, between any two layers."""
    steps = {}
    for number in range(4):
        given = RNG.normal(size=(64, 24)).astype(np.float32)
        kept = RNG.random(given.shape) < 0.5
        evaluated = given * kept * 2 if is_dropped else given
        steps[TRAIN, number] = {"a_output_0": given, "b_input_0": given * kept * 2}
        steps[EVAL, number] = {"a_output_0": given, "b_input_0": evaluated}
    issues = run_rule("TrainEvalMixup", steps)
    assert first_cause(issues) == ("wrong mode" if is_dropped else None)


def test_in_a_large_model_dropout_is_looked_for_in_some_tensors(run_rule, monkeypatch):
    """In a large model dropout is looked for in a bounded number of tensors, which bounds the time."""
    compared = []
    monkeypatch.setattr(train_eval_mixup, "drops_by_chance", lambda *_: bool(compared.append(1)))
    output = np.maximum(RNG.normal(size=(8, 8)), 0).astype(np.float32)
    assert run_rule("TrainEvalMixup", {(EVAL, 0): {f"layer{number}_output_0": output for number in range(200)}}) == []
    assert 0 < len(compared) <= train_eval_mixup.MAX_LOOKED_AT * train_eval_mixup.MAX_OTHERS


@pytest.mark.parametrize(
    ("model_trains", "layer_trains", "fires"),
    [(False, False, True), (True, False, False), (True, True, False)],
)
def test_record_tells_whether_a_layer_that_never_drops_was_set_to_evaluation(
    run_rule, model_trains, layer_trains, fires
):
    """With its whole model that is a fault, alone it is on purpose, and one set to train may have probability 0."""
    job, values = MemoryJob(), np.random.default_rng(0).normal(size=(16, 8))
    for step in range(6):
        job.write(TRAIN, step, {"1_input_0": values, "1_output_0": values})
    layers = (
        LayerRecord(name="Net", type="Net", is_training=model_trains),
        LayerRecord(name="1", type="Dropout", is_training=layer_trains),
    )
    record = ProgramRecord(framework="PyTorch", layers=layers)
    job.backend.write(program_key("worker_0"), (record.to_json().encode(),))
    job.end()
    assert bool(run_rule("TrainEvalMixup", job.open())) == fires


@pytest.mark.parametrize(("has_own_step", "fires"), [(False, False), (True, True)])
def test_layers_of_keras_may_be_frozen_where_keras_tells_them_to_train(
    run_rule, make_trial, monkeypatch, has_own_step, fires
):
    """Only a step of the script's own can forget to tell layers that they are trained."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", has_own_step=has_own_step))
    inputs = RNG.normal(size=(16, 8)) + 3
    kept = [RNG.random((16, 8)) > 0.5, *[np.ones((16, 8))] * 4]
    steps = steps_of({"dropout/inputs": inputs, "dropout/outputs": inputs * mask} for mask in kept)
    trial = make_trial(steps, collections=KERAS_COLLECTIONS)
    assert bool(run_rule("TrainEvalMixup", trial)) == fires


@pytest.mark.parametrize("kind", ["Dropout", "BatchNormalization", "Dense"])
@pytest.mark.parametrize(
    ("is_told", "validates_in_training", "found"),
    [(True, False, ""), (True, True, "is called with training=True also"), (False, False, "without training=True")],
)
def test_a_custom_loop_tells_layers_with_two_modes_which_one(
    run_rule, make_trial, monkeypatch, kind, is_told, validates_in_training, found
):
    """A loop has to tell them to train with a tape, and nowhere else."""
    record = ProgramRecord(
        framework="Keras",
        layers=(LayerRecord(name="layer", type=kind, is_training=is_told),),
        validates_in_training=validates_in_training,
    )
    monkeypatch.setattr(Trial, "program", record)
    trial = make_trial({(TRAIN, step): {"loss": 1.0} for step in range(3)}, collections=KERAS_COLLECTIONS)
    messages = [issue.message for issue in run_rule("TrainEvalMixup", trial)]
    assert [found in message for message in messages] == [True] * (2 if found and kind != "Dense" else 0)
