"""What makes no sense to a trial is refused by the name of the argument, and not by where it fails inside."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.trials import LocalTrial, S3Trial, Trial, create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN = ModeKeys.TRAIN


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    path = tmp_path_factory.mktemp("trial")
    write_trial(path, {(TRAIN, step): {"conv_weight": np.full(2, step)} for step in range(3)})
    return create_trial(path)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda trial: trial.tensor(["conv_weight"]), r"tname must be a name \(got \['conv_weight'\]\)"),
        (lambda trial: trial.has_tensor(None), r"tname must be a name \(got None\)"),
        (lambda trial: trial.tensor_names("weight"), "did you mean regex='weight'"),
        (lambda trial: trial.tensor_names(step="1"), r"step must be a step, a whole number \(got '1'\)"),
        (lambda trial: trial.tensor_names(regex=[1]), r"regex must hold regular expressions \(got 1\)"),
        (lambda trial: trial.collection(["weights"]), "coll_name must be a name"),
        (lambda trial: trial.mode([1]), "global_step must be a step"),
        (lambda trial: trial.global_step(TRAIN, "1"), "mode_step must be a step"),
        (lambda trial: trial.has_passed_step(None), "step must be a step"),
        (lambda trial: trial.workers_for_global_step("1"), "global_step must be a step"),
        (lambda trial: trial.wait_for_steps(1), r"required_steps must be a list of steps \(got 1\)"),
        (lambda trial: trial.wait_for_steps(["1"]), r"required_steps must hold steps only.*\(got '1'\)"),
        (lambda trial: list(trial.follow(begin="1")), "begin must be a step"),
        (lambda trial: trial.values("conv_weight"), r"did you mean \['conv_weight'\]\?"),
        (lambda trial: trial.values(7), r"names must be a list of names of tensors \(got 7\)$"),
        (lambda trial: trial.values(steps=1), "steps must be a list of steps"),
        (lambda trial: trial.values(steps="12"), "steps must be a list of steps"),
        (lambda trial: trial.values_at(None), "step must be a step"),
        (lambda trial: trial.stack("conv_weight"), r"did you mean \['conv_weight'\]\?"),
        (lambda trial: trial.tensor("conv_weight").value("1"), "step must be a step"),
        (lambda trial: trial.tensor("conv_weight").value([0, 1]), "step must be a step"),
        (lambda trial: trial.tensor("conv_weight").workers("1"), "step must be a step"),
        (lambda trial: trial.tensor("conv_weight").shape([1]), "step must be a step"),
        (lambda trial: trial.tensor("conv_weight").reduction_value("1", "mean"), "step must be a step"),
        (lambda trial: trial.tensor("conv_weight").reduction_values(None), "step must be a step"),
        (lambda trial: trial.tensor("conv_weight").prev_steps("1"), "step must be a step"),
        (lambda trial: trial.tensor("conv_weight").prev_steps(1, "1"), "n must be a step"),
        (lambda trial: trial.tensor("conv_weight").values(steps=1), "steps must be a list of steps"),
        (lambda trial: trial.tensor("conv_weight").stack(steps=["1"]), "steps must hold steps only"),
        (lambda trial: list(trial.tensor("conv_weight").items(begin="1")), "begin must be a step"),
        (lambda trial: list(trial.tensor("conv_weight").items(read_ahead="1")), "read_ahead must be a step"),
        (lambda trial: trial.tensor("conv_weight")["0":"1"], "begin must be a step"),
    ],
)
def test_question_when_of_a_wrong_type_then_names_the_argument(trial, ask, message):
    """The error says which argument it is, what is allowed and what was given."""
    with pytest.raises(SMDebugTypeError, match=message):
        ask(trial)


@pytest.mark.parametrize("step", [1, np.int64(1), 1.0])
def test_value_when_step_is_any_number_then_is_found(trial, step):
    """Steps that were computed with NumPy, or are whole floats, are steps."""
    np.testing.assert_array_equal(trial.tensor("conv_weight").value(step), [1, 1])


def test_items_when_nothing_is_to_be_read_at_once_then_refused(trial):
    """Reading ahead by no step would never end."""
    with pytest.raises(SMDebugValueError, match=r"read_ahead must be at least 1 \(got 0\)"):
        list(trial.tensor("conv_weight").items(read_ahead=0))


@pytest.mark.parametrize(
    "make",
    [
        lambda path: create_trial(None),
        lambda path: create_trial([path]),
        lambda path: create_trial(bytes(path)),
        lambda path: create_trial(create_trial(path)),
        lambda path: LocalTrial("name", None),
    ],
)
def test_trial_when_the_path_is_none_then_says_what_a_path_is(trial, make):
    """What is no path is refused before it is looked for."""
    from pathlib import Path

    with pytest.raises(SMDebugTypeError, match="path must be a folder of this machine or s3://bucket/prefix"):
        make(Path(trial.path))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: Trial("name", path), r"backend must be a Backend; create_trial opens a path \(got '"),
        (lambda path: create_trial(path, polling=3), r"polling must be a Polling.*\(got 3\)"),
        (lambda path: S3Trial("name", None, "prefix"), r"bucket_name must be a name \(got None\)"),
        (lambda path: S3Trial("name", "bucket", None), r"prefix_name must be a name \(got None\)"),
    ],
)
def test_trial_when_an_argument_is_of_a_wrong_type_then_named(trial, make, message):
    """The other arguments of trials are told apart likewise."""
    with pytest.raises(SMDebugTypeError, match=message):
        make(trial.path)
