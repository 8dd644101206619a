"""A job that resumes from a checkpoint goes on counting."""

import json

import pytest

from sagemaker_debug_ext.hooks.capture.counters import StepCounters
from sagemaker_debug_ext.hooks.output.checkpoint_state import CheckpointState
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The folder of a job's checkpoints."""
    (tmp_path / "checkpointconfig.json").write_text(json.dumps({"LocalPath": str(tmp_path / "checkpoints")}))
    monkeypatch.setenv("CHECKPOINT_CONFIG_FILE_PATH", str(tmp_path / "checkpointconfig.json"))
    (tmp_path / "checkpoints").mkdir()
    return tmp_path / "checkpoints"


def state(folder):
    return json.loads((folder / "metadata.json").read_text())


def test_state_when_checkpoints_change_then_is_noted_before_the_next_step(make_hook, folder):
    """Each change adds an entry with what was saved and counted; the state file itself is no checkpoint."""
    hook = make_hook(save_config={"save_interval": 2})
    hook.set_mode(ModeKeys.TRAIN)
    for step in range(5):
        hook.run_step({"loss": 1.0})
        if step == 3:
            (folder / "model.pt").write_bytes(b"weights")
            (folder / "model.pt.sagemaker-uploaded").write_bytes(b"")
    hook.close()
    assert state(folder) == [
        {
            "training-run": 0,
            "latest-global-step-saved": 2,
            "latest-global-step-seen": 3,
            "latest-mode-step": {"GLOBAL": 3, "TRAIN": 3},
        }
    ]
    assert [path.name for path in folder.iterdir() if path.name.endswith(".tmp")] == []


def test_hook_when_an_earlier_run_was_seen_then_counts_on(make_hook, folder, read_trial, tmp_path):
    """The first step follows the last one seen; a mode that was not listed begins there, too."""
    for name in ("first", "second"):
        hook = make_hook(name)
        hook.set_mode(ModeKeys.TRAIN)
        for step in range(3):
            hook.run_step({"loss": 1.0})
            (folder / "model.pt").write_bytes(b"x" * (step + 1) * len(name))
        hook.set_mode(ModeKeys.EVAL)
        hook.run_step({"loss": 1.0})
        hook.close()
    assert [entry["training-run"] for entry in state(folder)] == [0, 0, 0, 1, 1, 1]
    # The evaluation of the first run came after its last checkpoint.
    assert list(read_trial(tmp_path / "second").steps) == [
        (3, "TRAIN", 3),
        (4, "TRAIN", 4),
        (5, "TRAIN", 5),
        (6, "EVAL", 3),
    ]


@pytest.mark.parametrize(
    "content",
    [
        '[{"training-run": 0',
        '[{"training-run": 0, "latest-global-step-seen": 3, "latest-mode-step": {"WEIRD": 3}}]',
        '[{"training-run": 0, "latest-global-step-seen": 3, "latest-mode-step": {"TRAIN": "x"}}]',
        '[{"training-run": 0, "latest-global-step-seen": 3, "latest-mode-step": [3]}]',
    ],
)
def test_state_when_file_is_damaged_then_counting_begins_at_zero(folder, caplog, content):
    """A torn state file costs a warning."""
    (folder / "metadata.json").write_text(content)
    counters = StepCounters()
    CheckpointState(folder).restore(counters)
    assert counters.advance().global_step == 0
    assert "not a state file" in caplog.text


def test_hook_when_state_cannot_be_written_then_training_goes_on(make_hook, folder, trial, caplog):
    """Only the state is given up."""
    hook = make_hook()
    hook.run_step({"loss": 1.0})
    (folder / "model.pt").write_bytes(b"weights")
    (folder / "metadata.json.tmp").mkdir()
    for _ in range(2):
        hook.run_step({"loss": 1.0})
    hook.close()
    assert len(trial.steps) == 3
    assert caplog.text.count("the state of checkpoints is no longer written") == 1


@pytest.mark.parametrize("content", ["[]", '{"LocalPath": null}', '{"LocalPath": 5}'])
def test_find_when_configuration_is_wrong_then_is_none(tmp_path, caplog, content):
    """Without a folder nothing is watched; a file that makes no sense is mentioned."""
    assert CheckpointState.find({"CHECKPOINT_CONFIG_FILE_PATH": str(tmp_path / "none.json")}) is None
    (tmp_path / "config.json").write_text(content)
    assert CheckpointState.find({"CHECKPOINT_CONFIG_FILE_PATH": str(tmp_path / "config.json")}) is None
    assert "no checkpoint configuration" in caplog.text
