"""Overfit fires when the validation loss is too far above the training loss."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.inference.loss_pairs import Losses
from sagemaker_debug_ext.rules.sagemaker.losses.overfit import loss_gap
from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, ProgramRecord
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import Trial, create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.rule_trials import EVAL, GLOBAL, PREDICT, TRAIN, loss_rounds, loss_tensors


def loss_history(*losses):
    """Return the steps of a trial from (mode, loss) pairs; None is a step without the loss."""
    counts = dict.fromkeys(ModeKeys, 0)
    steps = {}
    for mode, loss in losses:
        steps[mode, counts[mode]] = {"other": np.zeros(2)} if loss is None else {"loss": loss}
        counts[mode] += 1
    return steps


@pytest.mark.parametrize(
    ("validation", "training", "gap"),
    [(1.5, 1.0, 0.5), (0.5, 1.0, -0.5), (-1, -2, 0.5), (1, 0, math.inf), (0, 0, 0), (-1, 0, 0)],
)
def test_gap_is_relative_to_the_size_of_the_training_loss(validation, training, gap):
    """A positive validation loss above a training loss of 0 is an infinite gap."""
    assert loss_gap(Losses(validation, training)) == gap


@pytest.mark.parametrize(("validation", "fires"), [(1.1, False), (1.125, True), (0.5, False), (math.nan, False)])
def test_a_gap_above_the_threshold_fires(run_rule, validation, fires):
    """A gap that equals the threshold does not fire, and NaN never fires."""
    issues = run_rule("Overfit", loss_history((TRAIN, 1.0), (EVAL, validation)), ratio_threshold=0.1 + 1e-9)
    assert [issue.step for issue in issues] == ([1] if fires else [])


def test_issue_tells_both_losses(run_rule):
    """The message has the mean losses of the round, and the value of the issue is the gap."""
    (issue,) = run_rule(
        "Overfit", loss_history((TRAIN, 1.0), (TRAIN, 3.0), (EVAL, 3.0), (EVAL, 2.0)), ratio_threshold=0.3
    )
    assert (issue.step, issue.mode, issue.mode_step, issue.tensors) == (2, EVAL, 0, ("loss",))
    assert (issue.value, issue.threshold) == (0.5, 0.3)
    assert "validation loss of 3 against a training loss of 2" in issue.message


def test_issue_when_the_training_loss_is_zero_then_it_tells_no_gap(run_rule):
    """An infinite gap tells nobody anything."""
    (issue,) = run_rule("Overfit", loss_history((TRAIN, 0.0), (EVAL, 1.0)))
    assert "validation loss of 1 against a training loss of 0 (at most 0.1 allowed)" in issue.message


@pytest.mark.parametrize(
    ("patience", "rounds", "details"),
    [
        (2, 1, "too little to evaluate: evaluated 1 of at least 2 steps"),
        (2, 2, ""),
        (1, 1, ""),
        (1, 0, "nothing to evaluate: none of 1 steps had what the rule needs"),
    ],
)
def test_too_few_comparisons_are_told(make_trial, patience, rounds, details):
    """A rule that could not fire yet says so, rather than that nothing is wrong."""
    trial = make_trial(loss_history((TRAIN, 1.0), *[(EVAL, 0.5)] * rounds))
    evaluation = evaluate({"rule": create_rule("Overfit", trial, {"patience": patience})}, trial)
    assert evaluation.run() == []
    (status,) = evaluation.statuses
    assert (status.status, status.details, status.has_verdict) == ("NoIssuesFound", details, not details)


def test_patience_counts_exceedances_in_a_row(run_rule):
    """A gap within the limit resets the count, and a round without a training loss does not."""
    exceeding, fine, neither = [(TRAIN, 1.0), (EVAL, 2.0)], [(TRAIN, 1.0), (EVAL, 1.0)], [(TRAIN, None), (EVAL, 2.0)]
    history = [*exceeding, *exceeding, *fine, *exceeding, *neither, *exceeding, *exceeding]
    assert [issue.step for issue in run_rule("Overfit", loss_history(*history), patience=2)] == [3, 11, 13]


def test_steps_before_the_start_are_left_out_everywhere(run_rule):
    """Steps before `start_step` count neither as training loss nor as a gap."""
    history = [(TRAIN, 0.1), (EVAL, 2.0), (TRAIN, 2.0), (EVAL, 2.0), (TRAIN, 1.0), (EVAL, 2.0)]
    assert [issue.step for issue in run_rule("Overfit", loss_history(*history), start_step="2")] == [5]
    assert [issue.step for issue in run_rule("Overfit", loss_history(*history), start_step="3")] == [5]


@pytest.mark.parametrize(
    "history",
    [
        [(EVAL, 9.0)],
        [(TRAIN, 1.0), (TRAIN, 9.0)],
        [(TRAIN, None), (EVAL, 9.0)],
        [(TRAIN, np.ones(2)), (EVAL, 9.0)],
        [(TRAIN, 1.0), (EVAL, np.full(2, 9.0))],
        [(TRAIN, 1.0), (EVAL, np.array([], np.float32))],
        [(TRAIN, 1.0), (PREDICT, 9.0), (GLOBAL, 9.0)],
        [(GLOBAL, 1.0), (EVAL, 9.0)],
    ],
)
def test_without_both_losses_there_is_no_verdict(run_rule, history):
    """A loss that is missing, not a scalar, empty or of another mode is not compared."""
    assert run_rule("Overfit", loss_history(*history)) == []


def test_each_round_is_compared_with_the_training_since_the_round_before(run_rule):
    """A round of evaluation is compared with the training losses since the round before."""
    history = [(TRAIN, 2.0), (EVAL, 2.0), (TRAIN, 1.0), (EVAL, 2.0)]
    assert [issue.step for issue in run_rule("Overfit", loss_history(*history))] == [3]


def test_a_training_loss_of_zero_makes_the_gap_infinite(run_rule):
    """Any positive validation loss is infinitely far above a training loss of 0."""
    assert [issue.value for issue in run_rule("Overfit", loss_history((TRAIN, 0.0), (EVAL, 0.1)))] == [math.inf]


def test_trials_without_evaluation_steps_are_paired_by_name(make_trial, run_rule):
    """Losses of trials without modes, such as those of XGBoost, are paired by name."""
    steps = {
        (GLOBAL, step): {"train-logloss": 1.0, "validation-logloss": 1.0 + step / 10, "train-auc": np.ones(1)}
        for step in range(4)
    }
    trial = make_trial(steps, collections={"losses": ["logloss"]})
    issues = run_rule("Overfit", trial, ratio_threshold=0.15, patience=2)
    assert [(issue.step, issue.tensors) for issue in issues] == [(3, ("validation-logloss",))]


def test_pairs_are_left_alone_once_there_are_evaluation_steps(run_rule):
    """Names are not paired any more once there are evaluation steps."""
    pair = {"train_loss": 1.0, "val_loss": 9.0}
    steps = {(TRAIN, 0): pair, (EVAL, 0): {"train_loss": 1.0}, (TRAIN, 1): pair}
    assert [issue.step for issue in run_rule("Overfit", steps)] == [0]


@pytest.mark.parametrize(("last", "fires"), [(1.2, False), (2.0, True)])
def test_a_gap_that_closes_is_no_overfitting(run_rule, last, fires):
    """With `unless_falling`, a gap is tolerated as long as the validation loss falls."""
    validation = [4.0, 3.0, 2.0, 1.5, 1.4] if last < 2 else [4.0, 2.0, 2.0, 2.1, last]
    steps = loss_rounds([1.0, 0.5, 0.3, 0.2, 0.1], validation)
    parameters = {"ratio_threshold": 2, "patience": 3}
    assert run_rule("Overfit", steps, **parameters) != []
    assert bool(run_rule("Overfit", steps, unless_falling=True, **parameters)) == fires


@pytest.mark.parametrize(("rise", "fires"), [(0.0, False), (1.0, True)])
def test_a_part_of_a_round_is_no_overfitting(run_rule, rise, fires):
    """With `unless_falling`, rounds that begin with hard samples are compared as a whole."""
    rounds = [[(TRAIN, 1 / 2**number), (EVAL, 6.0), (EVAL, 3 - number / 4 + rise * number)] for number in range(6)]
    history = loss_history(*itertools.chain.from_iterable(rounds))
    parameters = {"ratio_threshold": 2, "patience": 2}
    assert run_rule("Overfit", history, **parameters) != []
    assert bool(run_rule("Overfit", history, unless_falling=True, **parameters)) == fires


@pytest.mark.parametrize(("number", "fires"), [(3, False), (4, True)])
def test_the_last_round_counts_once_the_job_has_ended(tmp_path, run_rule, number, fires):
    """With `unless_falling`, though no step of training follows, in a replay and in a job that was followed."""
    history = [(TRAIN, 1.0), (EVAL, 2.0), *[(TRAIN, 0.1), (EVAL, 4.0), (EVAL, 6.0)] * (number - 1)]
    parameters = {"ratio_threshold": 2, "patience": 3, "unless_falling": True}
    issues = run_rule("Overfit", loss_history(*history), **parameters)
    assert [issue.step for issue in issues] == [len(history) - 1] * fires
    job, counts = SmallTrial(tmp_path), dict.fromkeys(ModeKeys, 0)

    def go_on(_seconds):
        if history:
            mode, loss = history.pop(0)
            job.write(mode, counts[mode], {"loss": loss}, global_step=sum(counts.values()))
            counts[mode] += 1
        else:
            job.end()

    go_on(0)
    trial = create_trial(str(tmp_path))
    followed = evaluate([create_rule("Overfit", trial, parameters)], trial, sleep=go_on).run()
    assert [issue.step for issue in followed] == [issue.step for issue in issues]


@pytest.mark.parametrize(("last", "fires"), [(0.3, False), (0.6, True)])
def test_a_gap_of_tiny_losses_is_negligible(run_rule, last, fires):
    """With `unless_falling`, a gap of less than a tenth of the largest validation loss is tolerated."""
    steps = loss_rounds([1.0, 0.5, 0.02, 0.02, 0.02], [4.0, 1.0, last, last, last])
    parameters = {"ratio_threshold": 2, "patience": 2}
    assert run_rule("Overfit", steps, **parameters) != []
    assert bool(run_rule("Overfit", steps, unless_falling=True, **parameters)) == fires


@pytest.mark.parametrize(("last", "fires"), [(0.37, False), (0.39, True)])
def test_a_gap_of_losses_that_are_tiny_for_classes_is_negligible(run_rule, last, fires):
    """With `unless_falling`, a gap of up to a third of the loss of a constant answer, log 3, is tolerated."""
    scores, labels = np.random.default_rng(0).normal(size=(21, 3)), np.arange(21) % 3
    steps = {}
    for step, (training, validation) in enumerate([(1.0, 0.07), (0.1, 0.05), *[(0.01, last)] * 3]):
        steps[TRAIN, step] = loss_tensors(scores, labels, training)
        steps[EVAL, step] = loss_tensors(scores, labels, validation)
    parameters = {"ratio_threshold": 2, "patience": 2}
    assert run_rule("Overfit", steps, **parameters) != []
    assert bool(run_rule("Overfit", steps, unless_falling=True, **parameters)) == fires


LEARNT_BY_HEART = [(1.0, 1.2), (0.02, 0.95), (0.02, 0.94), (0.02, 0.93)]


def rounds_of_classes(rounds, weigh=lambda labels: labels):
    """Return rounds of two batches of training and of evaluation, with three classes: a constant has the loss log 3."""
    scores, steps = np.random.default_rng(0).normal(size=(21, 3)), {}
    for number, (training, validation) in enumerate(rounds):
        for half, labels in enumerate(weigh(np.arange(42) % 3).reshape(2, 21)):
            steps[TRAIN, 2 * number + half] = loss_tensors(scores, labels, training)
        for half, labels in enumerate(weigh(np.arange(42) % 3).reshape(2, 21)):
            steps[EVAL, 2 * number + half] = loss_tensors(scores, labels, validation)
    return steps


@pytest.mark.parametrize(
    ("rounds", "fires"),
    [
        (LEARNT_BY_HEART, True),
        ([*LEARNT_BY_HEART[:3], (0.02, 0.4)], True),  # scripts evaluate other data when they have trained
        ([*LEARNT_BY_HEART[:3], (0.02, 0.87)], True),
        ([*LEARNT_BY_HEART[:2], (0.02, 0.87), (0.02, 0.86)], False),
        ([*LEARNT_BY_HEART[:2], (0.023, 0.94), (0.02, 0.93)], False),
        (LEARNT_BY_HEART[1:], True),
        (LEARNT_BY_HEART[2:], False),
        ([(0.0, 1.2), (0.0, 0.95), (0.0, 0.87), (0.0, 0.86)], False),
    ],
)
def test_what_is_learnt_by_heart_is_overfitting_at_the_end(run_rule, rounds, fires):
    """With `unless_falling`, where little is left to learn from, and little known of new data in rounds before."""
    steps = rounds_of_classes(rounds)
    issues = run_rule("Overfit", steps, ratio_threshold=2, patience=2, unless_falling=True)
    assert [issue.step for issue in issues] == [len(steps) - 1] * fires


LAGGING = LayerRecord(name="norm", type="BatchNorm1d", moving_share=0.2)
WEIGHED = LossRecord(name="CrossEntropyLoss", type="CrossEntropyLoss", arguments={"weight": [1.0, 1.0, 9.0]})


@pytest.mark.parametrize(
    ("parts", "fires"), [({}, True), ({"layers": (LAGGING,)}, False), ({"losses": (WEIGHED,)}, False)]
)
def test_losses_of_another_scale_tell_nothing_of_what_is_learnt_by_heart(run_rule, monkeypatch, parts, fires):
    """Averages of a normalisation that keep a sixth of their first values, as after eight steps, or weights."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", **parts))
    issues = run_rule("Overfit", rounds_of_classes(LEARNT_BY_HEART), ratio_threshold=2, patience=2, unless_falling=True)
    assert bool(issues) == fires


