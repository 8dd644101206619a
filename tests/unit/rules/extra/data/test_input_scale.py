"""InputScale fires when inputs or targets are far too large or too small."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.extra.data.input_scale import STANDS_FOR_MISSING, placeholder
from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import (
    EVAL,
    KERAS_COLLECTIONS,
    TRAIN,
    fired_at,
    first_cause,
    loss_tensors,
    steps_of,
    steps_with,
)

RNG = np.random.default_rng(0)
CHANNELS = np.reshape([-2.1, -2.0, -1.8], (3, 1, 1))


@pytest.mark.parametrize(("scale", "fires"), [(19.0, False), (21.0, True), (0.0041, False), (1 / 255, True)])
def test_inputs_must_be_of_a_usual_size(run_rule, scale, fires):
    """Inputs whose size is beyond a limit for three steps in a row fire, unless they are whole numbers."""
    steps = steps_with("Net_input_0", [np.full((4, 2), scale)] * 3)
    assert fired_at(run_rule("InputScale", steps)) == ([2] if fires else [])
    assert run_rule("InputScale", steps_with("Net_input_0", [np.full((4, 2), 999)] * 3)) == []


@pytest.mark.parametrize(
    ("inputs", "fires"),
    [
        pytest.param(RNG.normal(12, 2, (32, 3)), True, id="far from 0"),
        pytest.param(RNG.normal(-12, 2, (8, 5, 3)), False, id="too few samples"),
        pytest.param(RNG.normal(-12, 2, (16, 5, 3)), True, id="below 0, sequences"),
        pytest.param(RNG.normal(12, 3, (32, 3)), False, id="with a wide spread"),
        pytest.param(RNG.normal(4, 0.2, (32, 3)), False, id="of a usual size"),
        pytest.param(np.hstack([RNG.normal(12, 2, (32, 1)), RNG.normal(0, 12, (32, 2))]), False, id="one of three"),
        pytest.param(np.full((32, 3), 12.0), False, id="all the same"),
        pytest.param(RNG.normal(-2, 0.03, (32, 3)), False, id="of a usual size, nearly the same"),
        pytest.param(RNG.normal(-2, 0.05, (32, 3, 8, 8)), False, id="pictures, with some spread"),
        pytest.param(np.full((20, 3, 8, 8), 0.1), False, id="pictures, the same but for rounding"),
        pytest.param(RNG.normal(CHANNELS, 0.004, (16, 3, 8, 8)), True, id="pictures, nearly the same"),
        pytest.param(RNG.normal(CHANNELS.reshape(3), 0.004, (16, 8, 8, 3)), True, id="with the channels last"),
        pytest.param(RNG.normal(CHANNELS, 1, (16, 3, 8, 8)), False, id="pictures"),
    ],
)
def test_inputs_far_from_0_must_be_centred(run_rule, inputs, fires):
    """Half of the features lie more than five standard deviations from 0, or half of the channels more than fifty."""
    assert bool(run_rule("InputScale", steps_with("Net_input_0", [inputs] * 3))) == fires


def test_two_samples_that_differ_in_few_features_hide_no_offset(run_rule):
    """A column of a wide spread says nothing of the others, however far apart the first and the last sample are."""
    inputs = np.hstack([RNG.normal(12, 0.5, (32, 3)), RNG.normal(0, 10, (32, 2))])
    inputs[0, 3:], inputs[-1, 3:] = 0, 60
    assert fired_at(run_rule("InputScale", steps_with("Net_input_0", [inputs] * 3))) == [2]


@pytest.mark.parametrize(
    ("given", "fires"),
    [({"0_input_0": 1.0, "Net_0.weight": np.ones((3, 4))}, True), ({}, False)],
    ids=["taken by a layer", "layers unknown"],
)
def test_pictures_of_bytes_are_no_indices(run_rule, given, fires):
    """Bytes from 0 to 255 fire if a layer takes them as they are; if that is unknown, the model may scale them."""
    pictures = RNG.integers(0, 256, size=(4, 6, 6), dtype=np.uint8)
    layers = {name: pictures.astype(np.float32) if name == "0_input_0" else value for name, value in given.items()}
    assert bool(run_rule("InputScale", steps_of([{"Net_input_0": pictures, **layers}] * 3))) == fires


def test_inputs_that_are_mostly_zero_are_not_small(run_rule):
    """Sparse inputs, such as normalised counts of words, are sound as long as some of them are not tiny."""
    inputs = np.zeros((4, 4000))
    inputs[:, :30] = 1 / 30
    assert run_rule("InputScale", steps_with("Net_input_0", [inputs] * 3)) == []


@pytest.mark.parametrize(("num_features", "size", "fires"), [(8, 0.003, True), (8, 0.004, False), (7, 0.003, False)])
def test_tables_of_tiny_numbers_fire_although_a_few_are_not(run_rule, num_features, size, fires):
    """The usual sample counts: of probabilities over many orders of magnitude, a few are large."""
    inputs = np.full((9, num_features), size)
    inputs[:4, 0] = 0.01
    inputs = np.concatenate([inputs, np.zeros((20, num_features))])  # of what nothing is known
    issues = run_rule("InputScale", steps_with("Net_input_0", [inputs] * 3))
    assert fired_at(issues) == ([2] if fires else [])
    assert all("median norm of samples" in issue.message for issue in issues)


@pytest.mark.parametrize(("factor", "fires"), [(1 / 255, True), (1.0, False)])
def test_images_that_a_model_scales_once_more_fire(run_rule, factor, fires):
    """What a Rescaling layer of Keras gives to the first layer is as good as an input."""
    images = RNG.random((4, 3, 3, 1))
    tensors = {
        "inputs": images,
        "rescaling/inputs": images,
        "rescaling/outputs": images * factor,
        "conv2d/inputs": images * factor,
        "conv2d/weights/conv2d/kernel:0": RNG.normal(size=(3, 3, 1, 2)),
    }
    assert bool(run_rule("InputScale", steps_of([tensors] * 3))) == fires


def test_targets_of_a_regression_must_be_scaled(run_rule):
    """Targets of a regression fire when they are too large, and may be as small as they are."""
    for scale, fires in ((90.0, True), (70.0, False), (1e-9, False)):
        values = [np.full((4, 9), scale)] * 3
        assert bool(run_rule("InputScale", steps_with("MSELoss_input_1", values))) == fires


@pytest.mark.parametrize(("begin", "fires"), [(0.0, True), (285.0, False)])
def test_large_targets_when_predictions_begin_near_them_then_do_not_fire(run_rule, begin, fires):
    """Large targets are tolerated if the predictions are near them from the start."""
    targets = np.linspace(280, 300, 8)[:, None]
    steps = {(TRAIN, step): loss_tensors(np.full((8, 1), begin), targets, name="MSELoss") for step in range(3)}
    assert bool(run_rule("InputScale", steps)) == fires


@pytest.mark.parametrize(
    ("layers", "fires"),
    [
        ({"0_input_0": 1.0, "Net_0.weight": np.ones((3, 4))}, True),
        ({"0_input_0": 1.0, "Net_0.weight": np.ones(4), "1_input_0": 0.01, "Net_1.weight": np.ones((3, 4))}, False),
        ({"0_input_0": 0.01, "Net_0.weight": np.ones((3, 4))}, False),
        ({"1_input_0": 0.01, "Net_1.weight": np.ones((3, 4)), "rnn_input_0": 1.0,
          "Net_rnn.weight_ih_l0": np.ones((3, 4))}, True),
    ],
)  # fmt: skip
def test_a_model_may_scale_its_inputs_itself(run_rule, layers, fires):
    """Large inputs are tolerated if the model scales them before its first layer with a matrix of weights."""
    inputs = np.random.default_rng(0).normal(size=(8, 4)) * 200
    tensors = {name: inputs * value if "input" in name else value for name, value in layers.items()}
    steps = {(TRAIN, step): {"Net_input_0": inputs, **tensors} for step in range(3)}
    assert bool(run_rule("InputScale", steps)) == fires


@pytest.mark.parametrize(
    ("kind", "normalised", "scale", "fires"),
    [
        ("BatchNorm1d", 1.0, 200.0, False),
        ("BatchNorm1d", 1.0, 1e-5, True),
        ("BatchNorm1d", 0.5, 200.0, True),
        ("LayerNorm", 1.0, 200.0, True),
    ],
    ids=["large", "small", "normalises something else", "keeps the offset"],
)
def test_a_batch_normalisation_after_the_first_layer_takes_the_scale_away(
    run_rule, monkeypatch, kind, normalised, scale, fires
):
    """But not one of tiny outputs, to whose variance it adds a number that is larger."""
    monkeypatch.setattr(
        Trial, "program", ProgramRecord(framework="PyTorch", layers=(LayerRecord(name="norm", type=kind),))
    )
    inputs, weight = np.random.default_rng(0).normal(size=(8, 4)) * scale, np.ones((3, 4))
    tensors = {"Net_input_0": inputs, "first_input_0": inputs, "Net_first.weight": weight}
    tensors |= {"first_output_0": inputs @ weight.T, "norm_input_0": normalised * inputs @ weight.T}
    assert bool(run_rule("InputScale", steps_of([tensors] * 3))) == fires


BATCH_NORM = ProgramRecord(framework="PyTorch", layers=(LayerRecord(name="norm", type="BatchNorm1d"),))


def normalised_steps(inputs, **further):
    """Return steps of a model whose first layer a batch normalisation follows."""
    weight = np.ones((3, inputs.shape[1]))
    tensors = {"Net_input_0": inputs, "first_input_0": inputs, "Net_first.weight": weight}
    tensors |= {"first_output_0": inputs @ weight.T, "norm_input_0": inputs @ weight.T}
    return steps_of([{**tensors, **further}] * 3)


def test_tables_that_are_mostly_empty_are_not_tiny(run_rule):
    """As of tags, which few samples have, or many."""
    inputs = np.zeros((9, 30_000))
    inputs[:4, :2] = 1
    assert run_rule("InputScale", steps_with("Net_input_0", [inputs] * 3)) == []
    assert run_rule("InputScale", steps_with("Net_input_0", [inputs / 300] * 3), min_scale=0.001) == []


def test_a_batch_normalisation_does_not_make_up_for_a_tiny_table(run_rule, monkeypatch):
    """Not either where a few of its numbers are not tiny."""
    monkeypatch.setattr(Trial, "program", BATCH_NORM)
    inputs = np.random.default_rng(0).normal(size=(9, 8)) * 0.001
    inputs[0, 0] = 0.01
    assert fired_at(run_rule("InputScale", normalised_steps(inputs))) == [2]


@pytest.mark.parametrize(
    ("further", "fires"),
    [
        (lambda inputs: {}, False),
        (lambda inputs: {"head_input_0": inputs, "head_output_0": inputs[:, :3], "Net_head.weight": np.eye(4)}, True),
        (lambda inputs: {"head_input_0": np.hstack([inputs * 0, inputs]), "Net_head.weight": np.ones((2, 8))}, True),
        (lambda inputs: {"head_input_0": np.hstack([inputs * 0] * 2), "Net_head.weight": np.ones((2, 8))}, False),
        (lambda inputs: {"other_input_0": np.hstack([inputs * 0, inputs])}, False),
    ],
    ids=["nothing", "a second layer", "joined with others", "others", "a layer without weights"],
)
def test_each_layer_that_gets_large_inputs_must_be_normalised(run_rule, monkeypatch, further, fires):
    """Another layer that gets the inputs as well has outputs as large as they are."""
    monkeypatch.setattr(Trial, "program", BATCH_NORM)
    inputs = np.random.default_rng(0).normal(size=(8, 4)) * 200
    assert bool(run_rule("InputScale", normalised_steps(inputs, **further(inputs)))) == fires


@pytest.mark.parametrize(("factor", "fires"), [(15, False), (25, True)])
def test_features_of_other_scales_are_not_normalised_away(run_rule, monkeypatch, factor, fires):
    """The sum of all features that is normalised tells of the largest one only."""
    monkeypatch.setattr(Trial, "program", BATCH_NORM)
    columns = np.random.default_rng(0).normal(size=(8, 4))
    inputs = columns / columns.std(axis=0) * [200 * factor, 200, 200, 200]
    assert bool(run_rule("InputScale", normalised_steps(inputs))) == fires


@pytest.mark.parametrize(("activation", "fires"), [(lambda value: value, False), (np.tanh, True)])
def test_an_activation_before_the_normalisation_depends_on_the_scale(
    make_trial, run_rule, monkeypatch, activation, fires
):
    """Keras puts it into the layer, whose output is that of the activation."""
    layers = (LayerRecord(name="batch_normalization", type="BatchNormalization"),)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", layers=layers))
    inputs, kernel = np.random.default_rng(0).normal(size=(8, 4)) * 200, np.ones((4, 3))
    outputs = activation(inputs @ kernel)
    tensors = {"inputs": inputs, "dense/inputs": inputs, "dense/weights/dense/kernel:0": kernel}
    tensors |= {"dense/outputs": outputs, "batch_normalization/inputs": outputs}
    trial = make_trial(steps_of([tensors] * 4), collections=KERAS_COLLECTIONS)
    assert bool(run_rule("InputScale", trial)) == fires


def test_a_placeholder_is_a_whole_number_far_from_scaled_ones():
    """A placeholder is a whole number far from the other targets, which are scaled."""
    usual = RNG.normal(size=30)
    assert placeholder(np.append(usual, [-999.0, -999.0]), 20) == -999
    assert placeholder(np.append(usual, -999.5), 20) is None
    assert placeholder(np.append(100 * usual, -999.0), 20) is None
    assert placeholder(np.full(3, -999.0), 20) is None


@pytest.mark.parametrize(("numbers", "cause"), [([-999] * 5, "labels"), ([-999, 999, -888, 777, 666], "inputs")])
def test_cause_when_one_number_stands_for_missing_targets_then_is_the_labels(run_rule, numbers, cause):
    """The cause is the labels if the same whole number is the only large target at each step."""
    steps = [{"MSELoss_input_1": np.append(RNG.normal(size=30), number)} for number in numbers]
    issues = run_rule("InputScale", steps_of(steps))
    assert first_cause(issues) == cause
    assert (STANDS_FOR_MISSING in issues[0].message) == (cause == "labels")


@pytest.mark.parametrize(("scale", "threshold"), [(21.0, 20.0), (1 / 255, 0.004)], ids=["too large", "too small"])
def test_issue_when_inputs_are_beyond_a_limit_then_has_that_limit(run_rule, scale, threshold):
    """The threshold of an issue is the limit that the inputs have passed."""
    (issue,) = run_rule("InputScale", steps_with("Net_input_0", [np.full((4, 2), scale)] * 3))
    assert (issue.value, issue.threshold) == (pytest.approx(scale), threshold)


NUMBERS = RNG.normal(size=(9, 4))


@pytest.mark.parametrize(
    ("scale", "joined", "fires"),
    [
        (400.0, np.hstack([np.ones((9, 2)), 400 * NUMBERS]), True),
        (400.0, 400 * NUMBERS, True),
        (1.0, np.hstack([np.ones((9, 2)), NUMBERS]), False),
        (400.0, np.hstack([np.ones((9, 2)), NUMBERS]), False),
        (400.0, 400 * np.ones((9, 6)), False),
        (1e-4, np.hstack([np.ones((9, 2)), 1e-4 * NUMBERS]), False),
    ],
    ids=["joined", "alone", "scaled", "scaled by the model", "large for another reason", "tiny"],
)
def test_further_inputs_must_be_scaled_if_a_layer_gets_them(run_rule, scale, joined, fires):
    """Numbers come beside categories; times, masks and targets reach no layer."""
    tensors = {"Net_input_0": np.ones((9, 2), int), "Net_input_1": scale * NUMBERS, "0_input_0": joined}
    steps = {(TRAIN, step): {**tensors, "Net_0.weight": np.ones((3, joined.shape[1]))} for step in range(3)}
    assert bool(run_rule("InputScale", steps)) == fires


@pytest.mark.parametrize(("fed", "fires"), [((), True), (("Decoder",), False), (("Encoder",), True)])
def test_inputs_that_another_model_makes_are_no_data(run_rule, monkeypatch, fed, fires):
    """The program record names models that are fed by others."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", fed_models=fed))
    tensors = {"Encoder_input_0": RNG.normal(size=(9, 4)), "Decoder_input_0": 1e4 * RNG.normal(size=(9, 4))}
    assert bool(run_rule("InputScale", steps_of([tensors] * 3))) == fires


