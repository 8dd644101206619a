"""The questions a trial answers, and what it says to wrong ones."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.analysis.utils import no_refresh
from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.core.modes import ModeKeys
from sagemaker_debug_ext.core.tensor import StepState
from sagemaker_debug_ext.errors import (
    MissingCollectionFiles,
    NoMoreData,
    SMDebugNotImplementedError,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailable,
    TrialNotFoundError,
)
from sagemaker_debug_ext.store.backends import LocalBackend, MemoryBackend
from sagemaker_debug_ext.store.format.keys import program_key
from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, ProgramRecord
from sagemaker_debug_ext.trials import LocalTrial, Trial, create_trial


@pytest.fixture
def job(new_job):
    """A running job of two workers: TRAIN 0, 10, 20 and EVAL 0 complete, TRAIN 30 written by one."""
    job = new_job(num_workers=2, collections=[("losses", "loss"), ("weights", "weight$")]).write_collections()
    for step in (0, 10):
        job.write(step, {"loss": 0.5, "fc.weight": [1.0, 2.0]})
    job.write(15, {"val_loss": 1.5}, mode=ModeKeys.EVAL, mode_step=0)
    job.write(25, {"loss": 0.25}, mode_step=20)
    return job.write(35, {"loss": 0.125}, mode_step=30, workers=["worker_0"])


@pytest.fixture
def local_job(new_job, tmp_path):
    """A job that writes into a folder."""
    return new_job(LocalBackend(tmp_path / "run")).write_collections().write(0)


# --- opening ---------------------------------------------------------------------------------------------------------


def test_create_trial_when_given_a_folder_then_opens_it(local_job, tmp_path, monkeypatch):
    """Paths may be texts or path objects, have blanks around them, and begin with the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "run"
    for given in (path, str(path), f"  {path} ", "~/run"):
        trial = create_trial(given)
        assert (type(trial), trial.name, trial.path, trial.trial_dir) == (LocalTrial, "run", str(path), str(path))
        assert trial.steps() == [0]
    assert create_trial(f"{path}/").name == ""
    assert create_trial(path, "mine").name == "mine"
    assert create_trial(path, parallel=False, check=True, output_dir="elsewhere").steps() == [0]


@pytest.mark.parametrize(
    ("name", "found"),
    [("none", "there is no such folder"), ("file", "it is a file"), (".", "there are no collections")],
    ids=["nothing", "a file", "an empty folder"],
)
def test_create_trial_when_the_path_holds_no_trial_then_says_what_is_there(tmp_path, name, found):
    """The error on a wrong path has what lies there."""
    (tmp_path / "file").touch()
    with pytest.raises(TrialNotFoundError, match=f"no trial at .*: {found}"):
        create_trial(tmp_path / name, wait_seconds=0)


def test_create_trial_when_the_path_cannot_become_a_trial_then_refused_without_a_wait(tmp_path):
    """A file or an empty path is not waited for; the error is also a `FileNotFoundError`."""
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="it is a file"):
        create_trial(tmp_path / "file")
    with pytest.raises(FileNotFoundError, match="no trial at"):
        create_trial("")


def test_create_trial_when_the_trial_has_nothing_but_an_end_then_refused(local_job, tmp_path):
    """An ended trial that never described itself and saved nothing cannot be opened."""
    for info in local_job.end().backend.list():
        if info.key != "training_job_end.ts":
            local_job.backend.delete(info.key)
    with pytest.raises(MissingCollectionFiles, match="no collections file"):
        create_trial(tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"profiler": True}, SMDebugNotImplementedError, "profiler"),
        ({"colour": "red"}, TypeError, "colour"),
        ({"range_steps": (5, 1)}, SMDebugValueError, "range_steps"),
    ],
    ids=["profiler data", "an unknown option", "an empty range"],
)
def test_create_trial_when_an_option_cannot_be_then_refuses_it(local_job, tmp_path, options, error, match):
    """An option that is unknown or not supported is refused by name."""
    with pytest.raises(error, match=match):
        create_trial(tmp_path / "run", **options)


def test_create_trial_when_the_place_is_of_another_kind_then_refuses_it():
    """Only folders and S3 are places of trials."""
    with pytest.raises(SMDebugValueError, match="gopher://bucket/x"):
        create_trial("gopher://bucket/x")


@pytest.mark.parametrize("given", ["s3:/foo", "s3:foo", "S3://foo"])
def test_create_trial_when_a_url_of_s3_is_misspelt_then_suggests_the_right_one(given):
    """The error has the URL that was given and the one that was meant."""
    with pytest.raises(SMDebugValueError, match=rf"got '{given}'\); did you mean 's3://foo'\?"):
        create_trial(given)