def test_the_end_of_another_loss_is_no_end(run_rule):
    """What is learnt by heart for long may hold for new data at last, when another loss has ended before."""
    steps = rounds_of_classes([*LEARNT_BY_HEART, (0.02, 0.5), (0.02, 0.1), (0.02, 0.05)])
    steps[EVAL, 7]["aux_loss"] = 0.5
    assert run_rule("Overfit", steps, ratio_threshold=2, patience=2, unless_falling=True) == []


def test_classes_of_validation_may_come_in_an_order(run_rule):
    """The loss of a constant answer is that for all classes, not for those of a batch."""
    steps = rounds_of_classes(LEARNT_BY_HEART, np.sort)
    assert run_rule("Overfit", steps, ratio_threshold=2, patience=2, unless_falling=True) != []


@pytest.mark.parametrize(("reported", "fires"), [(1.0, False), (1.5, True)])
def test_sums_over_batches_of_evaluation_are_compared_as_means(run_rule, reported, fires):
    """Scripts often add up the sums of batches in evaluation; a number that is no such sum is compared as it is."""
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(20, 3)), np.arange(20) % 3
    mean = float(np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(20), labels]))
    steps = {}
    for step in range(4):
        steps[TRAIN, step] = loss_tensors(scores, labels, mean)
        steps[EVAL, step] = loss_tensors(scores, labels, 20 * mean * reported)
    assert bool(run_rule("Overfit", steps)) == fires


