"""TokenShift fires when targets of a sequence model are not its next tokens, or the model sees these."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.extra.data.token_shift import distance_of_targets
from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import KERAS_COLLECTIONS, TRAIN, loss_tensors

NUM_PLACES = 10


def text_of(step):
    return np.random.default_rng(step).integers(0, 9, (4, NUM_PLACES + 3))


def steps_of(distance, *, is_time_first=False, **further):
    """Return steps of a model that reads ten tokens of each text and predicts those some places later."""
    found = {}
    for step in range(3):
        text = text_of(step)
        tokens, targets = text[:, :NUM_PLACES], text[:, distance : distance + NUM_PLACES]
        targets = (targets.T if is_time_first else targets).reshape(-1)
        inputs = {"Net_input_0": tokens.T if is_time_first else tokens}
        found[TRAIN, step] = {**inputs, **further, **loss_tensors(np.zeros((len(targets), 9)), targets)}
    return found


@pytest.mark.parametrize("distance", range(4))
def test_the_distance_of_targets_is_the_one_at_which_they_are_the_tokens(distance):
    """Targets may be longer or shorter than the tokens, and those below 0 stand for no token."""
    text = text_of(0)
    targets = text[:, distance:].copy()
    targets[:, 2] = -100
    assert distance_of_targets(text, targets.reshape(-1)) == distance
    assert distance_of_targets(text[:, :NUM_PLACES], targets) == distance
    assert distance_of_targets(text, np.roll(targets, 1, axis=0)) is None


@pytest.mark.parametrize(
    ("tokens", "targets"),
    [
        (np.zeros((4, 10), int), np.zeros((4, 10), int)),
        (np.arange(40).reshape(4, 10) % 3, np.arange(1, 41).reshape(4, 10) % 3),
        (text_of(0), text_of(0)[:, 1:4]),
        (text_of(0), np.zeros(7, int)),
        (np.zeros((0, 10), int), np.zeros(0, int)),
    ],
    ids=["one token", "few tokens", "few targets", "another number of samples", "no samples"],
)
def test_the_distance_is_unknown_where_it_could_be_chance(tokens, targets):
    """Few tokens or targets agree at any distance."""
    assert distance_of_targets(tokens, targets) is None


@pytest.mark.parametrize("is_time_first", [False, True])
@pytest.mark.parametrize(("distance", "causes"), [(0, []), (1, []), (2, ["labels"])])
def test_targets_beyond_the_next_token_fire(run_rule, distance, causes, is_time_first):
    """Models may give back what they read, and language models predict the next token."""
    issues = run_rule("TokenShift", steps_of(distance, is_time_first=is_time_first))
    assert [cause.name for cause in likely_causes(issues)] == causes


def test_targets_beyond_the_next_token_beside_those_of_the_next_do_not_fire(run_rule):
    """A model may predict several tokens ahead with several losses."""
    steps, next_ones = steps_of(2), steps_of(1)
    both = {
        key: {**steps[key], "CrossEntropyLoss_1_input_1": next_ones[key]["CrossEntropyLoss_input_1"]} for key in steps
    }
    assert run_rule("TokenShift", both) == []


STATES = np.zeros((4, NUM_PLACES, 6))
ATTENDS = {f"attention_input_{i}": STATES for i in range(3)}
MASK = {"attention_input_3": np.triu(np.ones((NUM_PLACES, NUM_PLACES)))}
MEMORY = {f"attention_input_{i}": np.zeros((4, 7, 6)) for i in (1, 2)}


@pytest.mark.parametrize("is_time_first", [False, True])
@pytest.mark.parametrize(
    ("further", "fires"),
    [
        (ATTENDS, True),
        ({**ATTENDS, **MASK}, False),
        ({**ATTENDS, **MEMORY}, False),
        ({**ATTENDS, "Net_input_1": text_of(9)[:, :NUM_PLACES]}, False),
        ({"Net_lstm.weight_ih_l0": STATES, "Net_lstm.weight_ih_l0_reverse": STATES}, True),
        ({"Net_lstm.weight_ih_l0": STATES}, False),
    ],
    ids=["no mask", "mask", "attends to others", "two texts", "reads backwards", "reads forwards"],
)
def test_models_that_see_the_next_token_fire(run_rule, monkeypatch, further, fires, is_time_first):
    """Attention among the tokens needs a mask, unless they are another text than the one to predict."""
    layer = LayerRecord(name="attention", type="MultiheadAttention", batch_axis=0)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=(layer,)))
    if is_time_first:
        further = {
            name: value if value.shape == (NUM_PLACES,) * 2 else np.swapaxes(value, 0, 1)
            for name, value in further.items()
        }
    issues = run_rule("TokenShift", steps_of(1, is_time_first=is_time_first, **further))
    assert [cause.name for cause in likely_causes(issues)] == (["leaking feature"] if fires else [])


def series_steps(first, num_places=NUM_PLACES, period=None, **further):
    """Return steps of a model that reads windows of ten numbers, the targets being numbers from another place on."""
    found = {}
    for step in range(3):
        numbers = np.random.default_rng(step).normal(size=(4, 2 * NUM_PLACES)).astype(np.float32)
        numbers = numbers if period is None else numbers[:, np.arange(2 * NUM_PLACES) % period]
        inputs, targets = numbers[:, :NUM_PLACES, None], numbers[:, first : first + num_places]
        loss = loss_tensors(np.zeros_like(targets), targets, name="MSELoss")
        found[TRAIN, step] = {"Net_input_0": inputs, **loss, **further}
    return found


BACKWARDS = {"Net_lstm.weight_ih_l0_reverse": STATES}


@pytest.mark.parametrize(
    ("options", "further", "fires"),
    [
        ({"first": 1}, BACKWARDS, True),
        ({"first": 3}, BACKWARDS, True),
        ({"first": 1}, {"Net_lstm.weight_ih_l0": STATES}, False),
        ({"first": 0}, BACKWARDS, False),
        ({"first": NUM_PLACES}, BACKWARDS, False),
        ({"first": 1}, {**BACKWARDS, "Net_input_1": STATES}, False),
        ({"first": 1}, {"Encoder_lstm.weight_ih_l0_reverse": STATES}, False),
        ({"first": NUM_PLACES, "period": 9}, BACKWARDS, False),
        ({"first": 1, "num_places": 1}, BACKWARDS, False),
        ({"first": 1}, {**BACKWARDS, "Net_input_0": np.repeat(STATES[..., :1], 2, axis=2)}, False),
    ],
    ids=[
        "next", "later", "reads forwards", "gives back", "all new", "reads another series", "another model reads it",
        "comes again", "one number", "two features",
    ],
)  # fmt: skip
def test_models_that_see_the_next_number_of_a_series_fire(run_rule, options, further, fires):
    """A forecast of numbers that the model has read backwards is a copy."""
    issues = run_rule("TokenShift", series_steps(**options, **further))
    assert [cause.name for cause in likely_causes(issues)] == (["leaking feature"] if fires else [])


def test_windows_that_follow_each_other_are_no_series_over_the_samples(run_rule):
    """Where samples are not shuffled, the number after a window is in the next one."""
    series = np.random.default_rng(0).normal(size=(40, 1, 1)).astype(np.float32)
    loss = loss_tensors(np.zeros((39, 1), np.float32), series[1:, 0], name="MSELoss")
    steps = {(TRAIN, step): {"Net_input_0": series[:-1], **loss, **BACKWARDS} for step in range(3)}
    assert run_rule("TokenShift", steps) == []


@pytest.mark.parametrize(("further", "fires"), [({}, True), ({"inputs_1": STATES}, False)])
def test_a_model_of_keras_may_read_backwards_what_it_does_not_predict(
    run_rule, make_trial, monkeypatch, further, fires
):
    """Its inputs do not tell which layer reads them, as of a decoder of what an encoder has heard."""
    layer = LayerRecord(name="memory", type="Bidirectional")
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", layers=(layer,)))
    found = {}
    for step in range(3):
        text = text_of(step)
        tokens, targets = text[:, :NUM_PLACES], text[:, 1 : 1 + NUM_PLACES]
        scores = np.random.default_rng(step).random((4, NUM_PLACES, 9))
        found[TRAIN, step] = {"inputs": tokens, **further, "labels": targets, "predictions": scores, "loss": 2.0}
    issues = run_rule("TokenShift", make_trial(found, collections=KERAS_COLLECTIONS))
    assert [cause.name for cause in likely_causes(issues)] == (["leaking feature"] if fires else [])


@pytest.mark.parametrize(
    ("given", "model", "fires"),
    [
        (text_of, "Functional", True),
        (lambda step: np.roll(text_of(step), 1, axis=1), "Functional", False),
        (text_of, "Writer", False),
        (None, "Functional", False),
    ],
    ids=["the targets", "shifted", "a model with code of its own", "an autoencoder"],
)
def test_a_decoder_of_keras_must_not_read_its_targets(run_rule, make_trial, monkeypatch, given, model, fires):
    """It would repeat them, whatever the text to translate is; an autoencoder gets nothing else."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", model=model))
    found = {}
    for step in range(3):
        targets, others = text_of(step)[:, :6], text_of(step + 9)[:, :6]
        inputs = {"inputs": targets} if given is None else {"inputs": others, "inputs_1": given(step)[:, :6]}
        found[TRAIN, step] = {**inputs, "labels": targets, "predictions": np.ones((4, 6, 9)), "loss": 2.0}
    issues = run_rule("TokenShift", make_trial(found, collections=KERAS_COLLECTIONS))
    assert [cause.name for cause in likely_causes(issues)] == (["leaking feature"] if fires else [])


