"""Tensors saved without a hook."""

import json

import numpy as np
import pytest

import sagemaker_debug_ext
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.hooks.save_tensor import save_tensor
from sagemaker_debug_ext.trials import create_trial


def test_save_tensor_when_called_again_then_appends_steps(tmp_path):
    """Each call is a step; all tensors belong to the default collection of one trial."""
    assert save_tensor(np.arange(3.0), "a", tmp_path / "t") == 0
    assert save_tensor([1, 2], "b", str(tmp_path / "t")) == 1
    assert save_tensor("text", "note", tmp_path / "t") == 2
    assert save_tensor(np.float32(2), "a", tmp_path / "t") == 3
    trial = create_trial(str(tmp_path / "t"))
    assert trial.steps() == [0, 1, 2, 3]
    assert trial.tensor_names(collection="default") == ["a", "b", "note"]
    assert trial.tensor("a").value(0).tolist() == [0, 1, 2]
    assert trial.tensor("a").value(3).tolist() == [2]


def test_save_tensor_when_a_trial_is_there_then_keeps_it(tmp_path, make_hook, read_trial):
    """What a hook has written stays; the next step follows its last one."""
    hook = make_hook("t", include_collections=["gradients"])
    for _ in range(2):
        hook.run_step({"loss": 1.0, "gradient/w": 2.0})
    hook.close()
    assert save_tensor(7, "extra", tmp_path / "t") == 2
    trial = create_trial(str(tmp_path / "t"))
    assert trial.tensor_names() == ["extra", "gradient/w", "loss"]
    assert trial.tensor_names(collection="gradients") == ["gradient/w"]


def test_save_tensor_when_no_path_is_given_then_goes_to_the_folder_of_the_job(tmp_path, monkeypatch):
    """The hook configuration file says where a job's tensors go."""
    (tmp_path / "hook.json").write_text(json.dumps({"LocalPath": str(tmp_path / "job")}))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    assert sagemaker_debug_ext.save_tensor(1, "a") == 0
    assert create_trial(str(tmp_path / "job")).tensor_names() == ["a"]


@pytest.mark.parametrize(
    ("value", "name", "match"),
    [(1, 5, "name must be"), (None, "a", "a tensor must be")],
    ids=["a number for a name", "no value"],
)
def test_save_tensor_when_value_or_name_is_wrong_then_refuses(tmp_path, value, name, match):
    """Nothing is written when the value or the name is refused."""
    with pytest.raises(SMDebugTypeError, match=match):
        save_tensor(value, name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_save_tensor_when_value_is_an_array_of_another_library_then_asks_it(tmp_path):
    """Anything that turns into an array is saved."""

    class Foreign:
        def __array__(self, dtype=None, copy=None):
            return np.ones(2)

    save_tensor(Foreign(), "a", tmp_path)
    assert create_trial(str(tmp_path)).tensor("a").value(0).tolist() == [1, 1]