@pytest.mark.parametrize(("mode", "fires"), [(TRAIN, True), (EVAL, False)])
def test_inputs_of_evaluation_are_a_matter_of_their_own_rule(run_rule, mode, fires):
    """Training on scaled inputs is sound, whatever the model is evaluated on."""
    large = steps_of([{"Net_input_0": 1e4 * RNG.normal(size=(9, 4))}] * 5, mode)
    small = steps_of([{"Net_input_0": RNG.normal(size=(9, 4))}] * 5, EVAL if mode is TRAIN else TRAIN)
    assert bool(run_rule("InputScale", {**small, **large})) == fires


@pytest.mark.parametrize(("numbers", "fires"), [([0.0, 2.0, 3.0], False), ([0.0, 0.37, 3.0], True)])
def test_embeddings_need_whole_numbers(make_trial, run_rule, monkeypatch, numbers, fires):
    """Keras cuts others to indices, whatever they were."""
    layers = (LayerRecord(name="words", type="Embedding"), LayerRecord(name="out", type="Dense"))
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", layers=layers))
    given = np.tile(numbers, (8, 1))
    steps = steps_of([{"words/inputs": given, "out/inputs": given + 0.5}] * 3)
    issues = run_rule("InputScale", make_trial(steps, collections=KERAS_COLLECTIONS))
    assert [issue.tensors for issue in issues] == ([("words/inputs",)] if fires else [])
    assert not fires or issues[0].message.endswith("an embedding takes indices, and cuts numbers such as 0.37 to 0.")
    assert not fires or first_cause(issues) == "inputs"


