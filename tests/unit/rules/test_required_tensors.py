from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.errors import (
    NoMoreData,
    SMDebugValueError,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from sagemaker_debug_ext.rules import RequiredTensors, RequiredTensorsForTrial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN = ModeKeys.TRAIN


@pytest.fixture
def trial(make_trial):
    return make_trial({(TRAIN, 0): {"a": np.ones(1), "b": np.ones(1)}, (TRAIN, 1): {"a": np.ones(1)}})


def test_names_and_steps_are_kept_in_order(trial):
    """Adding again adds the new steps only."""
    required = RequiredTensors(trial, None)
    required.add("b", [0])
    required.add("a", [1])
    required.add("a", [0, 1, 0])
    assert required.get_names() == ["b", "a"]
    assert required.get_tensor_steps("a") == [1, 0]
    assert required.get_tensor_steps("unknown") == []
    assert [tensor.name for tensor in required.get()] == ["b", "a"]


def test_a_pattern_asks_for_all_matches_each_with_steps_of_its_own(trial):
    """Later steps of one tensor are not those of another, nor of the caller's list."""
    required = RequiredTensorsForTrial(trial)
    steps = [0]
    required.add(".", steps, should_match_regex=True)
    required.add("a", [1])
    assert (required.get_tensor_steps("a"), required.get_tensor_steps("b"), steps) == ([0, 1], [0], [0])


def test_an_unknown_name_is_refused_at_once(trial):
    """Unless it is a pattern, which may match nothing."""
    required = RequiredTensors(trial)
    with pytest.raises(TensorUnavailable):
        required.add("c", [0])


def test_fetch_finds_everything_that_is_there(trial):
    """And may be called again after clearing."""
    required = RequiredTensors(trial)
    required.fetch()
    required.add("a", [0, 1])
    required.fetch()
    required.clear()
    assert required.get_names() == []


@pytest.mark.parametrize(
    ("name", "step", "error"),
    [("b", 1, TensorUnavailableForStep), ("a", 5, NoMoreData)],
)
def test_fetch_raises_what_is_missing(trial, name, step, error):
    """A step without the tensor and a step that never comes are different errors."""
    required = RequiredTensors(trial)
    required.add(name, [step])
    with pytest.raises(error):
        required.fetch()


def test_fetch_raises_for_a_step_that_was_skipped(make_trial):
    """A later step tells that it never comes."""
    trial = make_trial({(TRAIN, 0): {"a": np.ones(1)}})
    required = RequiredTensors(trial)
    required.add("a", [-1])
    with pytest.raises((StepUnavailable, NoMoreData)):
        required.fetch()


def test_other_trials_have_their_own_requirements(trial, make_trial):
    """Each method takes the trial that is meant."""
    other = make_trial({(TRAIN, 0): {"z": np.ones(1)}})
    required = RequiredTensors(trial, [other])
    required.add("z", [0], trial=other)
    required.fetch()
    assert (required.get_names(), required.get_names(other)) == ([], ["z"])
    assert [tensor.trial for tensor in required.get(other)] == [other]
    assert required.get_tensor_steps("z", other) == [0]


def test_a_foreign_trial_is_refused(trial, make_trial):
    """Only the rule's trials can be asked."""
    with pytest.raises(SMDebugValueError, match="one of the rule's trials"):
        RequiredTensors(trial).add("a", [0], trial=make_trial({(TRAIN, 0): {"a": np.ones(1)}}))
