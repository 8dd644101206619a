"""The collections of a trial, and the manager that holds them."""

from __future__ import annotations

import json

import pytest

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.core.collection_manager import CollectionManager
from sagemaker_debug_ext.errors import DebugExtError, SMDebugValueError
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.store.writer import TrialWriter
from sagemaker_debug_ext.trials.collections import find_collections
from sagemaker_debug_ext.trials.problems import Problems

KEY = "collections/000000000/{}_collections.json"


def find(files):
    backend = MemoryBackend()
    for worker, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        backend.write(KEY.format(worker), (text.encode(),))
    problems = Problems("trial")
    return find_collections(backend, problems), problems.all()


def content(*collections, num_workers=1):
    return {"collections": {item["name"]: item for item in collections}, "_meta": {"num_workers": num_workers}}


def test_manager_when_exported_then_loads_again(tmp_path):
    """A collections file holds what the manager held."""
    manager = CollectionManager()
    manager.add(Collection("relu", ["relu_output"], ["a"], ReductionConfig(["mean"]), SaveConfig(save_interval=3)))
    manager.add("empty")
    manager.set_num_workers(3)
    manager.export(tmp_path, "worker_0_collections.json")
    path = tmp_path / KEY.format("worker_0")
    for loaded in (CollectionManager.load(path), CollectionManager.load_from_string(path.read_text())):
        assert loaded.get_collections() == manager.get_collections()
        assert loaded.get_num_workers() == 3


def test_manager_when_asked_for_an_unknown_collection_then_creates_or_refuses():
    """The caller says whether a missing collection is to be made."""
    manager = CollectionManager(create_default=True)
    assert manager.get_collections() == {}
    assert manager.get("a") is manager.get("a")
    assert manager.get("a").name == "a"
    assert list(manager.get_collections()) == ["a"]
    with pytest.raises(DebugExtError, match=r"no collection 'b' \(known: a\)"):
        manager.get("b", create=False)
    assert repr(manager) == "CollectionManager(a)"


def test_manager_when_nothing_is_known_of_workers_then_there_is_one():
    """The count of workers may be given with other facts."""
    manager = CollectionManager()
    assert manager.get_num_workers() == 1
    manager.update_meta({"num_workers": "2", "other": 1})
    assert manager.get_num_workers() == 2


def test_manager_when_given_something_else_then_refused():
    """Not every JSON text is a collections file."""
    with pytest.raises(SMDebugValueError, match="not a collections file"):
        CollectionManager.load_from_string("[]")


def test_collections_when_several_workers_wrote_then_names_are_united():
    """The first worker's settings hold; tensors that only another worker has are members all the same."""
    found, problems = find({
        "worker_1": content({"name": "a", "tensor_names": ["y"], "include_regex": ["q"]}, {"name": "b"}),
        "worker_0": content({"name": "a", "tensor_names": ["x"], "include_regex": ["p"]}, num_workers=2),
    })  # fmt: skip
    assert problems == ()
    assert found.workers == ("worker_0", "worker_1")
    assert (found.num_workers, found.is_complete) == (2, True)
    assert found.collections == (Collection("a", ["p"], ["x", "y"]), Collection("b"))


def test_collections_when_there_are_none_then_none():
    """A trial without collections files has not described itself yet."""
    assert find({}) == (None, ())


def test_collections_when_one_file_is_damaged_then_the_others_count():
    """A damaged file is described; its worker is still one of them."""
    found, (problem,) = find({"worker_0": '{"collections": {', "worker_1": content({"name": "a"}, num_workers=2)})
    assert found.workers == ("worker_0", "worker_1")
    assert found.num_workers == 2
    assert problem.path == "trial/" + KEY.format("worker_0")
    assert "not a collections file" in problem.reason


def test_collections_when_all_files_are_damaged_then_there_are_only_workers():
    """The rest of the trial stays usable."""
    found, problems = find({"worker_0": "", "worker_1": "7"})
    assert (found.collections, found.num_workers, found.is_complete) == ((), 2, True)
    assert len(problems) == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"include_regex": ["ok", "(", 3]},
        {"include_regex": 5},
        {"tensor_names": 5, "include_regex": ["ok"]},
        {"tensor_names": [5, "x"], "reduction_config": {"reductions": "median"}, "include_regex": ["ok"]},
        {"save_config": {"NO_MODE": None}, "include_regex": ["ok"]},
        {"save_config": 3, "include_regex": ["ok"]},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_collection_when_a_setting_makes_no_sense_then_the_rest_of_it_is_kept(bad):
    """One bad setting costs neither the collection nor the others."""
    found, (problem,) = find({"worker_0": content({"name": "a", **bad}, {"name": "b"})})
    first, second = found.collections
    assert first.include_regex == (["ok"] if "ok" in json.dumps(bad) else [])
    assert first.tensor_names == ({"x"} if '"x"' in json.dumps(bad) else set())
    assert second == Collection("b")
    assert "collection 'a'" in problem.reason


def test_collections_when_foreign_files_lie_beside_them_then_passed_over():
    """Only collections files are looked at; a nameless one is a problem."""
    backend = MemoryBackend()
    TrialWriter(backend).write_collections([{"name": "a"}], 1)
    backend.write("collections/000000000/notes.txt", (b"x",))
    backend.write(KEY.format("worker_0") + ".sagemaker-uploaded", (b"x",))
    backend.write("collections/000000000/_collections.json", (b"x",))
    problems = Problems("trial")
    assert find_collections(backend, problems).workers == ("worker_0",)
    assert [problem.path for problem in problems.all()] == ["trial/collections/000000000/_collections.json"]
