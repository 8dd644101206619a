"""What analysis scripts ask of trials while they grow and after they have ended, on both libraries.

The cases are those that the original tests of itself; the trials are written by hand with its own `FileWriter`.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # the original's use of NumPy is deprecated

WORKERS = {letter: f"worker_{number}" for number, letter in enumerate("abc")}


@pytest.fixture(autouse=True)
def no_delay(monkeypatch):
    """The original waits a second at the end of a job."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")


def write_step(library, folder, step, worker="worker_0", num_tensors=10, prefix="foo", value=None, **mode):
    """Write one worker's part of a step."""
    if value is None:
        value = np.full((3, 3, 3), step, "f4")
    with library.module("core.writer").FileWriter(trial_dir=str(folder), step=step, worker=worker) as writer:
        for number in range(num_tensors):
            writer.write_tensor(tdata=value, tname=f"{prefix}_{number}", **mode)


def write_collections(library, folder, num_workers=1, **names):
    """Write the collections file of every worker."""
    for number in range(num_workers):
        manager = library.module("core.collection_manager").CollectionManager()
        manager.set_num_workers(num_workers)
        for name, tensor_names in {"default": [], **names}.items():
            manager.add(name)
            manager.get(name).tensor_names = tensor_names
        manager.export(str(folder), f"worker_{number}_collections.json")


def write_trial(library, folder, steps, **kwargs):
    """Write a trial of one worker."""
    write_collections(library, folder)
    for step in steps:
        write_step(library, folder, step, **kwargs)
    return folder


def open_trial(library, folder, **kwargs):
    return library.module("trials").create_trial(str(folder), **kwargs)


COMPLETE = dict.fromkeys(range(7), "abc")
LATE = {**dict.fromkeys(range(3), "abc"), **dict.fromkeys(range(3, 7), "ac")}
GAP = {0: "abc", 1: "abc", 2: "abc", 4: "ac", 5: "ac"}


@pytest.mark.parametrize(
    ("parts", "is_ended", "complete", "states"),
    [
        (dict.fromkeys(range(7), "a"), True, [0, 1, 2, 3, 4, 5, 6], {3: "AVAILABLE", 8: "UNAVAILABLE"}),
        (dict.fromkeys(range(7), "a"), False, [0, 1, 2, 3, 4, 5, 6], {3: "AVAILABLE", 8: "NOT_YET_AVAILABLE"}),
        (dict.fromkeys((0, 1, 2, 3, 5, 6), "a"), True, [0, 1, 2, 3, 5, 6], {4: "UNAVAILABLE", 8: "UNAVAILABLE"}),
        (
            dict.fromkeys((0, 1, 2, 3, 5, 6), "a"),
            False,
            [0, 1, 2, 3, 5, 6],
            {4: "UNAVAILABLE", 8: "NOT_YET_AVAILABLE"},
        ),
        (COMPLETE, True, [0, 1, 2, 3, 4, 5, 6], {4: "AVAILABLE", 8: "UNAVAILABLE"}),
        (COMPLETE, False, [0, 1, 2, 3, 4, 5, 6], {4: "AVAILABLE", 8: "NOT_YET_AVAILABLE"}),
        (LATE, True, [0, 1, 2, 3, 4, 5, 6], {3: "AVAILABLE", 6: "AVAILABLE", 8: "UNAVAILABLE"}),
        (LATE, False, [0, 1, 2], {2: "AVAILABLE", 4: "NOT_YET_AVAILABLE", 6: "NOT_YET_AVAILABLE"}),
        ({**LATE, 6: "abc"}, True, [0, 1, 2, 3, 4, 5, 6], {4: "AVAILABLE", 8: "UNAVAILABLE"}),
        ({**LATE, 6: "abc"}, False, [0, 1, 2, 3, 4, 5, 6], {4: "AVAILABLE", 8: "NOT_YET_AVAILABLE"}),
        ({**GAP, 6: "abc"}, False, [0, 1, 2, 4, 5, 6], {3: "UNAVAILABLE", 5: "AVAILABLE"}),
        ({**GAP, 6: "ac"}, False, [0, 1, 2], {3: "NOT_YET_AVAILABLE", 4: "NOT_YET_AVAILABLE", 6: "NOT_YET_AVAILABLE"}),
        ({**GAP, 6: "ac"}, True, [0, 1, 2, 4, 5, 6], {3: "UNAVAILABLE", 4: "AVAILABLE", 8: "UNAVAILABLE"}),
    ],
)
def test_steps_when_workers_are_late_or_skip_some_then_those_of_the_original(
    library, tmp_path, parts, is_ended, complete, states
):
    """Incomplete steps count once a later step is complete or the job has ended."""
    num_workers = len({worker for workers in parts.values() for worker in workers})
    write_collections(library, tmp_path, num_workers)
    for step, workers in parts.items():
        for worker in workers:
            write_step(library, tmp_path, step, WORKERS[worker], num_tensors=1)
    if is_ended:
        (tmp_path / "training_job_end.ts").touch()
    trial = open_trial(library, tmp_path)
    states_of = library.module("core.tensor").StepState
    assert len(trial.workers()) == num_workers
    assert trial.loaded_all_steps is is_ended
    assert trial.steps(show_incomplete_steps=True) == sorted(parts)
    assert trial.steps() == complete
    assert trial.last_complete_step == complete[-1]
    assert {step: trial.has_passed_step(step) for step in states} == {
        step: getattr(states_of, name) for step, name in states.items()
    }


