"""ExplodingTensor fires when an element of a tensor is NaN or infinite."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.inference.statistics import count_nan, count_non_finite
from sagemaker_debug_ext.rules.sagemaker.tensors.exploding_tensor import reductions_explode
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import ATTENTION_MASKS, EVAL, GAPS_IN_TARGETS, TRAIN, loss_tensors, steps_of

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("value", "nan", "non_finite"),
    [
        (np.array([1.0, NAN, INF, -INF]), 1, 3),
        (np.array([3.4e38, -3.4e38], np.float32), 0, 0),
        (np.array([2**63 - 1]), 0, 0),
        (np.array([True, False]), 0, 0),
        (np.array([complex(0, NAN), complex(INF, 0), 1j]), 1, 2),
        (np.array(NAN), 1, 1),
    ],
    ids=["mixed", "large", "integers", "booleans", "complex", "scalar"],
)
def test_counts_are_of_non_finite_elements(value, nan, non_finite):
    """Only NaN and infinities count, so large finite numbers and integers do not."""
    assert (count_nan(value), count_non_finite(value)) == (nan, non_finite)


@pytest.mark.parametrize(
    ("reductions", "explodes", "has_nan"),
    [
        ({("mean", False): NAN}, True, True),
        ({("mean", False): INF, ("std", False): 1.0}, True, False),
        ({("mean", False): 1.0}, False, False),
        ({("min", False): 0.0, ("max", False): INF}, True, False),
        ({("min", False): 0.0, ("max", False): 1e30, ("variance", False): INF}, False, False),
        ({("max", True): 1e30, ("prod", False): NAN}, False, False),
        ({("max", True): NAN}, True, True),
        ({("min", True): 0.0, ("l2", False): INF}, True, False),
        ({("mean", False): 0.7, ("std", False): NAN}, False, False),
        ({("mean", True): NAN, ("std", False): NAN}, True, True),
        ({("zero_fraction", False): 0.0, ("std", False): NAN}, True, True),
        ({}, False, False),
    ],
)
def test_reductions_stand_for_the_tensor(reductions, explodes, has_nan):
    """A reduction that is not finite counts, unless the extremes prove that it overflowed over finite elements.

    A standard deviation of NaN beside a finite mean does not count: it is that of a single element.
    """
    assert reductions_explode(reductions, only_nan=False) == explodes
    assert reductions_explode(reductions, only_nan=True) == has_nan


def test_all_tensors_are_looked_at_when_nothing_is_selected(run_rule):
    """One bad element in any tensor fires, and the issue names the tensors."""
    steps = {
        (TRAIN, 0): {"a": np.ones(3), "b": np.ones(3)},
        (EVAL, 0): {"a": np.array([1, NAN, INF]), "b": np.array([INF])},
    }
    (issue,) = run_rule("ExplodingTensor", steps)
    assert (issue.step, issue.mode, issue.tensors, issue.value) == (1, EVAL, ("a", "b"), 2)
    assert "'a' and 1 other tensor" in issue.message


@pytest.mark.parametrize(
    ("parameters", "fires_at"),
    [
        ({}, [0, 1, 2]),
        ({"only_nan": "True"}, [0, 2]),
        ({"only_nan": "false"}, [0, 1, 2]),
        ({"collection_names": "losses"}, [1]),
        ({"tensor_regex": "^x$"}, [0]),
        ({"tensor_regex": "^x$", "collection_names": ["losses"]}, [0, 1]),
        ({"tensor_regex": "^y$|^x$", "only_nan": True}, [0, 2]),
        ({"collection_names": "nowhere"}, []),
    ],
)
def test_selection_and_kind_follow_the_parameters(run_rule, parameters, fires_at):
    """Collections and patterns are united, and `only_nan` ignores infinities."""
    steps = {
        (TRAIN, 0): {"x": np.array([NAN]), "loss": np.array([1.0])},
        (TRAIN, 1): {"x": np.array([1.0]), "loss": np.array([INF])},
        (TRAIN, 2): {"y": np.array([NAN])},
        (TRAIN, 3): {"x": np.array([1e30]), "loss": np.array([1e300]), "y": np.array([], np.float32)},
    }
    assert [issue.step for issue in run_rule("ExplodingTensor", steps, **parameters)] == fires_at


@pytest.mark.parametrize(
    ("column", "parameters", "fires"),
    [
        ("Split", {}, False),
        ("Split", {"only_nan": True}, False),
        ("Split", {"tensor_regex": "^trees/"}, True),
        ("Split", {"collection_names": "trees"}, True),
        ("Yes", {}, False),
        ("Gain", {}, True),
        ("Splitter", {}, True),
    ],
)
def test_gaps_in_tables_of_trees_fire_only_if_they_are_selected(make_trial, run_rule, column, parameters, fires):
    """Columns of tree tables that are NaN at leaves are ignored unless they are selected."""
    steps = {(TRAIN, 0): {f"trees/{column}": np.array([1.0, NAN, NAN]), "labels": np.array([1.0])}}
    trial = make_trial(steps, collections={"trees": [f"trees/{column}"]})
    assert [issue.step for issue in run_rule("ExplodingTensor", trial, **parameters)] == ([0] if fires else [])


@pytest.mark.parametrize(
    ("name", "value", "parameters", "fires"),
    ATTENTION_MASKS,
)
def test_masks_fire_only_if_they_are_selected(run_rule, name, value, parameters, fires):
    """An input of 0 and minus infinity is an attention mask and is ignored unless it is selected."""
    steps = {(TRAIN, 0): {name: np.array(value, np.float32), "loss": np.array([1.0])}}
    assert [issue.step for issue in run_rule("ExplodingTensor", steps, **parameters)] == ([0] if fires else [])


def test_texts_are_ignored(run_rule):
    """A tensor of texts cannot explode."""
    assert run_rule("ExplodingTensor", {(TRAIN, 0): {"x": np.array(["nan"])}}) == []


def test_a_trial_of_reductions_fires_by_a_reduction(run_rule):
    """An issue found by a reduction has no measured value."""
    steps = {(TRAIN, 0): {reduction_tensor_name("mean", False, "w"): np.array(NAN)}}
    (issue,) = run_rule("ExplodingTensor", steps)
    assert (issue.tensors, issue.value) == (("w",), None)
    assert "reduction" in issue.message


def test_with_several_workers_the_first_is_read(tmp_path, run_rule):
    """Values of the second worker are not read."""
    job = SmallTrial(tmp_path, workers=("worker_0", "worker_1"))
    job.write(TRAIN, 0, {"x": np.array([1.0])}, global_step=0, worker="worker_0")
    job.write(TRAIN, 0, {"x": np.array([NAN])}, global_step=0, worker="worker_1")
    job.end()
    assert run_rule("ExplodingTensor", create_trial(str(tmp_path))) == []


@pytest.mark.parametrize(("values", "fires"), GAPS_IN_TARGETS)
def test_gaps_in_targets_fire_only_if_the_loss_does_not_leave_them_out(run_rule, values, fires):
    """A loss that is finite takes no notice of targets that are not; what is selected counts in any case."""
    tensors = {**loss_tensors(np.ones(2), np.ones(2), name="L1Loss"), "gradient/fc.weight": np.ones(1)}
    tensors |= {name: np.array(value) for name, value in values.items()}
    assert bool(run_rule("ExplodingTensor", steps_of([tensors]))) == fires
    assert run_rule("ExplodingTensor", steps_of([tensors]), tensor_regex=".*")
