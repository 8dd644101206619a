from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.inference.loss_pairs import EvaluationRounds, Losses, loss_pairs
from sagemaker_debug_ext.rules.sagemaker.overfit import loss_gap
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL, PREDICT, GLOBAL = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT, ModeKeys.GLOBAL


def steps_of(*losses):
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
    """A training loss of 0 makes the gap infinite, or none."""
    assert loss_gap(Losses(validation, training)) == gap


def test_pairs_are_found_by_name():
    """Prefixes of both kinds, with either separator; a plain name counts as training."""
    names = [
        *("train-auc", "validation-auc", "training_x", "val_x", "loss", "val_loss", "eval-loss", "test_loss"),
        *("valid-alone", "train-auc2", "a_validation-auc"),
    ]
    assert loss_pairs(names) == {
        "validation-auc": "train-auc",
        "val_x": "training_x",
        "val_loss": "loss",
        "eval-loss": "loss",
        "test_loss": "loss",
    }


def test_a_prefixed_training_loss_goes_before_a_plain_one():
    """train-X is meant by validation-X, even where X exists."""
    assert loss_pairs(["X", "train-X", "training-X", "validation-X"]) == {"validation-X": "train-X"}


def naive_rounds(history):
    """Return what can be compared at each step, by reading the whole history again."""
    found = []
    for position, (mode, loss) in enumerate(history):
        before = history[: position + 1]
        if mode is not EVAL or loss is None:
            found.append(None)
            continue
        relevant = [each for each in before if each[0] in (TRAIN, EVAL)]
        first_of_round = next((start for start in range(len(relevant), 0, -1) if relevant[start - 1][0] is TRAIN), 0)
        last_round_end = next((end for end in range(first_of_round, 0, -1) if relevant[end - 1][0] is EVAL), 0)
        validation = [value for _, value in relevant[first_of_round:] if value is not None]
        training = [value for _, value in relevant[last_round_end:first_of_round] if value is not None]
        comparable = bool(validation and training)
        found.append((sum(validation) / len(validation), sum(training) / len(training)) if comparable else None)
    return found


@given(
    st.lists(
        st.tuples(st.sampled_from([TRAIN, TRAIN, EVAL, EVAL, PREDICT, GLOBAL]), st.none() | st.integers(0, 9)),
        max_size=25,
    )
)
def test_rounds_equal_those_of_the_definition(history):
    """Whatever the order of modes, and whether or not the loss was saved at a step."""
    rounds = EvaluationRounds()
    observed = [rounds.observe(mode, {} if loss is None else {"loss": float(loss)}) for mode, loss in history]
    assert [each.get("loss") for each in observed] == naive_rounds(history)


@pytest.mark.parametrize(("validation", "fires"), [(1.1, False), (1.125, True), (0.5, False), (math.nan, False)])
def test_a_gap_above_the_threshold_fires(run_rule, validation, fires):
    """The limit itself is tolerated, and NaN never fires."""
    issues = run_rule("Overfit", steps_of((TRAIN, 1.0), (EVAL, validation)), ratio_threshold=0.1 + 1e-9)
    assert [issue.step for issue in issues] == ([1] if fires else [])


def test_issue_tells_both_losses(run_rule):
    """And the gap as the measured value."""
    (issue,) = run_rule("Overfit", steps_of((TRAIN, 1.0), (TRAIN, 3.0), (EVAL, 3.0), (EVAL, 2.0)), ratio_threshold=0.3)
    assert (issue.step, issue.mode, issue.mode_step, issue.tensors) == (2, EVAL, 0, ("loss",))
    assert (issue.value, issue.threshold) == (0.5, 0.3)
    assert "validation loss of 3 against a training loss of 2" in issue.message


def test_patience_counts_exceedances_in_a_row(run_rule):
    """A comparison without exceedance starts again; one that cannot be made does not."""
    exceeding, fine, neither = [(TRAIN, 1.0), (EVAL, 2.0)], [(TRAIN, 1.0), (EVAL, 1.0)], [(TRAIN, None), (EVAL, 2.0)]
    history = [*exceeding, *exceeding, *fine, *exceeding, *neither, *exceeding, *exceeding]
    assert [issue.step for issue in run_rule("Overfit", steps_of(*history), patience=2)] == [3, 11, 13]


