"""EvaluationMismatch fires when inputs or losses of evaluation do not fit those of training."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from sagemaker_debug_ext.rules.evaluation.engine import evaluate
from sagemaker_debug_ext.rules.extra.data import _reports
from sagemaker_debug_ext.rules.factory.creation import create_rule
from sagemaker_debug_ext.store.format.keys import program_key
from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, ProgramRecord, ReportRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import EVAL, PREDICT, TRAIN, MemoryJob, fired_at, first_cause, loss_tensors, steps_of


def trained_and_evaluated(change, *, evaluation_loss=1.0, visits=1):
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=(16, 6)) for _ in range(12 // visits)]
    found = {(TRAIN, step): {"Net_input_0": batches[step % len(batches)], "loss": 1.0} for step in range(12)}
    for step in range(4):
        found[EVAL, step] = {"Net_input_0": change(rng.normal(size=(16, 6))), "loss": evaluation_loss}
    return found


@pytest.mark.parametrize(
    ("change", "fires"),
    [
        (lambda x: x, False),
        (lambda x: x + 0.5, False),
        (lambda x: x + 2, True),
        (lambda x: x * 2, False),
        (lambda x: x * 5, True),
        (lambda x: (x * 9).astype(int), False),
        (lambda x: (x * 9).astype(np.uint8)[:, None], True),
    ],
)
def test_inputs_of_another_mean_or_spread_fire(run_rule, change, fires):
    """Inputs whose mean or spread differs by more than the limit fire, and whole numbers have neither."""
    assert bool(run_rule("EvaluationMismatch", trained_and_evaluated(change))) == fires


@pytest.mark.parametrize(
    ("loss", "visits", "fires"), [(3.0, 1, True), (3.0, 2, True), (3.0, 4, False), (2.0, 1, False)]
)
def test_a_loss_far_above_that_of_training_fires_while_samples_are_new(run_rule, loss, visits, fires):
    """An evaluation loss far above the training loss fires as long as training has seen each sample at most twice."""
    issues = run_rule("EvaluationMismatch", trained_and_evaluated(lambda x: x, evaluation_loss=loss, visits=visits))
    assert bool(issues) == fires


def standardised(rows, ddof=0):
    return (rows - rows.mean(axis=0)) / rows.std(axis=0, ddof=ddof)


def steps_of_sets(trained, evaluated, mode=EVAL, num_epochs=2):
    """Return two epochs of training on a set, each after an evaluation of another."""
    steps = {}
    for epoch in range(num_epochs):
        for place, part in enumerate(np.array_split(evaluated, 6)):
            steps[mode, epoch * 20 + place] = {"Net_input_0": part}
        for place, part in enumerate(np.array_split(trained, 8)):
            steps[TRAIN, epoch * 8 + place] = {"Net_input_0": part}
    for place, part in enumerate(np.array_split(evaluated, 6)):
        steps[mode, num_epochs * 20 + place] = {"Net_input_0": part}
    return steps


def table(seed=0, num=96, width=6):
    return np.random.default_rng(seed).normal(size=(num, width))


def one_hot(rows):
    return np.eye(5)[np.arange(len(rows)) % 5]


@pytest.mark.parametrize("mode", [EVAL, PREDICT])
@pytest.mark.parametrize(
    ("change", "share"),
    [
        (standardised, 1.0),
        (lambda rows: standardised(rows, ddof=1), 1.0),
        (lambda rows: np.hstack([standardised(rows)[:, :4], rows[:, :1]]), 0.8),
        (lambda rows: np.hstack([standardised(rows)[:, :3], rows[:, :1]]), 0),
        (lambda rows: np.hstack([standardised(rows), one_hot(rows)]), 1.0),
        (lambda rows: np.hstack([standardised(rows)[:, :3], one_hot(rows)]), 1.0),
        (lambda rows: np.hstack([standardised(rows)[:, :2], one_hot(rows)]), 0),
        (lambda rows: standardised(np.sign(rows)), 0),
        (lambda rows: standardised(rows) + 0.0002, 0),
        (lambda rows: standardised(rows) * 1.012, 0),
        (lambda rows: rows, 0),
    ],
    ids=[
        "own",
        "of a sample",
        "most",
        "three of four",
        "with classes",
        "three",
        "two",
        "signs",
        "offset",
        "scale",
        "no",
    ],
)
def test_evaluation_data_with_a_scaler_of_their_own_fire(run_rule, change, share, mode):
    """Mean 0 and deviation 1 are no chance, but constants that were fitted to these data."""
    rows = change(table(1) * 0.9 + 0.1).astype(np.float32)
    trained = np.hstack([table(2, width=rows.shape[1] - 5), one_hot(table(2))]) if rows.shape[1] > 6 else table(2)
    trained = trained[:, : rows.shape[1]] if rows.shape[1] <= 6 else trained
    issues = run_rule("EvaluationMismatch", steps_of_sets(trained, rows, mode))
    assert [issue.value for issue in issues] == ([pytest.approx(share)] if share else [])
    assert first_cause(issues) == ("evaluation data" if share else None)


OWN = standardised(table(1))


@pytest.mark.parametrize(
    ("trained", "evaluated", "fires"),
    [
        (table(2, 190), OWN, True),
        (np.vstack([OWN[:1], table(2, 190)]), OWN, False),
        (np.vstack([OWN, table(2, 190)]).astype(np.float32), OWN, False),
        (standardised(table(3, 4000))[:36], standardised(table(3, 4000)), False),
        (OWN, OWN, False),
    ],
    ids=["others", "one of them", "cast", "few are saved", "the same"],
)
def test_training_data_may_be_evaluated(run_rule, trained, evaluated, fires):
    """They are scaled by their own, whenever they are evaluated, and of which not all were saved in training."""
    issues = run_rule("EvaluationMismatch", steps_of_sets(trained, evaluated))
    assert any("a scaler was fitted" in issue.message for issue in issues) == fires


@pytest.mark.parametrize(("following", "fires"), [(np.vstack([table(4), OWN]), False), (table(4), True)])
def test_training_data_may_be_evaluated_before_training_has_seen_them(run_rule, following, fires):
    """As at the first of several stages, so that only the end of the job tells."""
    steps = steps_of_sets(table(2), OWN)
    steps |= {(TRAIN, 100 + place): {"Net_input_0": part} for place, part in enumerate(np.array_split(following, 8))}
    steps |= {(EVAL, 200 + place): {"Net_input_0": part} for place, part in enumerate(np.array_split(OWN, 6))}
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


@pytest.mark.parametrize(("num_epochs", "fires"), [(1, False), (2, True)])
def test_training_data_that_come_once_may_be_changed_at_random(run_rule, num_epochs, fires):
    """As by noise, so that they cannot be known in evaluation."""
    steps = steps_of_sets(table(2), OWN, num_epochs=num_epochs)
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


@pytest.mark.parametrize(("num_scaled", "fires"), [(1, True), (2, False)])
def test_batches_that_are_each_scaled_by_their_own_do_not_fire(run_rule, num_scaled, fires):
    """A single one may be all of the training data, however often it comes."""
    batches = [table(seed, 12) for seed in range(2, 10)]
    batches[:num_scaled] = map(standardised, batches[:num_scaled])
    assert bool(run_rule("EvaluationMismatch", steps_of_sets(np.vstack(batches), OWN))) == fires


@pytest.mark.parametrize(("place", "fires"), [(slice(0, 2), False), (slice(0, 12), True)])
def test_a_few_samples_far_off_are_no_mismatch(run_rule, place, fires):
    """A few samples with large errors do not fire, where predictions and targets were saved."""
    steps = trained_and_evaluated(lambda x: x)
    for number, ((mode, _), tensors) in enumerate(steps.items()):
        targets = np.random.default_rng(number).normal(size=(16, 1))
        scores = targets + 1
        if mode is EVAL:
            scores[place] += 30
        del tensors["loss"]
        tensors.update(loss_tensors(scores, targets, float(np.mean(np.abs(scores - targets))), "L1Loss"))
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


@pytest.mark.parametrize(("before", "fires"), [(0.5, False), (0.3, True)])
def test_evaluation_may_lag_behind_a_loss_that_falls_fast(run_rule, before, fires):
    """Evaluation may lag ten steps behind a training loss that falls fast, as averages of normalisations do."""
    rng = np.random.default_rng(0)
    losses = [1.0, 1.0, *[before] * 10, *[0.1] * 10]
    steps = steps_of({"Net_input_0": rng.normal(size=(16, 6)), "loss": loss} for loss in losses)
    steps |= steps_of([{"Net_input_0": rng.normal(size=(16, 6)), "loss": 1.0}], EVAL)
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


@pytest.mark.parametrize(("scale", "fires"), [(0.05, False), (1.0, True)])
def test_features_that_hardly_ever_differ_may_do_so_in_one_set_only(run_rule, scale, fires):
    """Features with a small spread, such as pixels at the edge, may vary in one of the sets only."""
    rng = np.random.default_rng(0)
    steps, often = {}, np.r_[np.ones(8), np.full(4, scale)]
    for step in range(6):
        steps[TRAIN, step] = {"Net_input_0": rng.normal(size=(40, 12)) * often}
        steps[EVAL, step] = {"Net_input_0": rng.normal(size=(40, 12)) * np.r_[np.ones(8), np.full(4, 0.001)]}
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


@pytest.mark.parametrize(("often", "fires"), [(4, False), (120, True)])
def test_features_of_a_few_samples_may_be_missing_in_one_set(run_rule, often, fires):
    """A feature that is 0 but for a few samples, and scaled by its deviation, may be 0 in all of the evaluation."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(240, 12))
    table[:, 8:] = 0
    table[rng.permutation(240)[:often], 8:] = np.sqrt(240 / often)
    steps = {(TRAIN, step): {"Net_input_0": table[40 * step : 40 * step + 40]} for step in range(6)}
    absent = np.r_[np.ones(8), np.zeros(4)]
    steps |= {(EVAL, step): {"Net_input_0": rng.normal(size=(40, 12)) * absent} for step in range(3)}
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