def test_create_trial_when_index_mode_is_off_then_knows_collections_only(local_job, tmp_path):
    """Such a trial never looks for steps."""
    trial = create_trial(tmp_path / "run", index_mode=False)
    assert (trial.steps(), trial.tensor_names(), list(trial.collections())) == ([], [], ["losses"])


@pytest.mark.parametrize("value", ["soon", "-1", "0.5"])
def test_open_when_the_delay_at_the_end_is_no_count_then_refused(job, open_trial, monkeypatch, value):
    """None is allowed there."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", value)
    with pytest.raises(SMDebugValueError, match=r"SMDEBUG_TRAINING_END_DELAY_REFRESH .* at least 0"):
        open_trial(job)


@pytest.mark.parametrize("name", ["SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT"])
@pytest.mark.parametrize("value", ["many", "0", "-1", "1.5"])
def test_open_when_an_environment_variable_is_no_count_then_refused(job, open_trial, monkeypatch, name, value):
    """A limit that makes no sense is not ignored."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SMDebugValueError, match=f"{name} must be a whole number of at least 1"):
        open_trial(job)


# --- steps -----------------------------------------------------------------------------------------------------------


def test_steps_when_some_are_incomplete_then_shown_on_request(job, open_trial):
    """Incomplete steps are hidden in every mode, by their global number."""
    trial = open_trial(job)
    assert trial.steps() == [0, 10, 15, 25]
    assert trial.steps(show_incomplete_steps=True) == [0, 10, 15, 25, 35]
    assert trial.steps(mode=modes.TRAIN) == [0, 10, 20]
    assert trial.steps(modes.TRAIN, show_incomplete_steps=True) == [0, 10, 20, 30]
    assert (trial.steps(modes.EVAL), trial.steps(modes.PREDICT)) == ([0], [])
    assert list(trial.modes()) == [modes.TRAIN, modes.EVAL]
    assert trial.last_complete_step == 25
    assert trial.last_index_token == f"{trial.path}/index/000000000/000000000025_worker_1.json"
    assert trial.workers_for_global_step(35) == ["worker_0"]


def test_steps_when_converted_then_global_and_mode_steps_agree(job, open_trial):
    """Conversions are inverse of each other, and None for what was not saved."""
    trial = open_trial(job)
    for step in trial.steps(show_incomplete_steps=True):
        mode, mode_step = trial.mode_modestep(step)
        assert (trial.mode(step), trial.mode_step(step)) == (mode, mode_step)
        assert trial.global_step(mode, mode_step) == step
    assert trial.mode_modestep(1) == (None, None)
    assert trial.global_step(modes.EVAL, 1) is None
    assert trial.global_step(modes.GLOBAL, 1) == 1


def test_steps_when_workers_take_unequal_numbers_then_each_worker_keeps_its_own(new_job, open_trial):
    """A mode step that workers saved at different global steps has all their values."""
    job = new_job(num_workers=2).write_collections()
    for rank, sequence in enumerate([["T0", "T1", "E0"], ["T0", "E0"]]):
        for step, name in enumerate(sequence):
            mode = ModeKeys.TRAIN if name[0] == "T" else ModeKeys.EVAL
            job.write(step, {"loss": 10 * rank + step}, mode=mode, mode_step=int(name[1]), workers=[f"worker_{rank}"])
    trial = open_trial(job.end())
    assert (trial.steps(modes.TRAIN), trial.steps(modes.EVAL)) == ([0, 1], [0])
    assert trial.mode_modestep(1) == (modes.TRAIN, 1)
    assert trial.global_step(modes.EVAL, 0) == 1
    loss = trial.tensor("loss")
    assert [loss.value(0, modes.EVAL, worker) for worker in loss.workers(0, modes.EVAL)] == [2, 11]
    assert [loss.value(1, worker=worker) for worker in loss.workers(1)] == [1, 11]
    assert loss.workers(1, modes.TRAIN) == ["worker_0"]