def test_steps_before_the_start_are_left_out_everywhere(run_rule):
    """They count neither as training loss nor as exceedance."""
    history = [(TRAIN, 0.1), (EVAL, 2.0), (TRAIN, 2.0), (EVAL, 2.0), (TRAIN, 1.0), (EVAL, 2.0)]
    assert [issue.step for issue in run_rule("Overfit", steps_of(*history), start_step="2")] == [5]
    assert [issue.step for issue in run_rule("Overfit", steps_of(*history), start_step="3")] == [5]


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
    """A missing, wider or empty loss, or one of another mode, cannot be compared."""
    assert run_rule("Overfit", steps_of(*history)) == []


def test_each_round_is_compared_with_the_training_since_the_round_before(run_rule):
    """A falling training loss widens the gap."""
    history = [(TRAIN, 2.0), (EVAL, 2.0), (TRAIN, 1.0), (EVAL, 2.0)]
    assert [issue.step for issue in run_rule("Overfit", steps_of(*history))] == [3]


def test_a_training_loss_of_zero_makes_the_gap_infinite(run_rule):
    """Any positive validation loss exceeds it."""
    assert [issue.value for issue in run_rule("Overfit", steps_of((TRAIN, 0.0), (EVAL, 0.1)))] == [math.inf]


def test_trials_without_evaluation_steps_are_paired_by_name(make_trial, run_rule):
    """As XGBoost saves them: both values at each step, in no mode."""
    steps = {
        (GLOBAL, step): {"train-logloss": 1.0, "validation-logloss": 1.0 + step / 10, "train-auc": np.ones(1)}
        for step in range(4)
    }
    trial = make_trial(steps, collections={"losses": ["logloss"]})
    issues = run_rule("Overfit", trial, ratio_threshold=0.15, patience=2)
    assert [(issue.step, issue.tensors) for issue in issues] == [(3, ("validation-logloss",))]


def test_pairs_are_left_alone_once_there_are_evaluation_steps(run_rule):
    """From then on the modes tell training and validation apart."""
    pair = {"train_loss": 1.0, "val_loss": 9.0}
    steps = {(TRAIN, 0): pair, (EVAL, 0): {"train_loss": 1.0}, (TRAIN, 1): pair}
    assert [issue.step for issue in run_rule("Overfit", steps)] == [0]


def test_pattern_replaces_the_losses_collection(run_rule):
    """Only what it matches is compared."""
    steps = {(TRAIN, 0): {"loss": 1.0, "error": 1.0}, (EVAL, 0): {"loss": 9.0, "error": 8.0}}
    assert [issue.tensors for issue in run_rule("Overfit", steps)] == [("loss",)]
    assert [issue.tensors for issue in run_rule("Overfit", steps, tensor_regex="err")] == [("error",)]
    assert [issue.tensors for issue in run_rule("Overfit", steps, tensor_regex="err,loss")] == [("loss", "error")]


@pytest.mark.parametrize("parameters", [{"patience": 0}, {"ratio_threshold": -0.1}, {"start_step": -1}])
def test_values_out_of_range_are_refused(run_rule, parameters):
    """At construction, naming the parameter."""
    with pytest.raises(SMDebugValueError, match=next(iter(parameters))):
        run_rule("Overfit", steps_of((TRAIN, 1.0)), **parameters)


def test_with_several_workers_the_first_is_read(tmp_path, run_rule):
    """The other worker overfits."""
    job = SmallTrial(tmp_path, workers=("worker_0", "worker_1"))
    for step, mode, loss in ((0, TRAIN, 1.0), (1, EVAL, 9.0)):
        job.write(mode, 0, {"loss": 1.0}, global_step=step, worker="worker_0")
        job.write(mode, 0, {"loss": loss}, global_step=step, worker="worker_1")
    job.end()
    assert run_rule("Overfit", create_trial(str(tmp_path))) == []