DECODER = (
    LayerRecord(name="encoder.layers.0.self_attn", type="MultiheadAttention", batch_axis=0),
    LayerRecord(name="decoder.layers.0", type="TransformerDecoderLayer", batch_axis=0),
    LayerRecord(name="decoder.layers.0.self_attn", type="MultiheadAttention", batch_axis=0),
    LayerRecord(name="decoder.layers.0.multihead_attn", type="MultiheadAttention", batch_axis=0),
)
ALL_ATTEND = {
    f"{layer.name}_input_{i}": STATES for layer in DECODER if layer.type == "MultiheadAttention" for i in range(3)
}
EMBEDDING, PLACES = np.random.default_rng(3).normal(size=(9, 6)), np.random.default_rng(4).normal(size=(NUM_PLACES, 6))


def embedded(tokens, noise=0.0):
    """Return what a decoder gets of tokens: their embedding, and that of their places."""
    return EMBEDDING[tokens] + PLACES + noise * np.random.default_rng(5).normal(size=(*tokens.shape, 6))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("further", "layers", "state", "fires"),
    [
        ({}, DECODER, lambda given, tokens: embedded(tokens), True),
        (
            {"decoder.layers.0.self_attn_input_3": np.triu(np.ones((NUM_PLACES, NUM_PLACES)))},
            DECODER,
            lambda given, tokens: embedded(tokens),
            False,
        ),
        ({}, (DECODER[0], DECODER[3]), lambda given, tokens: embedded(tokens), False),
        ({}, DECODER, lambda given, tokens: embedded(given), False),
        ({}, DECODER, lambda given, tokens: embedded(tokens, noise=0.01), False),
        ({}, DECODER, lambda given, tokens: embedded(tokens) * 0, False),
        ({}, DECODER, lambda given, tokens: embedded(tokens * 0), False),
    ],
    ids=["no mask", "mask", "layers of its own", "of the other text", "dropout", "nothing", "places alone"],
)
def test_models_that_translate_must_hide_the_tokens_of_the_target(
    run_rule, monkeypatch, further, layers, state, fires, order
):
    """The encoder and the attention to what it gives need no mask, which of both inputs it ever is that comes first."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=layers))
    steps = {}
    for (mode, step), tensors in steps_of(1, **ALL_ATTEND, **further).items():
        given = (text_of(step + 9)[:, :NUM_PLACES], tensors["Net_input_0"])
        inputs = {f"Net_input_{place}": given[which] for place, which in enumerate(order)}
        steps[mode, step] = {**tensors, **inputs, "decoder.layers.0_input_0": state(*given)}
    issues = run_rule("TokenShift", steps)
    assert [cause.name for cause in likely_causes(issues)] == (["leaking feature"] if fires else [])


@pytest.mark.parametrize("is_time_first", [False, True])
def test_states_of_a_decoder_may_have_time_first(run_rule, monkeypatch, is_time_first):
    """As layers have by default, whatever the model gets."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=DECODER))
    swapped = {name: np.swapaxes(value, 0, 1) for name, value in ALL_ATTEND.items()}
    steps = {}
    for (mode, step), tensors in steps_of(1, is_time_first=is_time_first, **swapped).items():
        tokens = tensors["Net_input_0"].T if is_time_first else tensors["Net_input_0"]
        other = text_of(step + 9)[:, :NUM_PLACES]
        states = {"decoder.layers.0_input_0": np.swapaxes(embedded(tokens), 0, 1)}
        steps[mode, step] = {**tensors, "Net_input_1": other.T if is_time_first else other, **states}
    issues = run_rule("TokenShift", steps)
    assert [cause.name for cause in likely_causes(issues)] == ["leaking feature"]


