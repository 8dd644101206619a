"""Classes that public tests and examples use beside the hooks, on both libraries."""

import json
import warnings

import numpy as np
import pytest

from sagemaker_debug_ext.errors import TensorUnavailableForStep


@pytest.fixture(autouse=True)
def quiet_original(library):
    """The original's use of NumPy is deprecated."""
    with warnings.catch_warnings():
        if library.name == "smdebug":
            warnings.simplefilter("ignore")
        yield


def write_step(library, folder, step, worker="worker_0", names=("foo_0",), **kwargs):
    """Write one worker's part of a step by hand."""
    with library.module("core.writer").FileWriter(trial_dir=str(folder), step=step, worker=worker) as writer:
        for name in names:
            writer.write_tensor(tdata=np.full((2, 3), step, "f4"), tname=name, **kwargs)


def write_collections(library, folder, num_workers=1):
    """Write the collections file of every worker."""
    for number in range(num_workers):
        manager = library.module("core.collection_manager").CollectionManager()
        manager.set_num_workers(num_workers)
        manager.add("default")
        manager.get("default").tensor_names = ["foo_0"]
        manager.export(str(folder), f"worker_{number}_collections.json")


def open_trial(library, folder):
    return library.module("trials").create_trial(str(folder))


def test_writer_when_mode_is_none_then_the_step_has_no_mode(library, tmp_path):
    """Helpers of public tests pass None for what they were not given."""
    write_collections(library, tmp_path)
    write_step(library, tmp_path, 3, mode=None, mode_step=None)
    trial = open_trial(library, tmp_path)
    assert trial.mode_modestep(3) == (library.module("core.modes").ModeKeys.GLOBAL, 3)
    np.testing.assert_array_equal(trial.tensor("foo_0").value(3), np.full((2, 3), 3))


def test_writer_when_given_the_originals_arguments_then_accepts_them(library, tmp_path):
    """They decide how often the original writes; the file is the same."""
    writer = library.module("core.writer").FileWriter(
        str(tmp_path), "worker_0", 7, "events", max_queue=5, flush_secs=1, verbose=True, write_checksum=False
    )
    writer.write_tensor(np.arange(3.0), "x")
    writer.close()
    [file] = (tmp_path / "events").rglob("*.tfevents")
    with library.module("core.reader").FileReader(str(file), wtype="tfevent") as reader:
        [(name, step, value, _, mode_step)] = reader.read_tensors(check="minimal")
    assert (name, int(step), int(mode_step)) == ("x", 7, 7)
    np.testing.assert_array_equal(value, [0, 1, 2])


def test_refresh_when_switched_then_gives_back_the_trials(library, tmp_path):
    """`with no_refresh([trial]) as [trial]` is how public tests write it."""
    utils = library.module("analysis.utils")
    write_collections(library, tmp_path)
    write_step(library, tmp_path, 0)
    trial = open_trial(library, tmp_path)
    with utils.no_refresh([trial]) as [same]:
        assert same is trial
        write_step(library, tmp_path, 1)
        assert same.steps() == [0]
    with utils.refresh(trial) as same:
        assert same is trial
        assert same.steps() == [0, 1]


def test_collection_when_made_on_a_trial_then_is_kept_and_looked_up(library, tmp_path):
    """Notebooks group tensors after training."""
    write_collections(library, tmp_path)
    write_step(library, tmp_path, 0, names=("dense_weight", "dense_bias"))
    trial = open_trial(library, tmp_path)
    trial.collection("mine").include("weight$")
    assert trial.tensor_names(collection="mine") == ["dense_weight"]
    assert "mine" in trial.collections()
    trial.collection("mine").add_tensor_name("dense_bias")
    assert trial.tensor_names(collection=trial.collection("mine")) == ["dense_bias", "dense_weight"]


def test_collection_manager_when_written_and_read_then_is_equal(library, tmp_path):
    """Two managers are equal if their collections are."""
    module = library.module("core.collection_manager")
    manager = module.CollectionManager()
    manager.add("default")
    manager.get("default").include("loss")
    manager.add(library.module("core.collection").Collection("trial1"))
    manager.create_collection("default")
    assert manager.get("default").include_regex == ["loss"]
    manager.export(str(tmp_path), "worker_0_collections.json")
    [file] = tmp_path.rglob("*_collections.json")
    loaded = module.CollectionManager.load(str(file))
    assert loaded == manager
    loaded.get("default").include("accuracy")
    assert loaded != manager