def test_incomplete_steps_when_more_than_the_window_then_given_up(new_job, open_trial, monkeypatch):
    """The window of the environment counts steps, so it works whatever the save interval."""
    monkeypatch.setenv("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "4")
    job = new_job(num_workers=2).write_collections()
    for step in range(100, 900, 100):
        job.write(step, workers=["worker_0"])
    trial = open_trial(job)
    assert [trial.steps() for _ in range(3)] == [[100, 200, 300, 400]] * 3


# --- waiting ---------------------------------------------------------------------------------------------------------


def test_wait_when_the_steps_come_then_returns_and_leaves_the_trial_as_it_was(job, open_trial, clock):
    """Waiting looks for steps even on a trial that is held still, and does not change whether it is."""
    trial = open_trial(job)
    clock.at(7, lambda: job.write(35, mode_step=30, workers=["worker_1"]))
    with no_refresh(trial):
        trial.wait_for_steps([10, 30], mode=modes.TRAIN)
        assert not trial.dynamic_refresh
    assert clock.now == 7
    assert trial.dynamic_refresh


@pytest.mark.parametrize(
    ("steps", "mode", "error"),
    [
        ([5], modes.GLOBAL, StepUnavailable(5, modes.GLOBAL, (0, 10))),
        ([30, 5], modes.TRAIN, StepUnavailable(5, modes.TRAIN, (0, 10))),
        ([36], modes.GLOBAL, NoMoreData(36, modes.GLOBAL, 35)),
        ([0, 31], modes.TRAIN, NoMoreData(31, modes.TRAIN, 30)),
        ([0], modes.PREDICT, NoMoreData(0, modes.PREDICT, None)),
    ],
)
def test_wait_when_a_step_never_comes_then_says_why(job, open_trial, clock, steps, mode, error):
    """The end of the job ends the wait."""
    trial = open_trial(job)
    clock.at(3, job.end)
    with pytest.raises(type(error)) as caught:
        trial.wait_for_steps(steps, mode)
    assert caught.value.args == error.args
    assert clock.now <= 3


def test_tensor_when_its_name_is_misspelt_then_the_nearest_is_named(job, open_trial):
    """Who mistypes a name learns the one that was meant."""
    with pytest.raises(TensorUnavailable, match=r"'Loss' was not saved in this trial; did you mean 'loss'\?"):
        open_trial(job).tensor("Loss")


def test_wait_when_the_time_is_over_then_says_so(job, open_trial, clock):
    """A job that died without marking its end is not waited for longer than asked."""
    with pytest.raises(StepNotYetAvailable, match="step 99 "):
        open_trial(job).wait_for_steps([0, 99], timeout_seconds=5)
    assert clock.now == 5


def test_wait_when_the_step_lies_outside_of_the_range_then_refused(job, open_trial):
    """A step that the trial does not look at is not waited for."""
    with pytest.raises(StepUnavailable):
        open_trial(job, range_steps=(0, 20)).wait_for_steps([25])


def test_end_when_seen_then_everything_written_before_it_is_known(job, open_trial):
    """The marker is looked for before the steps, so none written before it is missed."""
    trial = open_trial(job)
    assert not trial.loaded_all_steps
    job.write(40, mode_step=40, workers=["worker_0"]).end()
    assert trial.steps() == [0, 10, 15, 25, 35, 40]
    assert trial.loaded_all_steps
    assert trial.last_complete_step == 40


def test_end_when_seen_then_collections_written_anew_are_read(job, open_trial):
    """Tensors that a job came to know late are members at its end; what a user added stays."""
    trial = open_trial(job)
    trial.collection("weights").include("bias$")
    job.collections[0]["tensor_names"] = ["accuracy"]
    job.collections.append(Collection("late").to_json_dict())
    job.write_collections().end()
    trial.maybe_refresh()
    assert trial.collection("losses").tensor_names == {"accuracy"}
    assert "late" in trial.collections()
    assert trial.collection("weights").include_regex == ["weight$", "bias$"]


def test_refresh_when_switched_off_then_only_on_demand(job, open_trial):
    """Inside no_refresh a trial answers from what it knows, unless told to look."""
    trial = open_trial(job)
    with no_refresh(trial):
        job.write(50, {"new": 1})
        assert trial.steps() == [0, 10, 15, 25]
        assert not trial.has_tensor("new")
        assert trial.has_passed_step(50) is StepState.NOT_YET_AVAILABLE
        assert trial.mode(50) is None
        trial.refresh_tensor("new")
        assert trial.steps()[-1] == 50
    assert trial.tensor("new").steps() == [50]


def test_queries_when_something_is_unknown_then_look_for_it(job, open_trial):
    """What is asked for is looked for once before it is called unknown."""
    trial = open_trial(job)
    job.write(50, {"new": 1}, mode=ModeKeys.PREDICT, mode_step=3)
    assert trial.mode(50) is modes.PREDICT
    job.write(60, {"newer": 1}, mode=ModeKeys.PREDICT, mode_step=4)
    assert trial.global_step(modes.PREDICT, 4) == 60
    job.write(70, {"newest": 1})
    assert trial.has_tensor("newest")


# --- tensors and collections -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["fc.weight", "loss", "val_loss"]),
        ({"mode": modes.TRAIN}, ["fc.weight", "loss"]),
        ({"mode": modes.PREDICT}, []),
        ({"step": 15}, ["val_loss"]),
        ({"step": 14}, []),
        ({"step": 20, "mode": modes.TRAIN}, ["loss"]),
        ({"step": 99, "mode": modes.TRAIN}, []),
        ({"regex": "loss$"}, ["loss", "val_loss"]),
        ({"regex": ["^l", "weight"], "mode": modes.TRAIN}, ["fc.weight", "loss"]),
        ({"regex": "no such"}, []),
        ({"collection": "weights"}, ["fc.weight"]),
        ({"collection": Collection("mine", ["val"], ["fc.weight"])}, ["fc.weight", "val_loss"]),
        ({"collection": "losses", "step": 0}, ["loss"]),
        ({"collection": "no such"}, []),
    ],
)
def test_names_when_asked_for_then_sorted_and_filtered(job, open_trial, query, names):
    """Every filter takes away names; none of them makes an error of finding nothing."""
    trial = open_trial(job)
    assert trial.tensor_names(**query) == names
    assert trial.tensor_names(True, **query) == names
    assert sorted(trial.collections()) == ["losses", "weights"]


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ({"regex": "a", "collection": "losses"}, SMDebugValueError, "exclude each other"),
        ({"regex": "("}, SMDebugValueError, "regex must hold regular expressions"),
        ({"regex": 5}, SMDebugTypeError, "regex must be a pattern"),
        ({"collection": 5}, SMDebugTypeError, "collection must be a Collection"),
        ({"mode": "TRAIN"}, SMDebugTypeError, "mode must be one of"),
        ({"mode": "train"}, SMDebugTypeError, r"got 'train'\); did you mean modes\.TRAIN\?"),
        ({"mode": "train", "step": 0}, SMDebugTypeError, r"did you mean modes\.TRAIN\?"),
    ],
)
def test_names_when_the_question_is_wrong_then_says_how(job, open_trial, query, error, message):
    """A mistake is named with the value given."""
    with pytest.raises(error, match=message):
        open_trial(job).tensor_names(**query)


