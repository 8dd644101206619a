"""``overwrite=True``: a notebook cell that runs again."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.hooks.overwriting import overwrite_trial
from sagemaker_debug_ext.store import claims
from sagemaker_debug_ext.store.backends import LocalBackend, MemoryBackend
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY


def run_cell(make_hook, num_steps, **arguments):
    hook = make_hook(overwrite=True, **arguments)
    for step in range(num_steps):
        hook.run_step({"loss": float(step)})
    return hook


@pytest.mark.parametrize("is_closed", [True, False])
def test_hook_when_a_cell_runs_again_then_the_trial_is_the_new_one(make_hook, trial, is_closed):
    """With fewer steps than before, and also if the first run forgot to close its hook."""
    first = run_cell(make_hook, 5)
    if is_closed:
        first.close()
    run_cell(make_hook, 2).close()
    assert [position[0] for position in trial.steps] == [0, 1]
    assert trial.has_ended
    assert first.failure is None


def test_hook_when_the_folder_holds_other_files_then_they_stay(make_hook, out_dir, trial):
    """Only a trial is deleted."""
    run_cell(make_hook, 3).close()
    (out_dir / "events" / "notes").mkdir(parents=True)
    (out_dir / "model.pt").write_bytes(b"weights")
    run_cell(make_hook, 1).close()
    assert (out_dir / "model.pt").read_bytes() == b"weights"
    assert [position[0] for position in trial.steps] == [0]


def test_hook_when_there_is_no_folder_then_it_is_made(make_hook, trial):
    """The first run of the cell."""
    run_cell(make_hook, 1).close()
    assert trial.has_ended


def test_hook_when_another_process_writes_then_refused_and_the_trial_stays(make_hook, out_dir, trial):
    """A trial that somebody else writes is not deleted under him."""
    run_cell(make_hook, 2).close()
    owner = claims._identity(os.getppid())
    (out_dir / CLAIM_KEY).write_text(json.dumps(owner))
    with pytest.raises(SMDebugRuntimeError, match="must not delete a trial that another process writes"):
        make_hook(overwrite=True)
    assert [position[0] for position in trial.steps] == [0, 1]


def test_overwrite_when_the_place_is_no_folder_of_this_machine_then_refused():
    """Nobody can tell who else writes on S3."""
    with pytest.raises(SMDebugValueError, match="for folders of this machine"):
        overwrite_trial(MemoryBackend())


def test_overwrite_when_several_processes_train_then_refused(make_hook, monkeypatch, trial):
    """One of them may have begun to write when the other deletes."""
    run_cell(make_hook, 2).close()
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SMDebugValueError, match=r"scripts of one process \(got WORLD_SIZE=2\)"):
        make_hook(overwrite=True)
    assert len(trial.steps) == 2


def test_overwrite_when_interrupted_anywhere_then_no_step_is_torn_and_it_can_be_repeated(make_hook, out_dir, trial):
    """A reader never finds a step whose values are gone."""

    class Interrupted(LocalBackend):
        left = 0

        def delete(self, key):
            if key != CLAIM_KEY and self.left == 0:
                raise KeyboardInterrupt
            self.left -= key != CLAIM_KEY
            super().delete(key)

    number, is_interrupted = 0, True
    while is_interrupted:
        run_cell(make_hook, 3).close()
        backend = Interrupted(out_dir)
        backend.left = number
        try:
            overwrite_trial(backend)
            is_interrupted = False
        except KeyboardInterrupt:
            number += 1
        assert all(set(tensors) == {"loss"} for tensors in trial.steps.values())
        run_cell(make_hook, 1).close()
        assert [position[0] for position in trial.steps] == [0]
    assert number > 6


def test_hook_when_the_script_removes_the_folder_and_writing_goes_on_then_begins_anew(make_hook, out_dir, trial):
    """The writing thread may make the folder again before the next hook looks at it."""
    first = make_hook()
    for step in range(4):
        first.run_step({"loss": float(step)})
    assert first._dispatcher.flush(600)  # so that the thread writes nothing while the folder is removed
    shutil.rmtree(out_dir)
    (out_dir / "events").mkdir(parents=True)  # as the thread does
    second = make_hook()
    for step in range(2):
        second.run_step({"loss": float(step)})
    second.close()
    assert [position[0] for position in trial.steps] == [0, 1]
    assert first.failure is None