@pytest.mark.parametrize("distance", [0, 2])
def test_labels_that_a_model_reads_and_shifts_itself_do_not_fire(run_rule, monkeypatch, distance):
    """As models of speech and pictures do; a translator into the same language repeats its first input."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=DECODER))
    mask = {"decoder.layers.0.self_attn_input_3": np.triu(np.full((NUM_PLACES, NUM_PLACES), -np.inf), 1)}
    steps = {
        key: {**tensors, "Net_input_0": np.random.default_rng(0).normal(size=(4, NUM_PLACES, 3)),
              "Net_input_1": tensors["Net_input_0"]}
        for key, tensors in steps_of(distance, **ALL_ATTEND, **mask).items()
    }  # fmt: skip
    assert run_rule("TokenShift", steps) == []


def test_a_translator_into_the_same_language_predicts_the_next_tokens(run_rule, monkeypatch):
    """It repeats its first input, and its attention hides later tokens rightly."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=DECODER))
    mask = {"decoder.layers.0.self_attn_input_3": np.triu(np.full((NUM_PLACES, NUM_PLACES), -np.inf), 1)}
    steps = {
        key: {**tensors, "Net_input_0": tensors["CrossEntropyLoss_input_1"].reshape(4, NUM_PLACES),
              "Net_input_1": tensors["Net_input_0"]}
        for key, tensors in steps_of(1, **ALL_ATTEND, **mask).items()
    }  # fmt: skip
    assert run_rule("TokenShift", steps) == []


