"""One tensor over steps, modes and workers."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.errors import (
    CorruptRecordError,
    InvalidWorker,
    ShapeUnavailableForStep,
    SMDebugNotImplementedError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailableForStep,
)
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.format.keys import event_key, index_key, reduction_tensor_name
from sagemaker_debug_ext.vocabulary import ModeKeys

WEIGHT = np.arange(6, dtype=np.float32).reshape(2, 3)
MEAN = reduction_tensor_name("mean", False, "weight")
ABS_L2 = reduction_tensor_name("l2", True, "weight")


@pytest.fixture
def job(new_job):
    """Two workers; the second did not write step 2, nor step 4 so far. The job is running."""
    job = new_job(num_workers=2).write_collections()
    for rank in range(2):
        job.write(0, {"weight": WEIGHT + rank, "loss": rank}, workers=[f"worker_{rank}"])
    job.write(2, {"weight": WEIGHT + 2}, workers=["worker_0"])
    job.write(3, {MEAN: 2.5, ABS_L2: 7.5, "loss": 3}, shapes={"weight": (2, 3)})
    return job.write(4, {"weight": WEIGHT + 4}, workers=["worker_0"])


@pytest.fixture
def weight(job, open_trial):
    return open_trial(job).tensor("weight")


def test_value_when_saved_then_is_that_of_the_worker_asked_for(weight):
    """Without a worker it is the first one's; completeness does not matter."""
    assert np.array_equal(weight.value(0), WEIGHT)
    assert np.array_equal(weight.value(0, worker="worker_1"), WEIGHT + 1)
    assert np.array_equal(weight.value(0, modes.TRAIN), WEIGHT)
    assert np.array_equal(weight.value(4), WEIGHT + 4)
    assert weight.value(0).dtype == np.float32
    assert not weight.value(0).flags.writeable


@pytest.mark.parametrize(
    ("step", "mode", "worker", "error"),
    [
        (1, modes.GLOBAL, None, StepUnavailable(1, modes.GLOBAL, (0, 2))),
        (5, modes.GLOBAL, None, StepNotYetAvailable(5, modes.GLOBAL, (4,))),
        (0, modes.EVAL, None, StepNotYetAvailable(0, modes.EVAL)),
        (3, modes.TRAIN, None, TensorUnavailableForStep("weight", 3, modes.TRAIN, True)),
        (2, modes.TRAIN, "worker_1", InvalidWorker("worker_1", ("worker_0",))),
        (0, modes.GLOBAL, "worker_9", InvalidWorker("worker_9", ("worker_0", "worker_1"))),
    ],
)
def test_value_when_it_is_not_there_then_says_what_is_missing(weight, step, mode, worker, error):
    """A missing step, a missing tensor and a missing worker are three different errors."""
    with pytest.raises(type(error)) as caught:
        weight.value(step, mode, worker)
    assert caught.value.args == error.args


def test_value_when_the_step_is_there_without_the_tensor_then_says_so(job, open_trial):
    """Another tensor was saved at that step."""
    trial = open_trial(job)
    with pytest.raises(TensorUnavailableForStep) as caught:
        trial.tensor("loss").value(2)
    assert (caught.value.tname, caught.value.step, caught.value.has_reductions) == ("loss", 2, False)
    assert str(caught.value).endswith("at step 2 of mode GLOBAL (saved nearest to it: 0 and 3)")


def test_value_when_the_step_comes_later_then_found(job, weight):
    """A step that is not known is looked for."""
    job.write(5, {"weight": WEIGHT + 5})
    assert np.array_equal(weight.value(5), WEIGHT + 5)


def test_values_when_read_then_all_complete_steps_are_there(job, open_trial):
    """Steps some worker has yet to write are left out, as in the list of steps."""
    loss = open_trial(job).tensor("loss")
    assert {step: value.item() for step, value in loss.values().items()} == {0: 0, 3: 3}
    assert {step: value.item() for step, value in loss.values(modes.TRAIN, "worker_1").items()} == {0: 1, 3: 3}
    assert loss.values(modes.EVAL) == {}


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [({"worker": "worker_1"}, InvalidWorker, "worker_1"), ({}, TensorUnavailableForStep, "step 3 ")],
    ids=["of a worker", "at a step"],
)
def test_values_when_one_is_missing_then_the_error_has_its_place(weight, options, error, match):
    """The error has the worker, or the first step, without a value."""
    with pytest.raises(error, match=match):
        weight.values(**options)