@pytest.mark.parametrize(
    "ask",
    [
        lambda trial: trial.steps("eval"),
        lambda trial: trial.tensor("loss").steps("eval"),
        lambda trial: trial.tensor("loss").value(0, "eval"),
    ],
    ids=["steps of the trial", "steps of a tensor", "a value"],
)
def test_steps_when_the_mode_is_a_text_then_names_the_mode_that_was_meant(job, open_trial, ask):
    """A text for a mode is refused, and the error has the mode of that name."""
    with pytest.raises(SMDebugTypeError, match=r"did you mean modes\.EVAL\?"):
        ask(open_trial(job))


def test_names_when_none_match_then_a_warning_is_logged(job, open_trial, caplog):
    """An empty answer to a pattern, or a collection, is often a mistake, so it leaves a trace."""
    trial = open_trial(job)
    trial.tensor_names(regex="lossy")
    trial.tensor_names(collection=Collection("mine", include_regex=["nothing"]))
    trial.tensor_names(regex="lossy", step=0)
    assert caplog.messages == [
        "no tensor of trial 'trial' matches 'lossy'",
        "no tensor of trial 'trial' is in collection 'mine'",
    ]


def test_names_when_the_collection_is_misspelt_then_the_warning_names_the_nearest(job, open_trial, caplog):
    """An unknown collection is empty, and a mistake more often than not."""
    assert open_trial(job).tensor_names(collection="wieghts") == []
    message = "trial 'trial' has no collection 'wieghts', only losses, weights; did you mean 'weights'?"
    assert message in caplog.messages


def test_tensor_when_unknown_then_named(job, open_trial):
    """A tensor that was never saved is an error; a known one is the same object each time."""
    trial = open_trial(job)
    with pytest.raises(TensorUnavailable, match="'los'"):
        trial.tensor("los")
    assert trial.tensor("loss") is trial.tensor("loss")
    assert repr(trial.tensor("loss")) == "Tensor('loss', trial='trial')"