def test_pattern_replaces_the_losses_collection(run_rule):
    """With a pattern, only tensors that it matches are compared."""
    steps = {(TRAIN, 0): {"loss": 1.0, "error": 1.0}, (EVAL, 0): {"loss": 9.0, "error": 8.0}}
    assert [issue.tensors for issue in run_rule("Overfit", steps)] == [("loss",)]
    assert [issue.tensors for issue in run_rule("Overfit", steps, tensor_regex="err")] == [("error",)]
    assert [issue.tensors for issue in run_rule("Overfit", steps, tensor_regex="err,loss")] == [("loss", "error")]


@pytest.mark.parametrize("parameters", [{"patience": 0}, {"ratio_threshold": -0.1}, {"start_step": -1}])
def test_values_out_of_range_are_refused(run_rule, parameters):
    """A value out of range is refused when the rule is made, and the parameter is named."""
    with pytest.raises(SMDebugValueError, match=next(iter(parameters))):
        run_rule("Overfit", loss_history((TRAIN, 1.0)), **parameters)


def test_with_several_workers_the_first_is_read(tmp_path, run_rule):
    """Losses of the second worker are not read."""
    job = SmallTrial(tmp_path, workers=("worker_0", "worker_1"))
    for step, mode, loss in ((0, TRAIN, 1.0), (1, EVAL, 9.0)):
        job.write(mode, 0, {"loss": 1.0}, global_step=step, worker="worker_0")
        job.write(mode, 0, {"loss": loss}, global_step=step, worker="worker_1")
    job.end()
    assert run_rule("Overfit", create_trial(str(tmp_path))) == []


@pytest.mark.parametrize(("is_weighted", "fires"), [(False, True), (True, False)])
def test_weighted_training_is_not_comparable_with_validation(run_rule, monkeypatch, is_weighted, fires):
    """Weights of classes scale the losses of training alone."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", is_weighted=is_weighted))
    assert bool(run_rule("Overfit", loss_rounds([1e-4] * 3, [0.3] * 3))) == fires
