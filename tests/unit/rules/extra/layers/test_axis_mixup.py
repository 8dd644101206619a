"""AxisMixup fires when a reshape, a layer or a loss takes one axis for another."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.extra.layers._attention_heads import HeadMixup, find_head_mixup
from sagemaker_debug_ext.rules.extra.layers.axis_mixup import is_reshaped_series
from sagemaker_debug_ext.store.format.program import (
    LayerRecord,
    LossRecord,
    ProgramRecord,
    ReshapeRecord,
    SoftmaxRecord,
)
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import TRAIN, fired_at, loss_tensors

NUM_SAMPLES, NUM_TIMES, NUM_FEATURES = 8, 5, 3


def series(step):
    return np.random.default_rng(step).normal(size=(NUM_SAMPLES, NUM_TIMES, NUM_FEATURES))


MAPS = np.random.default_rng(0).normal(size=(6, 8, 4, 5))


def steps_of(tensors_of, num=3):
    return {(TRAIN, step): tensors_of(series(step)) for step in range(num)}


@pytest.mark.parametrize(
    ("between", "fires"),
    [
        (lambda x: x.reshape(NUM_TIMES, NUM_SAMPLES, NUM_FEATURES), True),
        (lambda x: x.reshape(NUM_SAMPLES, NUM_FEATURES, NUM_TIMES), True),
        (lambda x: x.transpose(1, 0, 2), False),
        (lambda x: x.reshape(NUM_SAMPLES * NUM_TIMES, NUM_FEATURES), False),
        (lambda x: x.reshape(NUM_SAMPLES, -1), False),
        (lambda x: np.ones_like(x).reshape(NUM_TIMES, NUM_SAMPLES, NUM_FEATURES), False),
        (lambda x: ((x - 0.5) / -0.25).astype("f4").reshape(NUM_SAMPLES, NUM_FEATURES, NUM_TIMES), True),
        (lambda x: (x * 0 + 1).reshape(NUM_SAMPLES, NUM_FEATURES, NUM_TIMES), False),
        (lambda x: np.tanh(0.1 * x).reshape(NUM_SAMPLES, NUM_FEATURES, NUM_TIMES), False),
        (lambda x: np.log(x).reshape(NUM_SAMPLES, NUM_FEATURES, NUM_TIMES), False),
    ],
    ids=[
        "samples moved",
        "features moved",
        "transposed",
        "times as samples",
        "flattened",
        "equal numbers",
        "scaled as well",
        "scaled with 0",
        "passed through a function",
        "not finite",
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in log")
def test_inputs_that_were_reshaped_instead_of_transposed_fire(run_rule, between, fires):
    """Only the same numbers in the same order under axes in another order are a reshape where a transpose was meant."""
    steps = steps_of(lambda x: {"Net_input_0": x, "lstm_input_0": between(x)})
    assert fired_at(run_rule("AxisMixup", steps)) == ([1] if fires else [])


@pytest.mark.parametrize(
    ("numbers", "fires"),
    [
        (lambda rng, size: rng.normal(size=size), True),
        (lambda rng, size: rng.normal(size=size).round(1) * 10, True),
        (lambda rng, size: rng.integers(0, 2, size).astype("f4"), False),
        (lambda _, size: np.arange(size, dtype="f8"), False),
        (lambda _, size: np.where(np.arange(size) == 9, 1e9, np.arange(size) ** 2 % 97.0), True),
    ],
    ids=["numbers", "rounded", "flags", "a ramp", "an outlier"],
)
def test_numbers_that_any_line_fits_are_not_compared_apart_from_a_scale(run_rule, numbers, fires):
    """Two different numbers are always others that were scaled, and so are equal steps."""
    given = numbers(np.random.default_rng(1), 640)
    tensors = {"Net_input_0": given.reshape(40, 16), "lstm_input_0": (3 * given - 2).reshape(16, 40)}
    assert bool(run_rule("AxisMixup", steps_of(lambda _: tensors))) == fires


def test_numbers_that_share_an_outlier_only_are_others(run_rule):
    """Errors count beside the spread of most numbers, not of one."""
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=640), rng.normal(size=640)
    one[9] = other[9] = 1e6
    tensors = {"Net_input_0": one.reshape(40, 16), "lstm_input_0": other.reshape(16, 40)}
    assert run_rule("AxisMixup", steps_of(lambda _: tensors)) == []


def test_axes_of_length_one_are_no_order(run_rule):
    """A channel axis of length 1 may be put anywhere."""
    steps = steps_of(lambda x: {"Net_input_0": x[..., :1], "conv_input_0": x[..., :1].reshape(NUM_SAMPLES, 1, -1)})
    assert run_rule("AxisMixup", steps) == []


@pytest.mark.parametrize(
    ("between", "fires"),
    [
        (lambda maps: maps.reshape(6, 20, 8), True),
        (lambda maps: np.moveaxis(maps, 1, -1).reshape(6, 20, 8), False),
        (lambda maps: maps.reshape(6, 8, 20), False),
        (lambda maps: maps.reshape(6, 32, 5), False),
    ],
    ids=["viewed", "permuted", "flattened places", "flattened rows"],
)
def test_places_that_became_samples_of_channels_without_being_moved_fire(run_rule, between, fires):
    """Maps of shape (samples, channels, height, width) become (samples, places, channels) by a transpose only."""
    steps = steps_of(lambda _: {"Net_input_0": MAPS, "attention_input_0": between(MAPS)})
    assert bool(run_rule("AxisMixup", steps)) == fires


@pytest.mark.parametrize(
    ("between", "batch_axis", "fires"),
    [
        (lambda maps: maps.reshape(6, 4, 40), 0, True),
        (lambda maps: maps.reshape(6, 5, 32), 0, True),
        (lambda maps: maps.transpose(0, 2, 1, 3).reshape(6, 4, 40), 0, False),
        (lambda maps: maps.reshape(6, 8, 20), 0, False),
        (lambda maps: maps.reshape(6, 4, 40), None, False),
    ],
    ids=["height as time", "width as time", "permuted", "channels as time", "no recurrent layer"],
)
def test_maps_that_became_series_without_being_permuted_fire(run_rule, monkeypatch, between, batch_axis, fires):
    """A recurrent layer behind convolutions needs all channels of a place side by side."""
    record = ProgramRecord(framework="PyTorch", layers=(LayerRecord(name="lstm", type="LSTM", batch_axis=batch_axis),))
    monkeypatch.setattr(Trial, "program", record)
    steps = steps_of(lambda _: {"conv_output_0": MAPS, "lstm_input_0": between(MAPS)})
    assert bool(run_rule("AxisMixup", steps)) == fires


@pytest.mark.parametrize(
    ("axis", "kind", "num_targets", "fires"),
    [(0, "Softmax", 6, True), (1, "Softmax", 6, False), (0, "ReLU", 6, False), (0, "Softmax", 3, False)],
    ids=["over samples", "over units", "no softmax", "rows are no samples"],
)
def test_softmax_within_the_model_over_the_samples_fires(run_rule, monkeypatch, axis, kind, num_targets, fires):
    """Weights of an attention must add up to 1 for each sample."""
    record = ProgramRecord(framework="PyTorch", layers=(LayerRecord(name="attend", type=kind),))
    monkeypatch.setattr(Trial, "program", record)
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.1, 1, (6, 4))
    weights /= weights.sum(axis=axis, keepdims=True)
    values = {"attend_input_0": np.log(weights), "attend_output_0": weights}
    targets = loss_tensors(rng.normal(size=(num_targets, 3)), np.arange(num_targets) % 3)
    assert fired_at(run_rule("AxisMixup", steps_of(lambda _: {**values, **targets}))) == ([1] if fires else [])


@pytest.mark.parametrize(
    ("softmaxes", "fires"),
    [
        ([(0, (6, 4))], True),
        ([(1, (3, 6, 4))], True),
        ([(1, (6, 4))], False),
        ([(1, (6, 6, 4))], False),
        ([(2, (24, 4, 6))], False),
        ([(0, (6, 6))], False),
        ([(0, (20, 6, 1))], False),
        ([(2, (20, 6, 1))], True),
        ([(2, (20, 6, 1)), (1, (6, 4))], False),
        ([(0, (1, 1))], False),
        ([], False),
    ],
    ids=[
        "samples",
        "samples along axis 1",
        "items",
        "as many items",
        "as many items of samples and heads",
        "pairs",
        "time",
        "a single number",
        "one of two",
        "a single sample",
        "none",
    ],
)
@pytest.mark.parametrize("activation", ["linear", "softmax"])
def test_softmaxes_before_the_predictions_are_over_what_competes(run_rule, monkeypatch, softmaxes, fires, activation):
    """Items compete, but neither samples nor a number with itself; a softmax at the end belongs to the loss."""
    records = tuple(SoftmaxRecord(axis=axis, shape=shape) for axis, shape in softmaxes)
    tail = (LayerRecord(name="", type="", activation=activation),)
    loss = LossRecord(name="CrossEntropyLoss", type="CrossEntropyLoss", tail=tail, softmaxes=records)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", losses=(loss,)))
    values = {"head_input_0": np.ones((6, 3)), **loss_tensors(np.ones((6, 3)), np.arange(6) % 3)}
    issues = run_rule("AxisMixup", steps_of(lambda _: values))
    assert fired_at(issues) == ([1] if fires and activation == "linear" else [])


@pytest.mark.parametrize(
    ("name", "found"),
    [("CrossEntropyLoss", "CrossEntropyLoss_input_0"), ("loss", "loss_output_0"), ("MSELoss", None)],
    ids=["of a module", "of the script", "not saved"],
)
def test_reshapes_that_take_axes_for_others_fire_where_their_loss_was_saved(run_rule, monkeypatch, name, found):
    """The record tells of a loss of the script itself by the name of its output."""
    loss = LossRecord(name=name, type=name, reshapes=(ReshapeRecord(before=(6, 5, 8), after=(6, 8, 5)),))
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", losses=(loss,)))
    values = {
        "head_input_0": np.ones((6, 3)),
        "loss_output_0": np.ones(()),
        **loss_tensors(np.ones((6, 3)), np.arange(6) % 3),
    }
    issues = run_rule("AxisMixup", steps_of(lambda _: values))
    assert [issue.tensors for issue in issues] == ([] if found is None else [(found,)])
    assert all("(6, 5, 8) is reshaped to (6, 8, 5)" in issue.message for issue in issues)


def test_steps_of_another_model_are_counted_on_their_own(run_rule):
    """An encoder whose steps take turns with those of a decoder is looked at in its own first steps."""
    encoded = {"Encoder_input_0": MAPS, "attention_input_0": MAPS.reshape(6, 20, 8)}
    decoded = {"Decoder_input_0": MAPS[:, :, 0], "head_input_0": MAPS[:, :, 0]}
    steps = {(TRAIN, step): decoded if step % 2 else encoded for step in range(6)}
    assert fired_at(run_rule("AxisMixup", steps)) == [2]


def test_maps_of_which_two_shapes_are_alike_tell_nothing(run_rule):
    """With as many channels as rows and columns, flattened places have the shape of channels that were moved."""
    maps = np.random.default_rng(0).normal(size=(5, 6, 6, 6))
    assert run_rule("AxisMixup", steps_of(lambda _: {"Net_input_0": maps, "a_input_0": maps.reshape(5, 6, 36)})) == []


@pytest.mark.parametrize(
    ("flatten", "fires"),
    [(lambda x: x.reshape(-1, 4), True), (lambda x: np.moveaxis(x, 1, -1).reshape(-1, 4), False)],
    ids=["as they lie", "classes moved to the end"],
)
def test_scores_that_were_flattened_across_classes_fire(run_rule, flatten, fires):
    """Rows of classes hold the scores of one place only if the axis of classes was moved to the end before."""
    steps = {}
    for step in range(2):
        scores = np.random.default_rng(step).normal(size=(2, 4, 3, 3))
        steps[TRAIN, step] = {"conv_output_0": scores, **loss_tensors(flatten(scores), np.arange(18) % 4)}
    assert fired_at(run_rule("AxisMixup", steps)) == ([1] if fires else [])


def test_an_axis_of_length_one_behind_the_classes_may_be_dropped(run_rule):
    """Scores of shape (samples, classes, 1) lie as rows of classes already."""
    scores = np.random.default_rng(0).normal(size=(6, 4, 1))
    tensors = {"score_output_0": scores, **loss_tensors(scores[..., 0], np.arange(6) % 4)}
    assert run_rule("AxisMixup", {(TRAIN, step): tensors for step in range(3)}) == []


@pytest.mark.parametrize(
    ("batch_axis", "targets", "fires"),
    [
        (1, np.arange(NUM_SAMPLES) % 3, True),
        (0, np.arange(NUM_SAMPLES) % 3, False),
        (1, np.zeros((NUM_SAMPLES, NUM_TIMES), int), False),
        (None, np.arange(NUM_SAMPLES) % 3, False),
    ],
    ids=["another axis", "the first axis", "targets of each time", "unknown"],
)
def test_a_layer_that_takes_another_axis_for_the_samples_fires(run_rule, monkeypatch, batch_axis, targets, fires):
    """There are as many samples as targets; targets of each time leave open which axis is which."""
    layer = LayerRecord(name="lstm", type="LSTM", batch_axis=batch_axis)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=(layer,)))
    scores = np.zeros((NUM_SAMPLES, 3, *targets.shape[1:]))
    issues = run_rule("AxisMixup", steps_of(lambda x: {"lstm_input_0": x, **loss_tensors(scores, targets)}))
    assert [cause.name for cause in likely_causes(issues)] == (["axes"] if fires else [])
    assert all("'lstm_input_0' has shape (8, 5, 3), and its layer takes axis 1" in issue.message for issue in issues)


@pytest.mark.parametrize(
    ("batch_axis", "batch_size", "fires"),
    [(1, NUM_SAMPLES, True), (0, NUM_SAMPLES, False), (1, NUM_TIMES, False), (1, None, False)],
    ids=["another axis", "the first axis", "time first", "unknown"],
)
def test_the_loader_tells_which_axis_has_the_samples(run_rule, monkeypatch, batch_axis, batch_size, fires):
    """Where each time has a target, the axis of the samples is as long as the batches of the loader."""
    layer = LayerRecord(name="lstm", type="LSTM", batch_axis=batch_axis)
    record = ProgramRecord(framework="PyTorch", layers=(layer,), batch_size=batch_size)
    monkeypatch.setattr(Trial, "program", record)
    losses = loss_tensors(np.zeros((NUM_SAMPLES, 3, NUM_TIMES)), np.zeros((NUM_SAMPLES, NUM_TIMES), int))
    issues = run_rule("AxisMixup", steps_of(lambda x: {"lstm_input_0": x, **losses}))
    assert bool(issues) == fires


def test_a_mixup_at_a_single_step_does_not_fire(run_rule):
    """One batch may look like another by chance; it must last for the patience."""
    reshaped = steps_of(lambda x: {"Net_input_0": x, "lstm_input_0": x.reshape(NUM_TIMES, NUM_SAMPLES, -1)}, 1)
    sound = steps_of(lambda x: {"Net_input_0": x, "lstm_input_0": x.transpose(1, 0, 2)})
    assert run_rule("AxisMixup", {**sound, **reshaped}) == []


WINDOWS = np.stack([np.sin(np.arange(20) / 3 + begin) for begin in np.random.default_rng(0).uniform(0, 60, 150)])


@pytest.mark.parametrize(
    ("taken", "axis", "fires"),
    [
        (WINDOWS.reshape(20, 150, 1), 1, True),
        (WINDOWS.T.reshape(20, 150, 1), 1, False),
        (WINDOWS.T.reshape(150, 20, 1), 0, True),
        (WINDOWS.reshape(150, 20, 1), 0, False),
        (np.random.default_rng(0).normal(size=(20, 150, 1)), 1, False),
        (np.sort(np.random.default_rng(0).normal(size=(150, 20, 1)), axis=0), 0, False),
        (np.ones((20, 150, 1)), 1, False),
    ],
    ids=["viewed", "transposed", "viewed back", "as they are", "noise", "sorted samples", "constant"],
)
def test_series_that_were_reshaped_fire(run_rule, monkeypatch, taken, axis, fires):
    """Series change slowly along time, and samples have nothing to do with each other."""
    layer = LayerRecord(name="lstm", type="LSTM", batch_axis=axis)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=(layer,)))
    steps = {(TRAIN, step): {"Net_input_0": taken, "lstm_input_0": taken} for step in range(3)}
    issues = run_rule("AxisMixup", steps)
    assert bool(issues) == fires
    assert not fires or likely_causes(issues)[0].name == "axes"


def test_series_when_attention_takes_them_then_may_depend_on_the_place(run_rule, monkeypatch):
    """Encodings of places, which all samples share, jump from place to place, and not from sample to sample."""
    layer = LayerRecord(name="attention", type="MultiheadAttention", batch_axis=0)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=(layer,)))
    rng = np.random.default_rng(0)
    taken = rng.normal(size=(16, 24)) + rng.normal(0, 0.1, (32, 16, 24))
    steps = {(TRAIN, step): {"Net_input_0": taken, "attention_input_0": taken} for step in range(3)}
    assert is_reshaped_series(taken, axis=0)
    assert run_rule("AxisMixup", steps) == []


STATES = np.random.default_rng(0).normal(size=(2, 6, 4))


@pytest.mark.parametrize(
    ("rows", "fires"),
    [
        (STATES.reshape(6, 8), True),
        (np.concatenate(list(STATES), axis=1), False),
        (STATES.reshape(12, 4), False),
        (STATES.reshape(2, 24), False),
    ],
    ids=["viewed", "concatenated", "rows of states", "flattened"],
)
def test_states_that_were_flattened_across_samples_fire(run_rule, rows, fires):
    """States of a recurrent layer have the layers and directions first, and then the samples."""
    steps = steps_of(lambda _: {"gru_output_0": np.zeros((6, 3)), "gru_output_1": STATES, "head_input_0": rows})
    assert bool(run_rule("AxisMixup", steps)) == fires


def attend(projected, num_heads, *, at_split=False, at_join=False, sharpness=1.0):
    """Return what an attention makes of queries, keys and values of shape (3, samples, places, units)."""
    samples, places, units = projected.shape[1:]

    def split(numbers):
        if at_split:
            return numbers.reshape(samples, num_heads, places, -1)
        return numbers.reshape(samples, places, num_heads, -1).swapaxes(1, 2)

    queries, keys, values = map(split, projected)
    scores = sharpness * queries @ keys.swapaxes(2, 3) / np.sqrt(units / num_heads)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    results = weights / weights.sum(axis=-1, keepdims=True) @ values
    return (results if at_join else results.swapaxes(1, 2)).reshape(samples, places, units)


def fused(projected):
    """Put queries, keys and values side by side."""
    return np.concatenate(list(projected), axis=-1)


def fused_by_head(projected, num_heads):
    """Put queries, keys and values of each head side by side."""
    by_head = projected.reshape(*projected.shape[:3], num_heads, -1)
    return np.moveaxis(by_head, 0, 3).reshape(*projected.shape[1:3], -1)


@pytest.mark.parametrize("num_heads", [2, 4])
@pytest.mark.parametrize(
    "made_of",
    [lambda projected, _: projected[2], lambda projected, _: fused(projected), fused_by_head],
    ids=["values alone", "side by side", "side by side for each head"],
)
@pytest.mark.parametrize(
    ("mixup", "fires"),
    [
        ({}, False),
        ({"at_join": True}, True),
        ({"sharpness": 99.0}, False),
        ({"sharpness": 99.0, "at_join": True}, False),
    ],
    ids=["sound", "joined by a reshape", "sound, few places count", "few places count"],
)
def test_heads_that_a_reshape_joins_fire(run_rule, monkeypatch, num_heads, made_of, mixup, fires):
    """Heads must be moved behind the places again. Where few places count at once, the numbers leave it open."""
    layers = tuple(LayerRecord(name=f"block.attend.{name}", type="Linear") for name in ("project", "out"))
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=layers))
    steps = {}
    for step in range(3):
        projected = np.random.default_rng(step).normal(0, 0.5, (3, 8, 10, 16))
        results = attend(projected, num_heads, **mixup)
        made = made_of(projected, num_heads)
        steps[TRAIN, step] = {"block.attend.project_output_0": made, "block.attend.out_input_0": results}
    issues = run_rule("AxisMixup", steps)
    assert fired_at(issues) == ([1] if fires else [])
    assert all(f"its {num_heads} heads are joined by a reshape" in issue.message for issue in issues)


@pytest.mark.parametrize(
    ("names", "fires"),
    [
        (("query", "key", "value", "out"), True),
        (("a.query", "a.key", "a.value", "a.out"), True),
        (("a.query", "a.key", "b.value", "c.out"), False),
        (("out", "query", "key", "value"), False),
    ],
    ids=["of the model", "of a module", "of several modules", "the other way around"],
)
def test_heads_that_a_reshape_splits_fire(run_rule, monkeypatch, names, fires):
    """Queries, keys and values may be made by layers of their own, which the module lists before the next one."""
    layers = tuple(LayerRecord(name=name, type="Linear") for name in names)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=layers))
    steps = {}
    for step in range(3):
        projected = np.random.default_rng(step).normal(0, 0.5, (3, 8, 10, 16))
        of_kind = dict(zip(("query", "key", "value"), projected, strict=True))
        made = {f"{name}_output_0": of_kind.get(name.rpartition(".")[2], projected[0]) for name in names}
        out = next(name for name in names if name.endswith("out"))
        steps[TRAIN, step] = {**made, f"{out}_input_0": attend(projected, 4, at_split=True)}
    issues = run_rule("AxisMixup", steps)
    assert fired_at(issues) == ([1] if fires else [])
    assert all("its 4 heads are split by a reshape" in issue.message for issue in issues)


VALUES = np.random.default_rng(0).normal(0, 0.5, (3, 8, 10, 16))
ALIKE = VALUES.copy()
ALIKE[2] += np.tile(np.random.default_rng(1).normal(size=4), 4)
"""Queries, keys, and values whose heads have nearly the same units, so that a reshape hardly changes their results."""


@pytest.mark.parametrize("at_join", [True, False])
def test_heads_that_a_reshape_splits_and_joins_are_split(at_join):
    """A view of (samples, places, units) as (samples, heads, places, …) hands each head units of other places."""
    results = attend(VALUES, 4, at_split=True, at_join=at_join)
    assert find_head_mixup({"values": VALUES[2]}, results) == HeadMixup("values", num_heads=4, at_split=True)


@pytest.mark.parametrize(
    ("made", "results"),
    [
        (ALIKE[2], attend(ALIKE, 4)),
        (fused(ALIKE), attend(ALIKE, 4)),
        (fused_by_head(ALIKE, 4), attend(ALIKE, 4)),
    ],
    ids=["values alone", "side by side", "side by side for each head"],
)
def test_heads_that_are_alike_are_no_mixup(made, results):
    """What a reshape explains as well as a sound attention does is sound."""
    assert find_head_mixup({"values": made}, results) is None


@pytest.mark.parametrize(
    "results",
    [
        lambda values: values.mean(axis=1, keepdims=True).repeat(10, axis=1),
        lambda values: np.maximum(values, 0),
        lambda values: values,
        lambda values: np.random.default_rng(1).normal(size=values.shape),
        np.zeros_like,
        lambda values: values * np.nan,
        lambda values: 1e300 * values,
        lambda values: 1e-200 * values,
        lambda values: values[:0],
        lambda values: values[:, :, :3],
        lambda values: values[0],
    ],
    ids=[
        "mean",
        "activation",
        "nothing between",
        "unrelated",
        "zeros",
        "not finite",
        "huge",
        "tiny",
        "no samples",
        "few units",
        "two axes",
    ],
)
def test_results_of_no_attention_are_left_alone(results):
    """Other layers, and numbers that say nothing, are no mixups."""
    values = VALUES[2]
    assert find_head_mixup({"values": values[: len(results(values))]}, results(values)) is None


@pytest.mark.parametrize("activation", [np.tanh, np.copy])
def test_halves_of_series_that_are_passed_on_are_no_mixup(activation):
    """Heads of a reshape are halves of the series, whose means tell much of numbers that nothing has mixed."""
    sides = np.multiply.outer(np.tile([-1, 1], 4), np.repeat([1, -1], 8))[:, :, np.newaxis]
    values = sides + np.random.default_rng(1).normal(0, 0.1, (8, 16, 16))
    assert find_head_mixup({"values": values}, activation(values)) is None


@pytest.mark.parametrize(
    ("change", "is_found"),
    [
        (lambda projected, results: (projected, results), True),
        (lambda projected, results: (projected, 2.5 * results), False),
        (lambda projected, results: (projected, results + np.random.default_rng(1).normal(0, 0.2, (8, 10, 16))), False),
        (lambda projected, results: (projected[:3], results[:3]), True),
        (lambda projected, results: (projected[:1], results[:1]), False),
    ],
    ids=["mixed", "beyond the values", "other terms", "480 numbers", "160 numbers"],
)
def test_mixup_must_explain_the_results(change, is_found):
    """Results lie between their values, near the mean; of few numbers, that may come by chance."""
    projected, results = change(VALUES[2], attend(VALUES, 4, at_join=True))
    assert (find_head_mixup({"values": projected}, results) is not None) == is_found


@pytest.mark.parametrize(("places", "is_found"), [(4, True), (3, False)])
def test_few_places_tell_nothing(places, is_found):
    """Of three places, the mean explains much in any order."""
    projected = np.random.default_rng(0).normal(0, 0.5, (3, 60, places, 16))
    results = attend(projected, 4, at_join=True)
    assert (find_head_mixup({"values": projected[2]}, results) is not None) == is_found
