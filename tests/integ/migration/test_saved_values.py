"""Settings as values, and files written and read by hand, on both libraries."""

import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # the original's use of NumPy is deprecated


def test_collection_when_written_as_json_then_is_read_back(library):
    """With and without save settings and reductions; the names become a set."""
    module = library.module("core.collection")
    save_config = library.module("core.save_config")
    modes = library.module("core.modes").ModeKeys
    reductions = library.module("core.reduction_config").ReductionConfig()
    per_mode = save_config.SaveConfig(
        {
            modes.TRAIN: save_config.SaveConfigMode(save_interval=10),
            modes.EVAL: save_config.SaveConfigMode(start_step=1),
        }
    )
    for made in (
        module.Collection("trial"),
        module.Collection("default", include_regex=["conv2d"], tensor_names=["a", "b"], reduction_config=reductions),
        module.Collection("default", include_regex=["conv2d"], reduction_config=reductions, save_config=per_mode),
    ):
        read = module.Collection.from_json(made.to_json())
        assert read == made
        assert read.to_json_dict() == made.to_json_dict()
        assert isinstance(read.tensor_names, set)
        assert read.tensor_names == made.tensor_names


def test_manager_when_collections_are_added_by_name_or_value_then_all_are_there(library):
    """A pattern and a name are kept."""
    manager = library.module("core.collection_manager").CollectionManager()
    manager.create_collection("default")
    manager.get("default").include("loss")
    manager.get("default").add_tensor_name("assaas")
    manager.add(library.module("core.collection").Collection("trial1"))
    manager.add("trial2")
    manager.get("trial2").include("total_loss")
    assert len(manager.collections) == 3
    assert manager.get("default") == manager.collections["default"]
    assert "loss" in manager.get("default").include_regex
    assert manager.get("default").tensor_names == {"assaas"}
    assert "total_loss" in manager.collections["trial2"].include_regex


def test_manager_when_exported_then_lies_where_the_helper_says(library, tmp_path):
    """`get_path_to_collections` and the usual file name lead to it."""
    manager = library.module("core.collection_manager").CollectionManager()
    manager.add("default")
    name = library.module("core.config_constants").DEFAULT_COLLECTIONS_FILE_NAME
    manager.export(str(tmp_path), name)
    path = f"{library.module('core.utils').get_path_to_collections(str(tmp_path))}/{name}"
    assert type(manager).load(path) == manager
    assert json.loads(Path(path).read_text()) == manager.to_json_dict()
    assert manager.to_json_dict()["_meta"] == {"num_workers": 1}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"start_step": 100},
        {"save_interval": 11, "start_step": 10, "save_steps": [50]},
        {"save_interval": 5, "end_step": 20},
    ],
)
def test_save_config_when_written_as_json_then_is_read_back(library, settings):
    """The JSON of both is equal, too."""
    save_config = library.module("core.save_config").SaveConfig
    made = save_config(**settings)
    read = save_config.from_json(made.to_json())
    assert read == made
    assert json.loads(read.to_json()) == json.loads(made.to_json())
    assert [made.should_save_step(library.module("core.modes").ModeKeys.TRAIN, step) for step in range(60)] == [
        read.should_save_step(library.module("core.modes").ModeKeys.TRAIN, step) for step in range(60)
    ]


def test_save_config_when_made_from_that_of_a_mode_then_holds_for_all(library):
    """Scripts make one where the hook wants the other."""
    module = library.module("core.save_config")
    made = module.SaveConfig.from_save_config_mode(module.SaveConfigMode(save_interval=7))
    assert made == module.SaveConfig(save_interval=7)


@pytest.mark.parametrize(
    "settings", [{}, {"reductions": ["min"], "norms": ["l2"]}, {"save_shape": True, "save_raw_tensor": True}]
)
def test_reduction_config_when_written_as_json_then_is_read_back(library, settings):
    """The JSON of both is equal, too."""
    reduction_config = library.module("core.reduction_config").ReductionConfig
    made = reduction_config(**settings)
    assert reduction_config.from_json(made.to_json()) == made
    assert reduction_config.from_json(made.to_json()).to_json() == made.to_json()


@pytest.mark.parametrize("settings", [{"reductions": ["minimum"]}, {"norms": ["l3"]}, {"only_shape": True}])
def test_reduction_config_when_it_names_something_unknown_then_is_refused(library, settings):
    """Scripts catch ValueError or TypeError."""
    with pytest.raises((ValueError, TypeError)):
        library.module("core.reduction_config").ReductionConfig(**settings)