def test_incomplete_steps_when_there_are_too_many_then_each_look_takes_some_as_complete(library, tmp_path, monkeypatch):
    """A worker that died must not hold up analysis for ever."""
    monkeypatch.setenv("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", "10")
    write_collections(library, tmp_path, num_workers=3)
    for step in range(20):
        write_step(library, tmp_path, step, num_tensors=1)
    trial = open_trial(library, tmp_path)
    assert trial.last_complete_step == 4
    assert trial.last_index_token.endswith("/000000000004_worker_2.json")
    assert len(trial.workers()) == 3
    assert trial.last_complete_step == 9
    assert trial.last_index_token.endswith("/000000000009_worker_2.json")
    assert trial.steps(show_incomplete_steps=True) == list(range(20))
    for _ in range(3):
        trial.tensor_names()
        assert trial.last_complete_step == 9


def test_tensors_when_each_has_its_own_steps_then_incomplete_ones_are_shown_on_request(library, tmp_path):
    """Losses end early, gradients begin late, and one worker misses four steps."""
    write_collections(library, tmp_path, num_workers=2)
    for step in range(10):
        for worker in ("worker_0", "worker_1"):
            if worker == "worker_1" and step in (3, 4, 8, 9):
                continue
            with library.module("core.writer").FileWriter(trial_dir=str(tmp_path), step=step, worker=worker) as writer:
                for name, is_saved in {"loss": step < 5, "gradient": step >= 5, "weight": True}.items():
                    if is_saved:
                        writer.write_tensor(tdata=np.ones(2), tname=name)
    trial = open_trial(library, tmp_path)
    assert trial.steps(show_incomplete_steps=True) == list(range(10))
    assert trial.steps() == list(range(8))
    assert trial.last_complete_step == 7
    shown = {name: trial.tensor(name).steps(show_incomplete_steps=True) for name in trial.tensor_names()}
    assert shown == {"loss": [0, 1, 2, 3, 4], "gradient": [5, 6, 7, 8, 9], "weight": list(range(10))}
    complete = {name: trial.tensor(name).steps() for name in trial.tensor_names()}
    assert complete == {"loss": [0, 1, 2, 3, 4], "gradient": [5, 6, 7], "weight": list(range(8))}


@pytest.mark.parametrize(("num_files", "is_ended"), [(20, True), (20, False), (15, True)])
def test_trial_when_opened_then_every_worker_of_it_is_known(library, tmp_path, num_files, is_ended):
    """The number of workers stands in each collections file; the original opens no ended job that misses some."""
    write_collections(library, tmp_path, num_workers=20)
    for number in range(num_files, 20):
        [file] = tmp_path.rglob(f"worker_{number}_collections.json")
        file.unlink()
    for number in range(20):
        write_step(library, tmp_path, 0, f"worker_{number}", num_tensors=1)
    if is_ended:
        (tmp_path / "training_job_end.ts").touch()
    if num_files < 20 and library.name == "smdebug":
        with pytest.raises(library.module("exceptions").MissingCollectionFiles):
            open_trial(library, tmp_path)
    else:
        assert len(open_trial(library, tmp_path).workers()) == num_files


