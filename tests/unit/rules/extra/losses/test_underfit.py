"""Underfit fires where a simple model of the same samples predicts far better than the model that was trained."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import EVAL, GLOBAL, TRAIN, fired_at, first_cause, loss_tensors, steps_of

SHAPES = {
    "a line": lambda x: x[:, :1] - x[:, 1:],
    "a parabola": lambda x: 4 * x[:, :1] ** 2,
    "chance": lambda x: np.random.default_rng(1).normal(size=(len(x), 1)),
}


def regression_steps(function, answer, num=40, size=15, losses=lambda step: 1.0):
    """Return training steps of a model with two inputs, whose predictions follow from inputs and targets."""
    rng, steps = np.random.default_rng(0), []
    for step in range(num):
        inputs = rng.normal(size=(size, 2))
        targets = function(inputs)
        answers = answer(inputs, targets)
        loss = loss_tensors(answers, targets, losses(step), name="MSELoss")
        steps.append({"Net_input_0": inputs, **loss})
    return steps_of(steps)


def underfits(run_rule, steps):
    """Return the issues of a rule that waits for as many steps as the trials here have."""
    return run_rule("Underfit", steps, patience=40)


def mean_answer(inputs, targets):
    return np.full_like(targets, targets.mean())


def zero_answer(inputs, targets):
    return np.zeros_like(targets)


def half_answer(inputs, targets):
    return targets.mean() + 0.5 * (targets - targets.mean())


def good_answer(inputs, targets):
    return targets + 0.1


FOLLOWS = np.random.default_rng(0).dirichlet(np.full(12, 0.1), 12)


def text_steps(confidence, num=120, losses=lambda step: 2.0):
    """Return training steps of a model of texts in which each token tells much of the next.

    Its scores are those of the frequencies of all tokens, or of the best table, or of what lies between.
    """
    rng, steps = np.random.default_rng(1), []
    scores = confidence * np.log(FOLLOWS + 1e-3)
    for step in range(num):
        tokens = rng.integers(0, 12, (8, 10))
        following = np.array([rng.choice(12, p=FOLLOWS[token]) for token in tokens.reshape(-1)])
        steps.append({"Net_input_0": tokens, **loss_tensors(scores[tokens.reshape(-1)], following, losses(step))})
    return steps


@pytest.mark.parametrize(
    ("confidence", "losses", "fires"),
    [
        (0.0, lambda step: 2.0, True),
        (1.0, lambda step: 2.0, False),
        (0.0, lambda step: 4 - step / 60, False),
        (0.0, lambda step: 4 - step / 200, True),
    ],
    ids=["nothing", "the table", "falls", "hardly falls"],
)
def test_models_of_sequences_are_compared_with_a_table_of_the_next_tokens(run_rule, confidence, losses, fires):
    """A model that comes nearer to the table is on its way."""
    issues = run_rule("Underfit", steps_of(text_steps(confidence, losses=losses)))
    assert fired_at(issues) == [119] * fires
    assert all("of what each token alone tells" in issue.message for issue in issues)


@pytest.mark.parametrize(
    ("kind", "activation", "cause"),
    [("RNN", "relu", "exploding gradients"), ("RNN", "tanh", "architecture"), ("Linear", None, "architecture")],
)
def test_a_memory_without_a_bound_points_at_the_steps_of_sequences(run_rule, monkeypatch, kind, activation, cause):
    """What such a layer remembers may grow with each token."""
    layer = LayerRecord(name="memory", type=kind, activation=activation)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", layers=(layer,)))
    falling = text_steps(0.0, losses=lambda step: 4 - step / 200)
    assert first_cause(run_rule("Underfit", steps_of(falling))) == cause


def test_a_model_that_is_nearly_as_good_as_the_table_does_not_underfit(run_rule):
    """Nor does one that had few steps."""
    assert run_rule("Underfit", steps_of(text_steps(0.8))) == []
    assert run_rule("Underfit", steps_of(text_steps(0.0, num=99))) == []


@pytest.mark.parametrize(
    ("shape", "answer", "fires"),
    [
        ("a line", mean_answer, True),
        ("a line", half_answer, True),
        ("a line", good_answer, False),
        ("a parabola", mean_answer, True),
        ("a parabola", good_answer, False),
        ("chance", mean_answer, False),
    ],
)
def test_fires_where_a_simple_model_does_better(run_rule, shape, answer, fires):
    """Where targets follow from the inputs, a model should find out; where they are chance, none can."""
    issues = underfits(run_rule, regression_steps(SHAPES[shape], answer))
    assert fired_at(issues) == [39] * fires


def noisy_line(noise):
    """Return a function of two inputs that a line explains for the most part, or less with more noise."""
    rng = np.random.default_rng(2)
    return lambda x: x[:, :1] - x[:, 1:] + noise * rng.normal(size=(len(x), 1))


@pytest.mark.parametrize(
    ("noise", "answer", "cause"),
    [
        (1.4, zero_answer, "learning rate too low"),
        (1.7, zero_answer, "learning rate too low"),
        (2.4, zero_answer, None),
        (1.4, lambda inputs, targets: 0.1 * (inputs[:, :1] - inputs[:, 1:]), None),
        (1.4, lambda inputs, targets: 0.2 * (inputs[:, :1] - inputs[:, 1:]), None),
        (1.4, lambda inputs, targets: zero_answer(inputs, targets) + 1, None),
        (5.0, zero_answer, None),
    ],
    ids=["nothing learnt", "of two fifths", "of a quarter", "a little learnt", "something learnt", "far off", "noise"],
)
def test_a_model_that_learnt_nothing_is_to_know_something_where_inputs_tell_much(run_rule, noise, answer, cause):
    """The loss fell at first, to that of a constant, so that it need not be flat from the beginning."""
    steps = regression_steps(noisy_line(noise), answer, losses=lambda step: 4.0 if step < 8 else 1.0)
    assert first_cause(underfits(run_rule, steps)) == cause


def recurrent_steps(to_inputs, skill=0.0, num=120, size=20, *, are_sorted=False, wrong=0.0):
    """Return training steps on series of 6 times, whose sum tells which of three classes they have.

    Where they are sorted, their sum tells nothing, and all of them rise over time.
    """
    rng, steps = np.random.default_rng(0), []
    for _ in range(num):
        series = rng.normal(size=(size, 6, 2)) + rng.normal(0, 3, (size, 1, 1))
        labels = np.digitize(series.mean(axis=(1, 2)), (-1.5, 1.5))
        if are_sorted:
            series = rng.normal(size=(size, 6, 2)) + 6 * np.arange(6)[:, None]
            labels = np.arange(size) * 3 // size
        labels = np.where(rng.random(size) < wrong, rng.integers(0, 3, size), labels)
        scores = 6 * skill * np.eye(3)[labels]
        steps.append({"Net_input_0": to_inputs(series), **loss_tensors(scores, labels, 1.1, name="CrossEntropyLoss")})
    return steps_of(steps)


@pytest.mark.parametrize(
    ("to_inputs", "skill", "cause"),
    [
        (lambda series: series.reshape(6, 20, 2), 0.0, "axes"),
        (lambda series: series.transpose(1, 0, 2), 0.0, "learning rate too low"),
        (lambda series: series, 0.0, "learning rate too low"),
        (lambda series: series.transpose(1, 0, 2), 1.0, None),
        (lambda series: series[:6].transpose(1, 0, 2), 0.0, None),
    ],
    ids=["reshaped", "transposed", "samples first", "learnt", "other samples"],
)
def test_series_are_read_with_the_samples_along_either_axis(run_rule, to_inputs, skill, cause):
    """Where time was made the first axis by a reshape, only numbers in their old order tell anything."""
    assert first_cause(run_rule("Underfit", recurrent_steps(to_inputs, skill))) == cause


def single_time(series):
    """Return numbers that tell the class of each series at once, with a single time first."""
    means = series.mean(axis=(1, 2))
    return (100 * np.digitize(means, (-1.5, 1.5)) + means)[None, :, None]


@pytest.mark.parametrize(
    ("to_inputs", "options", "cause"),
    [
        (lambda series: series.transpose(1, 0, 2), {"are_sorted": True}, None),
        (lambda series: series.reshape(6, 10, 2), {"size": 10}, "axes"),
        (lambda series: series.reshape(6, 9, 2), {"size": 9}, None),
        (single_time, {}, "learning rate too low"),
        (lambda series: series.transpose(1, 0, 2), {"wrong": 0.05}, "learning rate too low"),
    ],
    ids=["sorted batches", "ten samples", "nine samples", "a single time", "wrong labels"],
)
def test_series_are_not_put_back_in_order_where_that_means_nothing(run_rule, to_inputs, options, cause):
    """In sorted batches, any numbers that the time tells seem to tell the class."""
    assert first_cause(run_rule("Underfit", recurrent_steps(to_inputs, **options))) == cause


@pytest.mark.parametrize(
    ("num", "cause"), [(30, "learning rate too low"), (31, None), (99, None), (100, "architecture")]
)
def test_a_model_gets_time_to_learn(run_rule, num, cause):
    """A simple model that is fitted to the end is ahead of any other at first; very few steps are too few."""
    steps = regression_steps(SHAPES["a line"], half_answer, num, size=8, losses=lambda step: 0.3 + 0.7 * 0.75**step)
    assert first_cause(run_rule("Underfit", steps)) == cause


@pytest.mark.parametrize(
    ("num", "share", "cause"),
    [(31, 0.1, "learning rate too low"), (99, 0.1, "learning rate too low"), (99, 0.4, None), (100, 0.1, None)],
)
def test_training_that_ends_where_little_is_explained_was_too_short(run_rule, num, share, cause):
    """After a hundred steps, a loss that falls fast tells that the model is on its way."""

    def answer(inputs, targets):
        return share * targets + np.sqrt(share - share**2) * np.random.default_rng(num).normal(size=targets.shape) * 1.4

    steps = regression_steps(SHAPES["a line"], answer, num, losses=lambda step: 0.98**step)
    assert first_cause(run_rule("Underfit", steps)) == cause


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("mode", [TRAIN, GLOBAL])
def test_training_that_goes_on_without_a_loss_has_not_ended(run_rule, mode, goes_on):
    """A loss may be that of a pretraining; a trial may know no modes."""
    found = regression_steps(SHAPES["a line"], mean_answer, 25)
    steps = {(mode, step): tensors for (_, step), tensors in found.items()}
    if goes_on:
        steps |= {(mode, step): {"other": np.ones(2)} for step in range(25, 60)}
    assert bool(run_rule("Underfit", steps)) is not goes_on


@pytest.mark.parametrize("num", [30, 40])
def test_a_loss_that_falls_fast_needs_more_steps_if_these_were_very_few(run_rule, num):
    """Training that goes on may yet learn, but one that has ended may not."""
    steps = regression_steps(SHAPES["a line"], half_answer, num, losses=lambda step: 0.9**step)
    assert bool(underfits(run_rule, steps)) == (num == 30)


@pytest.mark.parametrize(
    ("losses", "cause"),
    [
        (lambda step: 1.0, "learning rate too low"),
        (lambda step: 0.3 + 0.7 * 0.75**step, "architecture"),
        (lambda step: 0.997**step, "learning rate too low"),
        (lambda step: 0.985**step, None),
    ],
)
def test_how_the_loss_falls_tells_what_is_wrong(run_rule, losses, cause):
    """Small steps get nowhere; a loss that has stopped falling misses something; one that still falls is on its way."""
    steps = regression_steps(SHAPES["a parabola"], mean_answer, losses=losses)
    assert first_cause(underfits(run_rule, steps)) == cause


@pytest.mark.parametrize(("mode", "fires"), [(TRAIN, True), (EVAL, False)])
def test_good_predictions_in_evaluation_count(run_rule, mode, fires):
    """Dropout may make the predictions of training poor."""
    steps = regression_steps(SHAPES["a line"], half_answer)
    for (_, step), tensors in regression_steps(SHAPES["a line"], good_answer, 20).items():
        steps.setdefault((mode, step), tensors)
    assert bool(underfits(run_rule, steps)) == fires


@pytest.mark.parametrize(("answers", "fires"), [(lambda wanted: 0.5, True), (lambda wanted: 0.8 * wanted + 0.1, False)])
@pytest.mark.parametrize("has_batches", [True, False])
def test_a_truth_table_is_to_be_known_by_heart(run_rule, has_batches, answers, fires):
    """Of four different samples, no simple model can be fitted to three."""
    steps = []
    for step in range(120):
        inputs = np.array([[step % 2, step // 2 % 2]], float)
        wanted = np.array([[float(inputs.sum() == 1)]])
        predicted = np.full((1, 1), answers(wanted))
        inputs, wanted, predicted = (each if has_batches else each[0] for each in (inputs, wanted, predicted))
        loss = loss_tensors(predicted, wanted, float(np.mean((predicted - wanted) ** 2)), name="MSELoss")
        steps.append({"Net_input_0": inputs, **loss})
    assert bool(underfits(run_rule, steps_of(steps))) == fires


def test_too_few_samples_have_no_neighbours(run_rule):
    """Four rows that are to become the numbers from 1 to 4."""
    inputs, wanted = np.eye(4), np.arange(1.0, 5)[:, None]
    steps = [{"Net_input_0": inputs, **loss_tensors(wanted * 0 + 1, wanted, name="MSELoss")}] * 40
    assert not underfits(run_rule, steps_of(steps))


@pytest.mark.parametrize(("num_tied", "cause"), [(3, "dead units"), (2, "learning rate too low")])
def test_samples_that_are_not_told_apart_point_at_units(run_rule, num_tied, cause):
    """A hidden layer of ReLUs that answers to one sample of XOR is dead for the other three."""
    inputs = np.array([[1, 1], [0, 0], [0, 1], [1, 0]], float)
    wanted = np.array([[0.0], [0], [1], [1]])
    answers = np.where(np.arange(4)[:, None] < 4 - num_tied, 0.1 * np.arange(4)[:, None], 2 / 3)
    steps = steps_of([{"Net_input_0": inputs, **loss_tensors(answers, wanted, name="MSELoss")}] * 40)
    assert first_cause(underfits(run_rule, steps)) == cause


@pytest.mark.parametrize(("penalty", "cause"), [(0.0, "architecture"), (0.15, "architecture"), (0.3, "regularisation")])
@pytest.mark.parametrize("name", ["NLLLoss", "CrossEntropyLoss"])
def test_penalties_that_outweigh_the_targets_are_told(run_rule, penalty, cause, name):
    """What the loss is above its cross entropy comes from elsewhere."""
    rng, steps = np.random.default_rng(0), []
    for step in range(120):
        labels = rng.integers(0, 3, 20)
        scores = rng.normal(size=(20, 3)) * 0.1
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        loss = -np.log(shares[np.arange(20), labels]).mean() + penalty + (1.0 if step < 20 else 0)
        steps.append({"Net_input_0": np.eye(3)[labels], **loss_tensors(np.log(shares), labels, loss, name)})
    steps = [{**tensors, "Net_input_0": np.hstack([tensors["Net_input_0"], rng.random((20, 2))])} for tensors in steps]
    assert first_cause(underfits(run_rule, steps_of(steps))) == cause


@pytest.mark.parametrize("confidence", [0.0, 5.0])
def test_classes_are_compared_by_their_probabilities(run_rule, confidence):
    """Words that give the class away are a linear matter, which a model that knows nothing has missed."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(40):
        labels = rng.integers(0, 3, 20)
        words = np.hstack([rng.integers(10, 40, (20, 6)), labels[:, None]])
        scores = rng.normal(size=(20, 3)) * 0.1
        scores[np.arange(20), labels] += confidence
        steps.append({"Net_input_0": words, **loss_tensors(scores, labels)})
    assert bool(underfits(run_rule, steps_of(steps))) == (confidence == 0)