def test_file_when_written_by_hand_then_every_value_is_read_back(library, tmp_path):
    """Ten tensors of one step, by name of the file."""
    with library.module("core.writer").FileWriter(trial_dir=str(tmp_path), step=20, worker="algo-1") as writer:
        for number in range(10):
            writer.write_tensor(tdata=np.full((4, 4), number, "f4"), tname=f"foo_{number}")
        name = writer.name()
    read = list(library.module("core.reader").FileReader(fname=name).read_tensors())
    assert [item[0] for item in read] == [f"foo_{number}" for number in range(10)]
    for number, item in enumerate(read):
        np.testing.assert_array_equal(item[2], np.full((4, 4), number))


def test_file_when_it_holds_texts_then_they_are_read_back(library, tmp_path):
    """Texts come back as texts."""
    with library.module("core.writer").FileWriter(trial_dir=str(tmp_path), step=20, worker="algo-1") as writer:
        writer.write_tensor(tdata=np.array(["foo", "barz"]), tname="foo_string")
        name = writer.name()
    [read] = library.module("core.reader").FileReader(fname=name).read_tensors()
    assert [text.decode() if isinstance(text, bytes) else text for text in np.asarray(read[2]).tolist()] == [
        "foo",
        "barz",
    ]


def test_steps_when_written_with_modes_then_each_tensor_has_its_mode(library, tmp_path):
    """Mode and step of the mode are read with the value."""
    modes = library.module("core.modes").ModeKeys
    for step in range(10):
        with library.module("core.writer").FileWriter(trial_dir=str(tmp_path), worker="algo-1", step=step) as writer:
            mode = modes.EVAL if step % 2 else modes.TRAIN
            writer.write_tensor(tdata=np.eye(2, dtype="f4"), tname="arr", mode=mode, mode_step=step // 2)
    files = sorted(tmp_path.rglob("*.tfevents"))
    assert len(files) == 10
    for file in files:
        for _, step, _, mode, mode_step in library.module("core.reader").FileReader(fname=str(file)).read_tensors():
            assert mode == (modes.EVAL if step % 2 else modes.TRAIN)
            assert mode_step == step // 2


def test_index_when_followed_by_hand_then_each_entry_holds_its_tensor(library, tmp_path):
    """Start and length of an entry cut one readable record out of the event file."""
    values = [np.array([[1.0, 2.0], [3.0, 4.0]], "f4"), np.array([[1.0, 2.0, 4.0], [3.0, 4.0, 5.0]], "f4")]
    writer = library.module("core.writer").FileWriter(trial_dir=str(tmp_path), step=0, worker="worker_0", verbose=True)
    for number, value in enumerate(values):
        writer.write_tensor(tdata=value, tname=f"tensor{number}")
    writer.flush()
    writer.close()
    [index] = (tmp_path / "index").rglob("*.json")
    [events] = (tmp_path / "events").rglob("*.tfevents")
    entries = json.loads(index.read_text())["tensor_payload"]
    assert [entry["tensorname"] for entry in entries] == ["tensor0", "tensor1"]
    for entry, value in zip(entries, values, strict=True):
        piece = tmp_path / "piece"
        piece.write_bytes(events.read_bytes()[int(entry["start_idx"]) :][: int(entry["length"])])
        [read] = library.module("core.reader").FileReader(str(piece)).read_tensors()
        np.testing.assert_array_equal(read[2], value)


@pytest.mark.parametrize(
    ("file", "worker"),
    [
        ("/tmp/logs/index/000000001/000000001230_worker_2.json", "worker_2"),
        (
            "/tmp/logs/index/000000000499__job-worker_replica-0_task-1_device-GPU-6.json",
            "/job:worker/replica:0/task:1/device:GPU:6",
        ),
    ],
)
def test_worker_when_taken_from_the_name_of_an_index_file_then_is_found(library, file, worker):
    """Names of devices are written without slashes and colons."""
    assert library.module("core.utils").parse_worker_name_from_file(file) == worker


def test_worker_when_the_file_is_not_an_index_file_then_is_refused(library):
    """A temporary file is not read."""
    with pytest.raises(library.module("exceptions").IndexReaderException):
        library.module("core.utils").parse_worker_name_from_file(
            "/tmp/logs/index/000000001/000000001230_worker_2.json.tmp"
        )


def test_worker_when_taken_from_the_name_of_a_collections_file_then_is_found(library):
    """The worker stands before the last word of the name."""
    name = library.module("core.utils").get_worker_name_from_collection_file
    assert name("/tmp/collections/000000000/job-worker_1_collections.json") == "job-worker_1"
    assert (
        name("/tmp/collections/000000000/_job-worker_replica-0_task-1_device-GPU-0_collections.json")
        == "/job:worker/replica:0/task:1/device:GPU:0"
    )


@pytest.mark.parametrize("device", ["/device:GPU:0", "/replica:0/task:0/device:GPU:0"])
def test_device_when_written_into_a_name_then_is_read_back(library, device):
    """The two functions are inverses."""
    utils = library.module("core.utils")
    assert utils.deserialize_tf_device(utils.serialize_tf_device(device)) == device