def test_local_trial_when_opened_by_name_and_folder_then_reads_every_value(library, tmp_path):
    """`LocalTrial(name=, dirname=)` is what the original's own tests call."""
    write_trial(library, tmp_path, range(20))
    trial = library.module("trials").LocalTrial(name="anything", dirname=str(tmp_path))
    assert len(trial.tensor_names()) == 10
    for name in trial.tensor_names():
        assert trial.tensor(name).steps() == list(range(20))
        assert all(trial.tensor(name).value(step)[0, 0, 0] == step for step in range(20))


def test_range_of_steps_when_given_then_holds_for_steps_written_later(library, tmp_path):
    """The end of the range is exclusive."""
    write_trial(library, tmp_path, range(8))
    trial = open_trial(library, tmp_path, range_steps=(0, 5))
    assert len(trial.steps()) == 5
    for step in range(8, 16):
        write_step(library, tmp_path, step)
    assert len(trial.steps()) == 5


def test_trial_when_it_grows_then_new_steps_and_tensors_are_seen(library, tmp_path):
    """Every question looks again."""
    write_trial(library, tmp_path, range(8))
    trial = open_trial(library, tmp_path)
    assert "foo_11" not in trial.tensor_names()
    assert len(trial.tensor("foo_1").steps()) == 8
    for step in range(8, 16):
        write_step(library, tmp_path, step)
    assert len(trial.tensor("foo_1").steps()) == len(trial.steps()) == 16
    write_step(library, tmp_path, 17)
    assert len(trial.steps()) == 17
    write_step(library, tmp_path, 18, num_tensors=13)
    assert trial.tensor("foo_11") is not None


def test_trial_when_it_must_not_look_again_then_stays_as_it_was(library, tmp_path):
    """A list or one trial is given, with or without a name for it."""
    no_refresh = library.module("analysis.utils").no_refresh
    write_trial(library, tmp_path, range(8))
    trial = open_trial(library, tmp_path)
    assert len(trial.steps()) == 8
    for step in range(8, 16):
        write_step(library, tmp_path, step)
    with no_refresh([trial]) as [same]:
        assert len(same.tensor("foo_1").steps()) == len(same.steps()) == 8
    for given in ([trial], trial):
        with no_refresh(given):
            assert len(trial.tensor("foo_1").steps()) == len(trial.steps()) == 8


def test_values_when_they_cannot_be_read_then_the_error_says_which_kind(library, tmp_path):
    """A tensor that is not there, a step that was skipped, and a step still to come are three errors."""
    errors = library.module("exceptions")
    write_trial(library, tmp_path, range(1, 8, 2))
    trial = open_trial(library, tmp_path)
    assert len(trial.steps()) == 4
    with pytest.raises(errors.TensorUnavailable):
        trial.tensor("bar")
    assert trial.tensor("foo_1").value(7) is not None
    with pytest.raises(errors.StepUnavailable):
        trial.tensor("foo_1").value(6)
    for step in range(9, 16, 2):
        write_step(library, tmp_path, step)
    assert trial.tensor("foo_1").value(9) is not None
    with pytest.raises(errors.StepUnavailable):
        trial.tensor("foo_1").value(8)
    with pytest.raises(errors.StepNotYetAvailable):
        trial.tensor("foo_1").value(24)