@pytest.mark.parametrize(("second", "fires"), [(5.0, False), (9.0, True)])
def test_averages_may_lag_behind_at_first(run_rule, second, fires):
    """With a patience of 2, a high evaluation loss fires only if the next one is not much lower."""
    rng, steps, number = np.random.default_rng(0), {}, 0
    for value in (10.0, second):
        for _ in range(20):
            steps[TRAIN, number] = {"Net_input_0": rng.normal(size=(16, 6)), "loss": 1.0}
            number += 1
        steps[EVAL, number] = {"Net_input_0": rng.normal(size=(16, 6)), "loss": value}
    assert bool(run_rule("EvaluationMismatch", steps, patience=2)) == fires


@pytest.mark.parametrize(
    ("evaluated", "training", "fires"), [(1.009, 0.4, True), (1.011, 0.4, False), (1.009, 0.6, False)]
)
def test_evaluation_has_to_follow_training(run_rule, evaluated, training, fires):
    """An evaluation loss that stays within 1 % while the training loss halves fires; its cause is the wrong mode."""
    steps = {}
    for number in range(6):
        steps |= {(TRAIN, 12 * number + offset): {"loss": 1.0 if number < 2 else training} for offset in range(12)}
        steps[EVAL, number] = {"loss": 1.0 if not number else evaluated}
    issues = run_rule("EvaluationMismatch", steps)
    assert first_cause(issues) == ("wrong mode" if fires else None)