@pytest.mark.parametrize(("num_large", "then", "fires"), [(20, 5, False), (25, 5, True), (20, 0, True)])
def test_large_targets_may_be_learnt_within_some_steps(run_rule, num_large, then, fires):
    """Unless the job ends before they are."""
    targets = np.linspace(280, 300, 8)[:, None]
    predictions = [0.0] * num_large + [285.0] * then
    steps = steps_of(loss_tensors(np.full((8, 1), value), targets, name="MSELoss") for value in predictions)
    assert bool(run_rule("InputScale", steps)) == fires


def test_large_targets_are_nothing_new_where_the_loss_is_not_finite(run_rule):
    """What made it so is the fault."""
    targets = np.linspace(280, 300, 8)[:, None]
    losses = [9.0] * 2 + [np.nan] * 30
    steps = steps_of(loss_tensors(np.zeros((8, 1)), targets, loss, name="MSELoss") for loss in losses)
    assert run_rule("InputScale", steps) == []


def layer_of_norm(framework, name, spread, scale):
    """Return the tensors of a batch normalisation of three channels that gets data of a spread other than its own."""
    output = RNG.normal(1.0, spread, size=(16, 5, 3)) * scale - 3
    values, offset = np.array(scale), np.full(3, -3.0)
    if framework == "Keras":
        return {
            f"{name}/inputs": 0.1 * output,
            f"{name}/weights/{name}/gamma:0": values,
            f"{name}/weights/{name}/beta:0": offset,
            f"{name}/outputs": output,
        }
    return {f"Net_{name}.weight": values, f"Net_{name}.bias": offset, f"{name}_output_0": np.moveaxis(output, -1, 1)}