def test_tokens_of_another_model_do_not_count(run_rule, monkeypatch):
    """A decoder that is a model of its own reads a single text, of which all its attentions are."""
    layer = LayerRecord(name="attention", type="MultiheadAttention", batch_axis=0)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=(layer,)))
    issues = run_rule("TokenShift", steps_of(1, Encoder_input_0=text_of(9)[:, :NUM_PLACES], **ATTENDS))
    assert [cause.name for cause in likely_causes(issues)] == ["leaking feature"]


CAUSAL = np.triu(np.full((NUM_PLACES, NUM_PLACES), -np.inf), 1)


@pytest.mark.parametrize(
    ("mask", "fires"),
    [
        (CAUSAL, True),
        (CAUSAL != 0, True),
        (np.zeros((NUM_PLACES, NUM_PLACES)), False),
        (CAUSAL.T, False),
        (None, False),
    ],
    ids=["infinity", "booleans", "hides nothing", "hides earlier ones", "none"],
)
def test_tokens_that_are_to_be_repeated_fire_where_later_ones_are_hidden(run_rule, monkeypatch, mask, fires):
    """Without a mask, a model may be meant to give back what it reads."""
    layer = LayerRecord(name="attention", type="MultiheadAttention", batch_axis=0)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=(layer,)))
    further = ATTENDS if mask is None else {**ATTENDS, "attention_input_3": mask}
    issues = run_rule("TokenShift", steps_of(0, **further))
    assert [cause.name for cause in likely_causes(issues)] == (["leaking feature"] if fires else [])