@pytest.mark.parametrize(
    ("share", "evaluated", "fires"), [(0.01, 1.0002, False), (0.01, 1.00005, True), (0.2, 1.0002, True)]
)
def test_evaluation_may_wait_for_averages_of_normalisations(run_rule, monkeypatch, share, evaluated, fires):
    """While they have not followed, the loss of a good model stays in place as well, but is not quite the same."""
    record = ProgramRecord(
        framework="PyTorch", layers=(LayerRecord(name="norm", type="BatchNorm1d", moving_share=share),)
    )
    monkeypatch.setattr(Trial, "program", record)
    steps = {}
    for number in range(6):
        steps |= {(TRAIN, 12 * number + offset): {"loss": 1.0 if number < 2 else 0.4} for offset in range(12)}
        steps[EVAL, number] = {"loss": 1.0 if not number else evaluated}
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


def test_a_stale_model_is_found_when_averages_have_followed(run_rule, monkeypatch):
    """Although its loss has changed a little before."""
    record = ProgramRecord(
        framework="PyTorch", layers=(LayerRecord(name="norm", type="BatchNorm1d", moving_share=0.1),)
    )
    monkeypatch.setattr(Trial, "program", record)
    steps = {}
    for number in range(8):
        steps |= {(TRAIN, 12 * number + offset): {"loss": 1.0 if number < 2 else 0.4} for offset in range(12)}
        steps[EVAL, number] = {"loss": 1.002 if number in (1, 2) else 1.0}
    assert fired_at(run_rule("EvaluationMismatch", steps))[:1] != []


