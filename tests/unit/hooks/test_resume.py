"""A folder that a killed run has left is continued: nothing of it is lost, and steps go on counting."""

from __future__ import annotations

import json
import logging

import pytest

from sagemaker_debug_ext.config.job_spec import VARIABLE_PREFIX
from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.hooks.output.checkpoint_state import CONFIG_PATH_VARIABLE
from sagemaker_debug_ext.store.format.keys import END_KEY, index_key
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL


@pytest.fixture
def run(make_hook, out_dir):
    """Run a few steps of each mode as one process would that then is killed: the trial has no end marker."""

    def run_job(*modes_and_times, scalars_only=False):
        hook = make_hook()
        for mode, times in modes_and_times:
            hook.set_mode(mode)
            for _ in range(times):
                hook.run_step({"loss": hook.step + 1})
        if scalars_only:
            hook.save_scalar("again", 1)
        hook.close()
        (out_dir / END_KEY).unlink()

    return run_job


def test_second_run_counts_on_in_every_mode(run, trial, caplog):
    """Steps of the first run keep their values; those of the second come behind, and a line says so."""
    run((TRAIN, 3), (EVAL, 2))
    with caplog.at_level(logging.WARNING):
        run((TRAIN, 2), (EVAL, 1))
    assert list(trial.steps) == [
        (0, "TRAIN", 0), (1, "TRAIN", 1), (2, "TRAIN", 2), (3, "EVAL", 0), (4, "EVAL", 1),
        (5, "TRAIN", 3), (6, "TRAIN", 4), (7, "EVAL", 2),
    ]  # fmt: skip
    assert [values["loss"].item() for values in trial.steps.values()][:5] == [0, 1, 2, 3, 4]
    assert "counting goes on after step 4" in caplog.text


def test_second_run_that_saves_a_scalar_only_replaces_nothing(run, trial):
    """A scalar of a run without steps has a step of its own."""
    run((ModeKeys.GLOBAL, 2))
    run(scalars_only=True)
    steps = trial.steps
    assert list(steps) == [(0, "GLOBAL", 0), (1, "GLOBAL", 1), (2, "GLOBAL", 2)]
    assert [sorted(values) for values in steps.values()] == [["loss"], ["loss"], ["scalar/again"]]


def test_second_run_counts_on_behind_a_damaged_step(run, trial, out_dir):
    """What cannot be read still has its number."""
    run((TRAIN, 3))
    (out_dir / index_key(2, "worker_0")).write_text("{")
    run((TRAIN, 1))
    (out_dir / index_key(2, "worker_0")).unlink()
    assert list(trial.steps) == [(0, "TRAIN", 0), (1, "TRAIN", 1), (3, "TRAIN", 2)]


def test_second_run_of_a_self_managed_job_goes_on_after_the_first_one_has_ended(
    make_hook, trial, tmp_path, monkeypatch
):
    """An interruption that leaves time to end the trial is no end of the job, and must not end the training."""
    (tmp_path / "config.json").write_text(json.dumps({"LocalPath": str(tmp_path / "checkpoints")}))
    monkeypatch.setenv(CONFIG_PATH_VARIABLE, str(tmp_path / "config.json"))
    monkeypatch.setenv(f"{VARIABLE_PREFIX}0", "")
    for number in range(2):
        hook = make_hook()
        hook.run_step({"loss": hook.step + 1})
        (tmp_path / "checkpoints").mkdir(exist_ok=True)
        (tmp_path / "checkpoints" / f"model-{number}").write_text("weights")
        hook.run_step({"loss": hook.step + 1})
        hook.close()
    assert list(trial.steps) == [(step, "GLOBAL", step) for step in range(4)]


@pytest.mark.parametrize("is_self_managed", [False, True])
def test_second_run_of_another_job_is_refused(make_hook, monkeypatch, is_self_managed):
    """Its tensors would mix with those of a trial that has ended; names of jobs may be used again on clusters."""
    if is_self_managed:
        monkeypatch.setenv(f"{VARIABLE_PREFIX}0", "")
    make_hook().close()
    with pytest.raises(SMDebugRuntimeError, match="must not hold a trial that has ended"):
        make_hook()