@pytest.mark.parametrize("is_ended", [False, True])
@pytest.mark.parametrize(
    ("parts", "token_step"),
    [
        ({0: "ab", 1: "ab", 2: "ab"}, 2),
        ({0: "ab", 1: "ab", 2: "a"}, 1),
        ({0: "ab", 1: "a", 2: "ab"}, 2),
        ({0: "ab", 2: "a", 3: "a"}, 0),
    ],
)
def test_progress_of_a_trial_when_workers_are_late_then_is_that_of_the_original(
    library, tmp_path, parts, token_step, is_ended
):
    """The token names the last step of all workers; at the end of the job the last saved step is complete."""
    write_collections(library, tmp_path, num_workers=2)
    for step, workers in parts.items():
        for worker in workers:
            write_step(library, tmp_path, step, f"worker_{'ab'.index(worker)}")
    if is_ended:
        (tmp_path / "training_job_end.ts").touch()
    trial = open_trial(library, tmp_path)
    assert trial.steps(show_incomplete_steps=True) == sorted(parts)
    assert trial.loaded_all_steps is is_ended
    assert trial.last_index_token == f"{tmp_path}/index/000000000/{token_step:012}_worker_1.json"
    assert trial.last_complete_step == (max(parts) if is_ended else token_step)
    assert set(trial._global_to_mode) == set(parts)


def test_progress_of_a_trial_when_its_folder_is_relative_then_the_token_is_too(library, tmp_path, monkeypatch):
    """Scripts join it with the folder that they gave; white space around the folder is dropped."""
    write_collections(library, tmp_path / "run")
    write_step(library, tmp_path / "run", 70)
    monkeypatch.chdir(tmp_path)
    assert open_trial(library, "  run ").last_index_token == "run/index/000000000/000000000070_worker_0.json"


def replace_event_file(folder, name):
    """Change the name of the event file in the only index file."""
    [index] = (folder / "index").rglob("*.json")
    content = json.loads(index.read_text())
    content["meta"]["event_file_name"] = name
    index.write_text(json.dumps(content))


def test_index_file_when_its_event_file_is_elsewhere_then_the_value_is_read_from_there(library, tmp_path):
    """The index decides where a value lies."""
    write_collections(library, tmp_path)
    write_step(library, tmp_path, 0)
    [file] = (tmp_path / "events").rglob("*.tfevents")
    (tmp_path / "moved").mkdir()
    file.rename(tmp_path / "moved" / file.name)
    replace_event_file(tmp_path, f"moved/{file.name}")
    trial = open_trial(library, tmp_path)
    np.testing.assert_array_equal(trial.tensor("foo_0").value(0), np.zeros((2, 3)))


def test_index_file_when_its_event_file_has_no_name_then_names_and_steps_are_known(library, tmp_path):
    """Only the value is missing; the original ends in an error of its own on reading it."""
    write_collections(library, tmp_path)
    write_step(library, tmp_path, 0)
    replace_event_file(tmp_path, "")
    (tmp_path / "training_job_end.ts").touch()
    trial = open_trial(library, tmp_path)
    assert (trial.tensor_names(), trial.steps()) == (["foo_0"], [0])
    if library.name != "smdebug":
        with pytest.raises(TensorUnavailableForStep):
            trial.tensor("foo_0").value(0)


def test_index_file_when_its_event_file_lies_outside_then_it_is_not_read(tmp_path, library):
    """A trial from a foreign place must not read files of this machine; the original does."""
    if library.name == "smdebug":
        pytest.skip("the original reads any file")
    write_collections(library, tmp_path)
    write_step(library, tmp_path, 0)
    replace_event_file(tmp_path, "../../etc/passwd")
    (tmp_path / "training_job_end.ts").touch()
    trial = open_trial(library, tmp_path)
    assert trial.tensor_names() == []
    assert len(trial.problems()) == 1


def test_file_when_removed_twice_then_is_gone(library, tmp_path):
    """Tests of scripts clean up after each test, whether or not the script has written the file."""
    path = tmp_path / "folder/file.json"
    utils = library.module("core.utils")
    utils.ensure_dir(str(path))
    path.write_text("{}")
    for _ in range(2):
        utils.remove_file_if_exists(str(path))
        assert path.parent.is_dir()
        assert not path.exists()