def test_evaluation_that_was_better_before_does_not_count_as_unchanged(run_rule):
    """An evaluation loss that fell and rose to its first value again has followed training."""
    steps = {}
    for number, evaluated in enumerate([1.0, 0.7, 0.5, 0.7, 0.9, 1.003, 1.2]):
        steps |= {(TRAIN, 12 * number + offset): {"loss": 0.3 if number > 1 else 1.0} for offset in range(12)}
        steps[EVAL, number] = {"loss": evaluated}
    steps |= {(TRAIN, 84 + offset): {"loss": 0.2} for offset in range(12)}
    assert run_rule("EvaluationMismatch", steps) == []


@pytest.mark.parametrize(("num_samples", "fires_at"), [(63, []), (64, [1])])
def test_inputs_when_fewer_than_64_samples_then_give_no_verdict(run_rule, num_samples, fires_at):
    """63 samples of evaluation are too few to compare their mean, and 64 are enough."""
    rng = np.random.default_rng(0)
    steps = {(TRAIN, 0): {"Net_input_0": rng.normal(size=(64, 6))}}
    steps[EVAL, 0] = {"Net_input_0": rng.normal(size=(num_samples, 6)) + 5}
    assert fired_at(run_rule("EvaluationMismatch", steps)) == fires_at


def test_evaluation_when_unchanged_then_fires_with_as_many_losses_as_in_the_first_round(run_rule):
    """One loss of a round may be as before by chance, so the rule waits for the second."""
    rng, steps, number = np.random.default_rng(0), {}, 0
    for training, num_steps in ((1.0, 12), (0.1, 22)):
        for _ in range(num_steps):
            steps[TRAIN, number] = {"Net_input_0": rng.normal(size=(16, 6)), "loss": training}
            number += 1
        for _ in range(2):
            steps[EVAL, number] = {"Net_input_0": rng.normal(size=(16, 6)), "loss": 1.0}
            number += 1
    (issue,) = run_rule("EvaluationMismatch", steps)
    assert issue.step == len(steps) - 1
    assert "does not follow training" in issue.message


@pytest.mark.parametrize(("is_trained", "num_evaluated"), [(False, 0), (True, 4)])
def test_only_steps_with_something_to_compare_count_as_evaluated(make_trial, is_trained, num_evaluated):
    """Evaluation steps count as evaluated only if training has set what to compare them with."""
    steps = trained_and_evaluated(lambda x: x)
    trial = make_trial({key: tensors for key, tensors in steps.items() if is_trained or key[0] is EVAL})
    evaluation = evaluate([create_rule("EvaluationMismatch", trial)], trial)
    assert evaluation.run() == []
    assert evaluation.statuses[0].num_steps == num_evaluated