@pytest.mark.parametrize("is_ended", [True, False])
@pytest.mark.parametrize("step", [9, 27])
def test_value_when_its_event_file_is_missing_then_it_is_unavailable(library, tmp_path, monkeypatch, step, is_ended):
    """The index promises the value; the file was lost on its way."""
    monkeypatch.setenv("SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT", "5")
    write_trial(library, tmp_path, range(0, 28, 9), num_tensors=1)
    [file] = (tmp_path / "events").rglob(f"{step:012}_*.tfevents")
    file.unlink()
    if is_ended:
        (tmp_path / "training_job_end.ts").touch()
    trial = open_trial(library, tmp_path)
    assert trial.tensor("foo_0").value(0) is not None
    with pytest.raises(library.module("exceptions").TensorUnavailableForStep):
        trial.tensor("foo_0").value(step)


def test_modes_when_steps_alternate_then_each_mode_counts_its_own(library, tmp_path):
    """Global steps, steps of modes, and whether each has passed, while the trial grows."""
    modes = library.module("core.modes").ModeKeys
    states = library.module("core.tensor").StepState
    write_collections(library, tmp_path)
    trial = open_trial(library, tmp_path)
    for step in range(10):
        mode = modes.EVAL if step % 2 else modes.TRAIN
        write_step(library, tmp_path, step, num_tensors=1, mode=mode, mode_step=step // 2)
        assert trial.has_passed_step(step // 2, mode=mode) == states.AVAILABLE
        if mode == modes.TRAIN:
            assert trial.has_passed_step(step // 2, mode=modes.EVAL) == states.NOT_YET_AVAILABLE
        assert trial.has_passed_step(step) == states.AVAILABLE
        assert trial.has_passed_step(step + 1) == states.NOT_YET_AVAILABLE
        assert trial.has_passed_step(step + 1, mode=modes.TRAIN) == states.NOT_YET_AVAILABLE
    assert len(trial.modes()) == 2
    for mode, first in ((modes.TRAIN, 0), (modes.EVAL, 1)):
        assert trial.steps(mode=mode) == trial.tensor("foo_0").steps(mode=mode) == list(range(5))
        assert [trial.global_step(mode, step) for step in range(5)] == list(range(first, 10, 2))
        assert all(trial.mode(step) == mode for step in range(first, 10, 2))
        assert [trial.tensor("foo_0").value(step, mode=mode)[0, 0, 0] for step in range(5)] == list(range(first, 10, 2))
    assert [trial.mode_step(step) for step in range(10)] == [step // 2 for step in range(10)]
    assert len(trial.tensor("foo_0").steps()) == len(trial.steps()) == 10


def test_names_when_asked_by_step_and_mode_then_only_those_saved_there(library, tmp_path):
    """One tensor is saved in training, another in evaluation."""
    modes = library.module("core.modes").ModeKeys
    write_collections(library, tmp_path)
    trial = open_trial(library, tmp_path)
    for step in range(10):
        mode, prefix = (modes.EVAL, "b") if step % 2 else (modes.TRAIN, "a")
        write_step(library, tmp_path, step, num_tensors=1, prefix=prefix, mode=mode, mode_step=step // 2)
    assert trial.tensor_names() == ["a_0", "b_0"]
    assert trial.tensor_names(step=0) == trial.tensor_names(mode=modes.TRAIN) == ["a_0"]
    assert trial.tensor_names(step=1) == trial.tensor_names(mode=modes.EVAL) == ["b_0"]
    assert trial.tensor_names(step=0, mode=modes.EVAL) == ["b_0"]


def test_names_when_asked_by_collection_or_pattern_then_missing_ones_are_left_out(library, tmp_path):
    """A collection made on the trial holds a pattern and names, one of which was never saved."""
    write_collections(library, tmp_path)
    for step in range(4):
        write_step(library, tmp_path, step, prefix="foo" if step < 2 else "boo")
    trial = open_trial(library, tmp_path)
    trial.collection("test").include("foo")
    for name in ("boo_5", "boo_6", "boo_17"):
        trial.collection("test").add_tensor_name(name)
    assert len(trial.tensor_names()) == 20
    assert len(trial.tensor_names(regex="foo")) == 10
    assert len(trial.tensor_names(collection="test")) == 12
    assert len(trial.tensor_names(collection=trial.collection("test"))) == 12
    with pytest.raises(ValueError, match=r"collection|regex"):
        trial.tensor_names(collection=trial.collection("test"), regex="a")