def test_steps_when_listed_then_counted_in_the_mode(new_job, open_trial):
    """Completeness goes by global steps, whatever the mode's own numbers are."""
    job = new_job(num_workers=2).write_collections()
    job.write(10, mode=ModeKeys.EVAL, mode_step=0)
    job.write(20, mode=ModeKeys.EVAL, mode_step=1, workers=["worker_0"])
    loss = open_trial(job).tensor("loss")
    assert loss.steps() == [10]
    assert loss.steps(modes.EVAL) == [0]
    assert loss.steps(modes.EVAL, show_incomplete_steps=True) == [0, 1]
    assert loss.steps(modes.TRAIN) == []


@pytest.mark.parametrize(
    ("step", "n", "expected"),
    [(3, None, [0, 2, 3]), (3, 0, [0, 2, 3]), (3, 2, [2, 3]), (2, 9, [0, 2]), (1, 1, [0]), (9, 1, [3])],
)
def test_prev_steps_when_asked_then_end_with_the_step(weight, step, n, expected):
    """The step itself counts; incomplete steps do not."""
    assert weight.prev_steps(step, n) == expected
    assert weight.prev_steps(step, n, modes.TRAIN) == expected


def test_shape_when_saved_or_not_then_known(weight, job, open_trial):
    """The saved shape is taken; else the value has one; else it is an error of its own."""
    assert weight.shape(3) == (2, 3)
    assert weight.shape(0, modes.TRAIN, "worker_1") == (2, 3)
    assert weight.original_name == "framework/weight"
    loss = open_trial(job).tensor("loss")
    assert loss.original_name is None
    assert loss.shape(0) == (1,)
    job.write(6, {reduction_tensor_name("max", False, "loss"): 1})
    with pytest.raises(ShapeUnavailableForStep, match="step 6 "):
        loss.shape(6)


def test_shape_and_value_when_saved_together_then_both_are_there(new_job, open_trial):
    """Shape, value and reduction of one tensor stand side by side in one index file."""
    job = new_job().write_collections().write(0, {"w": WEIGHT, reduction_tensor_name("max", False, "w"): 9.0},
                                              shapes={"w": (7,)})  # fmt: skip
    tensor = open_trial(job).tensor("w")
    assert np.array_equal(tensor.value(0), WEIGHT)
    assert tensor.shape(0) == (7,)
    assert tensor.reduction_value(0, "max") == 9


def test_reductions_when_saved_then_returned_and_else_computed(weight):
    """A saved reduction goes before a computed one; nothing is computed for the list of saved ones."""
    assert weight.reduction_values(3) == {("mean", False): 2.5, ("l2", True): 7.5}
    assert weight.reduction_values(0) == {}
    assert weight.reduction_value(3, "l2", abs=True) == 7.5
    assert weight.reduction_value(0, "mean", worker="worker_1") == 3.5
    assert weight.reduction_value(0, "max", modes.TRAIN) == 5
    assert weight.reduction_value(0, "l2", abs=True) == pytest.approx(np.linalg.norm(WEIGHT, 2))


def test_reduction_when_neither_saved_nor_computable_then_named(weight):
    """The error has the names of the reduction and of the step."""
    with pytest.raises(TensorUnavailableForStep, match="min") as caught:
        weight.reduction_value(3, "min")
    assert (caught.value.tname, caught.value.step) == ("min", 3)


def test_reduction_when_unknown_then_refused(weight):
    """An unknown reduction is refused, and the error has its name."""
    with pytest.raises(SMDebugValueError, match=r"\(got 'l1_norm'\)"):
        weight.reduction_value(0, "l1_norm")


def test_step_when_called_then_says_what_replaces_it(weight):
    """The old method names the new ones."""
    with pytest.raises(SMDebugNotImplementedError, match="use value, shape"):
        weight.step(0, modes.TRAIN)


@pytest.mark.parametrize("cache", [False, True])
def test_value_when_read_again_then_cached_if_asked_to(new_job, open_trial, counting_backend, cache):
    """With a cache the same array comes back; the file, a small one, is read once in any case."""
    job = new_job(counting_backend).write_collections().write(0).write(1)
    loss = open_trial(job, cache=cache).tensor("loss")
    first = loss.value(0)
    counting_backend.reads.clear()
    again = loss.value(0)
    assert (again is first) == cache
    assert counting_backend.reads == []
    assert loss.value(1) == 0.5
    assert counting_backend.reads == [event_key(1, "worker_0")]
    assert list(loss.values()) == [0, 1]