def steps_of_norms(framework, spreads, *, scale=(0.5, 1.0, 2.0), num_trained=0, average=None, after="bn0"):
    """Return steps of frozen batch normalisations that get data of other spreads, and of a head that is trained."""
    steps = []
    for step in range(num_trained + 30):
        norms, gradients = {}, {"Keras": "gradients/head/kernelGrad", "PyTorch": "gradient/Net_head.weight"}
        for number, spread in enumerate(spreads):
            norms |= layer_of_norm(framework, f"bn{number}", 1.0 if step < num_trained else spread, scale)
            if average is not None:
                norms[f"bn{number}/weights/bn{number}/moving_variance:0"] = np.full(3, average)
        head = {"Net_head.weight": np.ones((3, 3)), "head_output_0": np.ones((16, 3))}
        trained = {gradients[framework]: np.ones(3)}
        if step < num_trained:
            names = ("gradients/bn{}/gammaGrad", "gradient/Net_bn{}.weight")
            trained |= {name.format(n): np.ones(3) for name in names for n in range(len(spreads))}
        tensors = [head, norms] if after == "head" else [norms, head]
        steps.append({**tensors[0], **tensors[1], **trained})
    return steps_of(steps)


def run_on_norms(make_trial, run_rule, framework, *args, **options):
    """Return the issues of `steps_of_norms`."""
    collections = {**KERAS_COLLECTIONS, "gradients": ["^gradients/"]} if framework == "Keras" else None
    return run_rule("InputScale", make_trial(steps_of_norms(framework, *args, **options), collections=collections))