@pytest.mark.parametrize(("share", "fires"), [(0.022, False), (0.08, True)])
def test_what_is_seldom_may_be_missing_in_a_small_evaluation(run_rule, share, fires):
    """Rare letters, each an input of its own, do not come up in a few hundred others; usual ones do."""
    rng = np.random.default_rng(0)
    often = np.r_[np.full(8, (1 - 4 * share) / 8), np.full(4, share)]
    steps = {(TRAIN, step): {"Net_input_0": np.eye(12)[rng.choice(12, size=500, p=often)]} for step in range(20)}
    steps[EVAL, 0] = {"Net_input_0": np.eye(12)[rng.integers(0, 8, size=200)]}
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


@pytest.mark.parametrize(("factor", "num_scaled", "fires"), [(3.5, 6, True), (2.5, 6, False), (3.5, 5, False)])
def test_features_that_are_all_scaled_in_the_same_way_need_less(run_rule, factor, num_scaled, fires):
    """One of both sets is then not scaled; features that differ for other reasons differ in both ways."""
    scales = np.full(6, 1 / factor)
    scales[:num_scaled] = factor
    assert bool(run_rule("EvaluationMismatch", trained_and_evaluated(lambda x: x * scales))) == fires


@pytest.mark.parametrize("order", [np.sort, lambda rows, axis: rows], ids=["sorted", "as they come"])
def test_a_round_of_evaluation_may_come_in_an_order(run_rule, order):
    """Only when it is over, its inputs can be compared with those of training."""
    rng = np.random.default_rng(0)
    steps = {(TRAIN, step): {"Net_input_0": rng.normal(size=(32, 6)), "loss": 1.0} for step in range(12)}
    rows = order(rng.normal(size=(400, 6)), axis=0)
    for step in range(4):
        steps[EVAL, step] = {"Net_input_0": rows[100 * step : 100 * (step + 1)], "loss": 1.0}
    steps[TRAIN, 12] = {"Net_input_0": rng.normal(size=(32, 6)), "loss": 1.0}
    assert run_rule("EvaluationMismatch", steps) == []


def labelled(labels, mode, kind):
    """Return steps of batches of 32 with some labels: of a loss of classes, or of yes or no."""
    batches = [labels[start : start + 32] for start in range(0, len(labels), 32)]
    if kind == "yes or no":
        losses = [
            loss_tensors(np.zeros((len(batch), 1)), batch[:, None].astype(float), name="BCEWithLogitsLoss")
            for batch in batches
        ]
    else:
        losses = [loss_tensors(np.zeros((len(batch), 10)), batch) for batch in batches]
    inputs = ({"Net_input_0": np.zeros((len(batch), 1))} for batch in batches)
    return steps_of([given | loss for given, loss in zip(inputs, losses, strict=True)], mode)


@pytest.mark.parametrize("kind", ["classes", "yes or no"])
@pytest.mark.parametrize(
    ("training", "evaluation", "fires"),
    [
        ([0.5, 0.5], [0.5, 0.5], False),
        ([0.5, 0.5], [0.98, 0.02], False),  # as many of both for training, and as they are for evaluation
        ([0.7, 0.3], [0.0, 1.0], True),
        ([0.0, 1.0], [0.5, 0.5], False),
        ([0.4, 0.6], [0.0, 1.0], False),
    ],
)
def test_labels_of_other_classes_than_in_training_fire(run_rule, kind, training, evaluation, fires):
    """As where what lies sorted by class is split, or where all pictures of a folder get one label."""
    rng = np.random.default_rng(0)
    steps = labelled(rng.choice(2, 640, p=training), TRAIN, kind) | labelled(
        rng.choice(2, 320, p=evaluation), EVAL, kind
    )
    issues = run_rule("EvaluationMismatch", steps, max_ratio=100)
    assert bool(issues) == fires
    assert first_cause(issues) == ("evaluation data" if fires else None)