def test_event_file_when_lost_then_the_value_is_unavailable_at_once(job, open_trial, clock):
    """A worker that went on, or a job that ended, will not write the file again."""
    job.backend.delete(event_key(0, "worker_0"))
    trial = open_trial(job)
    with pytest.raises(TensorUnavailableForStep, match="step 0 of mode TRAIN"):
        trial.tensor("weight").value(0, modes.TRAIN)
    job.backend.delete(event_key(4, "worker_0"))
    job.end()
    with pytest.raises(TensorUnavailableForStep, match="step 4 "):
        trial.tensor("weight").value(4)
    assert clock.now == 0
    paths = [problem.path for problem in trial.problems()]
    assert paths == [f"{job.backend.url}/{event_key(step, 'worker_0')}" for step in (0, 4)]
    assert trial.tensor("weight").value(0, worker="worker_1").shape == (2, 3)


def test_values_when_one_event_file_is_lost_then_the_error_says_which(new_job, open_trial):
    """The step is counted in the mode asked for."""
    job = new_job().write_collections()
    for step in range(3):
        job.write(step + 10, mode_step=step)
    job.end().backend.delete(event_key(11, "worker_0"))
    with pytest.raises(TensorUnavailableForStep, match="step 1 of mode TRAIN"):
        open_trial(job).tensor("loss").values(modes.TRAIN)


def test_event_file_when_it_may_still_come_then_waited_for(job, open_trial, clock, monkeypatch):
    """Files copied to another place may come in any order; the wait for one has an end."""
    monkeypatch.setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "5")
    key = event_key(4, "worker_0")
    content = job.backend.read(key)
    job.backend.delete(key)
    tensor = open_trial(job).tensor("weight")
    with pytest.raises(TensorUnavailableForStep):
        tensor.value(4)
    assert clock.now == 5
    clock.at(8, lambda: job.backend.write(key, (content,)))
    assert np.array_equal(tensor.value(4), WEIGHT + 4)
    assert clock.now == 8


def test_event_file_when_the_folder_of_the_trial_is_gone_then_not_waited_for(new_job, open_trial, clock, tmp_path):
    """Nothing comes into a folder that somebody has deleted."""
    job = new_job(backend=LocalBackend(tmp_path / "job")).write_collections()
    job.write(0)
    tensor = open_trial(job).tensor("loss")
    shutil.rmtree(tmp_path / "job")
    with pytest.raises(TensorUnavailableForStep):
        tensor.value(0)
    assert clock.now == 0


def test_event_file_when_damaged_then_the_error_and_the_problem_name_it(job, open_trial):
    """A wrong value is never returned, and the rest of the trial stays readable."""
    key = event_key(0, "worker_0")
    job.backend.write(key, (job.backend.read(key)[:-20],))
    trial = open_trial(job)
    with pytest.raises(CorruptRecordError, match=key):
        trial.tensor("loss").value(0)
    assert [problem.path for problem in trial.problems()] == [f"{job.backend.url}/{key}"]
    assert np.array_equal(trial.tensor("weight").value(0), WEIGHT)


def test_value_when_the_step_was_written_anew_meanwhile_then_the_new_one_is_read(job, open_trial):
    """An index that has grown stale is noticed by the record it leads to."""
    trial = open_trial(job)
    job.write(0, {"other": 1.0, "weight": WEIGHT - 1}, workers=["worker_0"])
    assert np.array_equal(trial.tensor("weight").value(0), WEIGHT - 1)
    assert trial.problems() == ()


def test_value_when_the_step_was_written_anew_and_is_damaged_then_an_error(job, open_trial):
    """A damaged file is read once more and then raises, with and without `dynamic_refresh`."""
    trial = open_trial(job)
    job.write(0, {"other": 1.0, "weight": WEIGHT - 1}, workers=["worker_0"])
    job.backend.write(event_key(0, "worker_0"), (b"\0" * 1000,))
    with pytest.raises(CorruptRecordError, match="worker_0"):
        trial.tensor("weight").value(0)
    assert len(trial.problems()) == 1
    trial.dynamic_refresh = False
    with pytest.raises(CorruptRecordError, match="worker_0"):
        trial.tensor("weight").value(0)


def test_index_when_its_file_is_gone_later_then_the_step_stays_known(job, weight):
    """What was read once is not forgotten."""
    job.backend.delete(index_key(0, "worker_0"))
    assert weight.steps() == [0, 2, 3]
    assert np.array_equal(weight.value(0), WEIGHT)