@pytest.mark.parametrize("framework", ["Keras", "PyTorch"])
@pytest.mark.parametrize(
    ("spreads", "options", "fires"),
    [
        ((0.2,), {}, True),
        ((5.0, 6.0), {}, True),
        ((0.3,), {}, False),
        ((3.5,), {}, False),
        ((0.2, 1.0), {}, False),
        ((0.2, 5.0), {}, False),
        ((np.nan,), {}, False),
        ((0.2,), {"scale": (1.0, 1.0, 1.0)}, False),
        ((0.2,), {"num_trained": 60}, True),
        ((0.2,), {"num_trained": 20}, False),
    ],
    ids=[
        "narrow",
        "wide",
        "less narrow",
        "less wide",
        "one of two",
        "mixed",
        "NaN",
        "new",
        "trained",
        "hardly trained",
    ],
)
def test_a_frozen_layer_knows_how_its_inputs_were_spread(make_trial, run_rule, framework, spreads, options, fires):
    """A pretrained model gets inputs of another scale, and its batch normalisation hardly spreads what it makes."""
    issues = run_on_norms(make_trial, run_rule, framework, spreads, **options)
    assert first_cause(issues) == ("inputs" if fires else None)
    assert all("a frozen layer expects" in issue.message for issue in issues)


@pytest.mark.parametrize(("average", "fires"), [(0.01, True), (0.1, False)])
def test_averages_that_lag_make_frozen_layers_narrow(make_trial, run_rule, average, fires):
    """Keras saves them; a batch of the training had a variance of a hundredth."""
    options = {"num_trained": 60, "average": average, "scale": (0.9, 1.0, 1.1)}
    assert bool(run_on_norms(make_trial, run_rule, "Keras", (0.2,), **options)) == fires


@pytest.mark.parametrize(("after", "fires"), [("bn0", True), ("head", False)])
def test_what_a_trained_layer_makes_is_no_matter_of_the_inputs(make_trial, run_rule, after, fires):
    """A frozen network that judges what a decoder makes gets flat pictures at first."""
    assert bool(run_on_norms(make_trial, run_rule, "PyTorch", (0.2,), after=after)) == fires


@pytest.mark.parametrize("selected", ["Net_input", "bn0_output"])
def test_a_frozen_layer_is_no_input_that_is_selected(make_trial, run_rule, selected):
    """With patterns of one's own, only what they name is checked, and as inputs are."""
    assert run_rule("InputScale", make_trial(steps_of_norms("PyTorch", (0.2,))), tensor_regex=selected) == []