@pytest.mark.parametrize(("num_evaluated", "fires"), [(96, False), (128, True)])
def test_few_labels_tell_nothing_of_the_shares_of_classes(run_rule, num_evaluated, fires):
    """Ten of each class are needed."""
    rng = np.random.default_rng(0)
    steps = labelled(rng.integers(0, 10, 640), TRAIN, "classes")
    steps |= labelled(np.full(num_evaluated, 3), EVAL, "classes")
    assert bool(run_rule("EvaluationMismatch", steps, max_ratio=100)) == fires


def test_labels_of_a_round_may_be_sorted(run_rule):
    """Only when it is over, they can be compared with those of training."""
    labels = np.repeat(np.arange(10), 64)
    rng = np.random.default_rng(0)
    steps = labelled(rng.integers(0, 10, 640), TRAIN, "classes") | labelled(labels, EVAL, "classes")
    more = labelled(rng.integers(0, 10, 64), TRAIN, "classes")
    steps |= {(mode, step + 20): tensors for (mode, step), tensors in more.items()}
    assert run_rule("EvaluationMismatch", steps, max_ratio=100) == []


def series_of(window, change):
    """Return training on shuffled windows of the first part of a series with a trend, and evaluation of the rest."""
    rng = np.random.default_rng(0)
    series = np.arange(300) / 300 + rng.normal(0, 0.01, 300)
    samples = np.stack([series[start : start + window] for start in range(300 - window)])[:, :, None]
    targets = series[window:][:, None]
    order = rng.permutation(200)
    found = {}
    for step in range(20):
        part = order[step * 10 : step * 10 + 10]
        scores = targets[part] + 0.1
        found[TRAIN, step] = {"Net_input_0": samples[part]} | loss_tensors(scores, targets[part], 0.01, "MSELoss")
    for step in range(9):
        part = slice(200 + step * 10, 210 + step * 10)
        tensors = loss_tensors(targets[part] + 1.0, targets[part], 1.0, "MSELoss")
        found[EVAL, step] = {"Net_input_0": change(samples[part])} | tensors
    return found


@pytest.mark.parametrize("window", [1, 8])
@pytest.mark.parametrize(("change", "fires"), [(lambda x: x, False), (lambda x: 100 + 40 * x, True)])
def test_the_later_part_of_a_series_may_follow_its_trend(run_rule, window, change, fires):
    """A trend, and a loss that is higher for what comes later, are no mismatch, but another scale is."""
    assert bool(run_rule("EvaluationMismatch", series_of(window, change))) == fires


@pytest.mark.parametrize(("num_samples", "fires"), [(1, False), (16, True)])
def test_the_loss_of_a_few_samples_tells_little(run_rule, num_samples, fires):
    """An evaluation of a single sample is no sign of other data."""
    steps = trained_and_evaluated(lambda x: x, evaluation_loss=3.0)
    for (mode, _), tensors in steps.items():
        if mode is EVAL:
            tensors["Net_input_0"] = np.repeat(tensors["Net_input_0"][:1] * 0 + 1, num_samples, axis=0)
            tensors["Net_input_0"] += np.arange(num_samples)[:, None] * 1e-3
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


@pytest.mark.parametrize("mode", [EVAL, PREDICT])
@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda x: x, None),
        (lambda x: 10 * x, None),
        (lambda x: 255 * x, "evaluation data"),
        (lambda x: x / 255, "evaluation data"),
        (np.zeros_like, None),
    ],
)
def test_a_single_sample_of_another_scale_fires(run_rule, mode, change, cause):
    """A picture that is predicted after training has to be scaled as those of training; one of zeros is made up."""
    rng = np.random.default_rng(0)
    steps = {(TRAIN, step): {"Net_input_0": rng.random((16, 4, 4))} for step in range(5)}
    steps[mode, 0] = {"Net_input_0": change(rng.random((1, 4, 4)))}
    assert first_cause(run_rule("EvaluationMismatch", steps)) == cause