@pytest.mark.parametrize("has_weights", [True, False])
def test_losses_with_weights_of_classes_are_left_out(run_rule, monkeypatch, has_weights):
    """Weights shift predictions away from the shares of the classes."""
    weights = {"weight": [1.0, 5.0]} if has_weights else {}
    loss = LossRecord(name="MSELoss", type="MSELoss", arguments=weights)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", losses=(loss,)))
    assert bool(underfits(run_rule, regression_steps(SHAPES["a line"], half_answer))) == (not has_weights)


@pytest.mark.parametrize("num_columns", [2, 3])
def test_what_an_autoencoder_gives_back_is_no_target(run_rule, num_columns):
    """A linear model copies its inputs without effort, but what is between is what such a model is for."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(40):
        inputs = rng.normal(size=(20, 2))
        targets = np.hstack([inputs, inputs[:, :1]])[:, :num_columns]
        loss = loss_tensors(targets * 0.3, targets, float(np.mean((targets * 0.7) ** 2)), name="MSELoss")
        steps.append({"Net_input_0": inputs, **loss})
    assert bool(underfits(run_rule, steps_of(steps))) == (num_columns == 3)


def numbered_steps(numbers, answers, spread=0.3):
    """Return training steps on clusters of samples, each of which has a whole number as its target."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(40):
        clusters = rng.integers(0, len(numbers), 20)
        inputs = np.eye(len(numbers))[clusters] + rng.normal(0, spread, (20, len(numbers)))
        targets = np.array(numbers, float)[clusters][:, None]
        loss = loss_tensors(answers(targets), targets, 1.0, name="MSELoss")
        steps.append({"Net_input_0": inputs, **loss})
    return steps_of(steps)


@pytest.mark.parametrize(
    ("numbers", "answers", "spread", "are_classes"),
    [
        ([3, 1, 4, 2, 5], lambda wanted: 3 + 0.7 * (wanted - 3), 0.1, True),
        ([3, 1, 4, 2, 5], lambda wanted: wanted + 0.4, 0.1, False),
        ([3, 1, 4, 2, 5], lambda wanted: 3 + 0.7 * (wanted - 3), 1.0, False),
        ([3, 1, 4, 2, 6], lambda wanted: 3 + 0.7 * (wanted - 3), 0.1, False),
        ([0.5, 1.5, 2.5, 3.5], lambda wanted: 3 + 0.7 * (wanted - 3), 0.1, False),
        ([0, 1], lambda wanted: 0.4 + 0.05 * wanted, 0.0, False),
    ],
)
def test_whole_numbers_that_neighbours_name_are_classes(run_rule, numbers, answers, spread, are_classes):
    """Rounded predictions that are mostly wrong show it, if all numbers come up and neighbours know them."""
    issues = run_rule("Underfit", numbered_steps(numbers, answers, spread), patience=40, factor=1e9)
    assert (first_cause(issues) == "loss or output") == are_classes