def test_inputs_labels_predictions_when_asked_for_then_in_the_order_of_their_numbers(new_job, open_trial):
    """They are found by mode step and ordered by the number they end in."""
    job = new_job(collections=[("inputs", "^x_")]).write_collections()
    names = ["x_10", "x_9", "labels", "predictions_1", "predictions_0", "other"]
    job.write(7, {name: [n] for n, name in enumerate(names)}, mode_step=3)
    trial = open_trial(job)
    for step, mode in ((3, modes.TRAIN), (7, modes.GLOBAL)):
        assert trial.inputs(step, mode) == [1, 0]
        assert trial.labels(step, mode) == [2]
        assert trial.predictions(step, mode) == [4, 3]


# --- the object itself -----------------------------------------------------------------------------------------------


def test_trials_when_at_the_same_place_then_equal(job, new_job, open_trial):
    """Trials compare by path, whatever their names, and to nothing else."""
    assert open_trial(job) == Trial("another name", job.backend)
    assert open_trial(job) == open_trial(job)
    assert hash(open_trial(job)) == hash(open_trial(job))
    assert open_trial(job) != open_trial(new_job().write_collections())
    assert open_trial(job) != "trial"


def test_repr_when_printed_then_tells_the_story(job, open_trial):
    """The text says where the trial is, how far it got, and what it holds; making it looks for nothing."""
    trial = open_trial(job)
    job.end()
    expected = f"""<Trial 'trial' at {job.backend.url}
  job: running, or ended without a mark
  steps: 5 (0 to 35), 4 of them complete
    TRAIN: 4 (0 to 30)
    EVAL: 1 (0)
  workers: 2 of 2 (worker_0, worker_1)
  tensors: 3
  collections: losses, weights>"""
    assert repr(trial) == expected
    job.backend.write("index/000000000/000000000001_worker_0.json", (b"",))
    trial.steps()
    assert "job: ended" in repr(trial)
    assert repr(trial).endswith("problems: 1, see problems()>")


def test_repr_when_there_are_no_steps_then_says_none(new_job, open_trial):
    """An empty trial has a story too."""
    assert re.search(r"steps: none\n.*tensors: 0", repr(open_trial(new_job().write_collections())), re.DOTALL)


def test_attributes_when_read_then_are_what_scripts_expect(job, open_trial):
    """Scripts find the attributes they know."""
    trial = open_trial(job, range_steps=(0, 100), cache=True)
    assert (trial.name, trial.num_workers, trial.worker_set) == ("trial", 2, {"worker_0", "worker_1"})
    assert (trial.range_steps, trial.cache, trial.path) == ((0, 100), True, job.backend.url)
    assert trial.collection_manager.get_num_workers() == 2
    assert trial.logger.name.startswith("sagemaker_debug_ext")
    assert open_trial(job, index_mode=False).last_index_token is None


def test_errors_of_a_trial_when_pickled_then_stay_what_they_are(job, open_trial):
    """Rules may run in other processes, so errors travel."""
    with pytest.raises(NoMoreData) as caught:
        open_trial(job.end()).wait_for_steps([99])
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_trial_when_given_another_back_end_then_reads_it():
    """A trial needs nothing but a back end."""
    with pytest.raises(TrialNotFoundError):
        Trial("trial", MemoryBackend(), wait_seconds=0)


def test_values_when_read_then_cannot_be_changed(job, open_trial):
    """Values are shared, so they are read-only."""
    value = open_trial(job).tensor("fc.weight").value(0)
    with pytest.raises(ValueError, match="read-only"):
        value[0] = 5
    assert np.array_equal(value, [1.0, 2.0])


def test_program_when_hook_learns_of_the_loss_later_then_is_read_again(job):
    """A hook writes the record before the first step, and anew when the loss is called; then it stays as it is."""
    layers = (LayerRecord(name="fc", type="Linear", activation="linear"),)
    at_first = ProgramRecord(framework="PyTorch", losses=(LossRecord(name="loss", type="MSELoss"),))
    later = ProgramRecord(framework="PyTorch", losses=(LossRecord(name="loss", type="MSELoss", tail=layers),))
    last = ProgramRecord(framework="PyTorch")
    trial = Trial("running", backend=job.backend)
    found = []
    for number, record in enumerate((at_first, later, last)):
        job.backend.write(program_key("worker_0"), (record.to_json().encode(),))
        job.write(40 + number, {"loss": 0.5}, mode_step=40 + number)
        trial.steps()
        found.append(trial.program)
    assert found == [at_first, later, later]