@pytest.mark.parametrize(("width", "fires"), [(4, True), (3, False)])
def test_a_single_sample_of_few_features_has_no_scale(run_rule, width, fires):
    """A few numbers may be large by chance."""
    rng = np.random.default_rng(0)
    steps = {(TRAIN, step): {"Net_input_0": rng.random((16, width, width))} for step in range(5)}
    steps[PREDICT, 0] = {"Net_input_0": 255 * rng.random((1, width, width))}
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


@pytest.mark.parametrize(
    ("change", "fires"),
    [
        (lambda x: x / np.linalg.norm(x, axis=1, keepdims=True), True),
        (lambda x: x, False),
        (lambda x: x + 1.5, False),
        (lambda x: x * [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1], False),
        (lambda x: x[:50] * 4, False),
        (lambda x: x[:, :3] * 4, False),
    ],
    ids=["rows of norm 1", "sound", "elsewhere", "but for one feature", "a few samples", "a few features"],
)
def test_predictions_need_the_scale_of_training(run_rule, change, fires):
    """Predictions may be asked for other samples, but not in other units."""
    rng = np.random.default_rng(0)
    predicted = change(rng.normal(size=(100, 12)))
    steps = {(TRAIN, step): {"Net_input_0": rng.normal(size=(32, predicted.shape[1]))} for step in range(10)}
    steps[PREDICT, 0] = {"Net_input_0": predicted}
    assert first_cause(run_rule("EvaluationMismatch", steps)) == ("evaluation data" if fires else None)


@pytest.mark.parametrize("is_in_order", [True, False])
def test_predictions_of_a_later_part_of_a_series_may_vary_less(run_rule, is_in_order):
    """A forecast goes on with windows that come in the order of time."""
    rng = np.random.default_rng(0)
    series = np.concatenate([rng.normal(size=320), 0.1 * rng.normal(size=120)])
    windows = np.stack([series[start : start + 8] for start in range(430)])
    predicted = windows[330:430]
    steps = {(TRAIN, step): {"Net_input_0": windows[step * 30 : step * 30 + 30]} for step in range(10)}
    steps[PREDICT, 0] = {"Net_input_0": predicted if is_in_order else rng.permutation(predicted)}
    assert bool(run_rule("EvaluationMismatch", steps)) == (not is_in_order)


@pytest.mark.parametrize(("num_samples", "fires"), [(7, False), (8, True)])
def test_a_few_samples_that_are_evaluated_again_and_again_have_no_spread(run_rule, num_samples, fires):
    """A validation of a single sample, after each of a hundred epochs, is no set of a hundred samples."""
    rng = np.random.default_rng(0)
    steps = {(TRAIN, step): {"Net_input_0": rng.normal(size=(32, 6))} for step in range(10)}
    evaluated = 3 + rng.normal(size=(num_samples, 6))
    steps |= {(EVAL, step): {"Net_input_0": evaluated} for step in range(20)}
    assert bool(run_rule("EvaluationMismatch", steps)) == fires


def named(labels, accuracy, rng):
    """Return predictions of three classes of which a share is right."""
    return np.where(rng.random(len(labels)) < accuracy, labels, rng.integers(0, 3, len(labels)))


def steps_of_classes(modes, accuracy=0.9):
    """Return steps of a classifier of three classes of which a share of the predictions is right."""
    rng, steps = np.random.default_rng(4), {}
    for mode in modes:
        for step in range(12):
            labels = rng.integers(0, 3, 20)
            scores = np.eye(3)[named(labels, accuracy, rng)]
            steps[mode, step] = loss_tensors(scores, labels)
    return steps


RNG = np.random.default_rng(5)
LABELS = RNG.integers(0, 3, 300)
SHUFFLED = ReportRecord.of("confusion_matrix", LABELS, RNG.permutation(LABELS))
LAST_LAYER = LayerRecord(name="fc", type="Linear", activation="linear")
COMPLETE = ProgramRecord(
    framework="PyTorch", losses=(LossRecord(name="loss", type="CrossEntropyLoss", tail=(LAST_LAYER,)),)
)
SOUND = ReportRecord.of("accuracy_score", LABELS, named(LABELS, 0.9, RNG))


