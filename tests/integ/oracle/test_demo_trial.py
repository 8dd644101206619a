"""The original library opens the trials that the demo's jobs wrote, and says the same of them as this package."""

import pytest

from sagemaker_debug_ext import create_trial, modes
from sagemaker_debug_ext.local.demo import demo_requests, run_demo
from sagemaker_debug_ext.vocabulary import REDUCTIONS


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Run both jobs of the demo, briefly."""
    work_dir = tmp_path_factory.mktemp("demo")
    return run_demo(demo_requests(work_dir, epochs=2), work_dir, on_event=lambda event: None)


@pytest.fixture(params=["healthy", "vanishing"])
def pair(request, reports, original):
    """Open one of the trials with both libraries."""
    (report,) = [report for report in reports if report.net == request.param]
    return create_trial(report.trial_path), original.create_trial(report.trial_path)


def test_names_steps_modes_and_workers_agree(pair, original):
    """Both list the same tensors, steps and workers, in every mode and at every step."""
    ours, theirs = pair
    assert ours.tensor_names() == theirs.tensor_names()
    assert len(ours.tensor_names()) > 10
    assert ours.workers() == theirs.workers()
    assert sorted(mode.name for mode in ours.modes()) == sorted(mode.name for mode in theirs.modes())
    assert ours.loaded_all_steps
    assert theirs.loaded_all_steps
    for mode in ("TRAIN", "EVAL", "GLOBAL"):
        steps = ours.steps(mode=modes[mode])
        assert steps == theirs.steps(mode=original.modes[mode])
        for step in steps:
            assert ours.tensor_names(step=step, mode=modes[mode]) == theirs.tensor_names(
                step=step, mode=original.modes[mode]
            )
    for step in ours.steps():
        assert ours.mode(step).name == theirs.mode(step).name
        assert ours.mode_step(step) == theirs.mode_step(step)


def test_every_value_agrees(pair):
    """Both return the same bytes, dtypes and shapes."""
    ours, theirs = pair
    num_values = 0
    for name in ours.tensor_names():
        left, right = ours.tensor(name).values(), theirs.tensor(name).values()
        assert list(left) == sorted(right)
        for step, value in left.items():
            assert (value.dtype, value.shape) == (right[step].dtype, right[step].shape), (name, step)
            assert value.tobytes() == right[step].tobytes(), (name, step)
            num_values += 1
    assert num_values > 50


def test_collections_agree(pair):
    """Both know the same collections, with the same members, patterns and settings."""
    ours, theirs = pair
    assert set(ours.collections()) == set(theirs.collections())
    for name, collection in theirs.collections().items():
        assert ours.collection(name).to_json_dict() == collection.to_json_dict()
        assert ours.tensor_names(collection=name) == theirs.tensor_names(collection=name)


def test_computed_reductions_agree(pair):
    """Numbers computed from a saved value are the same."""
    ours, theirs = pair
    name = ours.tensor_names(regex="weight$")[0]
    for reduction in REDUCTIONS:
        for absolute in (False, True):
            arguments = (ours.steps()[0], reduction)
            left = ours.tensor(name).reduction_value(*arguments, abs=absolute)
            right = theirs.tensor(name).reduction_value(*arguments, abs=absolute)
            assert left == pytest.approx(right, rel=1e-6, nan_ok=True)