@pytest.mark.parametrize("modes", [(TRAIN,), (TRAIN, EVAL)])
@pytest.mark.parametrize(
    ("reports", "accuracy", "fires"),
    [
        ((SHUFFLED,), 0.9, True),
        ((SHUFFLED,), 0.2, False),
        ((SOUND,), 0.9, False),
        ((SHUFFLED, SOUND), 0.9, False),
        ((ReportRecord.of("f1_score", LABELS, np.zeros_like(LABELS)),), 0.9, False),
        ((ReportRecord.of("f1_score", np.minimum(LABELS, 1), RNG.integers(0, 9, 300) // 8),), 0.9, False),
        ((ReportRecord.of("f1_score", LABELS[:150], RNG.permutation(LABELS[:150])),), 0.9, False),
        ((ReportRecord.of("f1_score", LABELS, (LABELS + 1) % 3),), 0.9, False),
        ((ReportRecord.of("f1_score", LABELS // 2, RNG.permutation(LABELS // 2)),), 0.9, False),
        ((SHUFFLED, ReportRecord.of("f1_score", LABELS[:250], named(LABELS[:250], 0.9, RNG))), 0.9, False),
        ((), 0.9, False),
    ],
    ids=[
        "another order",
        "no skill",
        "right",
        "a baseline",
        "one class",
        "other shares",
        "few",
        "what is confused",
        "another task",
        "of another part",
        "none",
    ],
)
def test_reports_by_chance_of_a_model_that_knows_classes_fire(run_rule, monkeypatch, modes, reports, accuracy, fires):
    """Predictions and labels then have the same classes as often, but come in another order."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", reports=reports))
    issues = run_rule("EvaluationMismatch", steps_of_classes(modes, accuracy))
    assert first_cause(issues) == ("evaluation data" if fires else None)
    assert all("as if labels were in another order" in issue.message for issue in issues)
    assert all(("by heart" in issue.message) == (EVAL not in modes) for issue in issues)


def test_reports_of_a_model_that_has_learnt_by_heart_say_nothing_where_evaluation_does(run_rule, monkeypatch):
    """Its losses in evaluation show as little skill as the report."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", reports=(SHUFFLED,)))
    steps = {**steps_of_classes([TRAIN]), **steps_of_classes([EVAL], accuracy=0.0)}
    assert run_rule("EvaluationMismatch", steps) == []


def test_reports_of_a_job_that_was_followed_from_its_beginning_fire_at_its_end():
    """The record has no report until the script has ended, long after the rule has seen the steps."""
    job = MemoryJob()
    job.backend.write(program_key("worker_0"), (COMPLETE.to_json().encode(),))
    trial = job.open()
    rule = create_rule("EvaluationMismatch", trial)
    for (mode, mode_step), tensors in steps_of_classes([TRAIN, EVAL]).items():
        step = job.write(mode, mode_step, tensors)
        trial.wait_for_steps([step])
        assert not rule.result_at(step)
    assert rule.issues_while_waiting() == []
    with_report = attrs.evolve(COMPLETE, reports=(SHUFFLED,))
    job.backend.write(program_key("worker_0"), (with_report.to_json().encode(),))
    job.end()
    trial.steps()
    assert first_cause(rule.issues_while_waiting()) == "evaluation data"


@pytest.mark.parametrize(("most", "fires"), [(20, True), (5, False)])
def test_few_predictions_of_each_step_are_kept(run_rule, monkeypatch, most, fires):
    """Those of pictures may be millions; sixty are too few to know what the model knows."""
    monkeypatch.setattr(_reports, "MOST_OF_STEP", most)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", reports=(SHUFFLED,)))
    assert bool(run_rule("EvaluationMismatch", steps_of_classes([TRAIN]))) == fires
