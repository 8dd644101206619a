"""How steps go from their beginning to the thread that writes."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.hooks.output.checkpoint_state import STATE_FILE, CheckpointState
from sagemaker_debug_ext.hooks.output.trial_output import Worker
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def hook(make_hook):
    return make_hook(include_collections=["own"])


def capture_loss(hook, value):
    hook._capture("loss", np.float64(value))


def test_begin_when_the_framework_submits_itself_then_the_ended_step_waits_for_it(hook, trial):
    """Writing then does not compete with what the hook does at the beginning of a step."""
    hook._cycle.begin(submit=True)
    capture_loss(hook, 1)
    hook._cycle.begin(submit=False)
    hook._dispatcher.flush()
    assert trial.steps == {}
    hook._cycle.submit()
    hook._dispatcher.flush()
    assert list(trial.steps) == [(0, "GLOBAL", 0)]


def test_begin_when_process_does_not_take_part_then_no_step_is_counted(make_hook, hook_class, monkeypatch):
    """Its script runs as without a hook."""
    monkeypatch.setattr(hook_class, "worker", Worker("worker_1", 2))
    hook = make_hook()
    assert hook._cycle.begin(submit=True) is None
    assert hook.step == -1


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        pytest.param(lambda hook: None, True, id="nothing"),
        pytest.param(lambda hook: hook.save_scalar("lr", 1.0), False, id="a scalar in the step"),
        pytest.param(lambda hook: hook.save_tensor("x", [1.0], "late"), False, id="a tensor that is not due yet"),
    ],
)
def test_begin_when_nothing_is_due_then_following_steps_are_skipped_unless_a_value_waits(make_hook, wait, expected):
    """A step with a value has to be submitted, and a tensor may be due where no collection to be saved is."""
    hook = make_hook(save_config={"save_interval": 9})
    hook.get_collection("late").save_config = {"save_interval": 8}
    for mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
        hook.set_mode(mode)
        hook._cycle.begin(submit=True)
    hook.set_mode(ModeKeys.TRAIN)  # a scalar belongs to the next step of this mode, at which nothing is due
    wait(hook)
    assert hook._cycle.begin(submit=True) is None
    assert hook._skipped.is_skipping == expected


def test_begin_when_own_tensor_is_due_then_the_new_step_has_it(hook, trial):
    """What a script saves between two steps belongs to the second."""
    hook._cycle.begin(submit=True)
    capture_loss(hook, 1)
    hook.save_tensor("x", [1.0], "own")
    hook._cycle.begin(submit=True)
    assert set(hook._steps.open.tensors) == {"x"}
    hook.close()
    assert {step: set(values) for (step, _, _), values in trial.steps.items()} == {0: {"loss"}, 1: {"x"}}


def test_begin_when_a_scalar_waits_for_a_mode_that_does_not_come_then_the_ended_step_has_it(hook):
    """A number is saved near where the script gave it, rather than late or never."""
    hook._cycle.begin(submit=True)
    ended = hook._steps.open
    hook.set_mode(ModeKeys.EVAL)
    hook.save_scalar("lr", 1.0)
    hook.set_mode(ModeKeys.TRAIN)
    hook._cycle.begin(submit=True)
    assert set(ended.tensors) == {"scalar/lr"}
    assert not hook._steps.open


def test_begin_when_checkpoints_change_then_their_state_is_written_at_the_next_step(make_hook, tmp_path):
    """No step is skipped, because a checkpoint may come at any of them."""
    hook = make_hook(save_config={"save_interval": 9})
    hook._dispatcher.checkpoints = CheckpointState(tmp_path / "checkpoints")
    for _ in range(3):
        hook._cycle.begin(submit=True)
    assert not hook._skipped.is_skipping
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "epoch-1").touch()
    hook._cycle.begin(submit=True)
    assert (tmp_path / "checkpoints" / STATE_FILE).exists()


def test_finish_when_the_step_before_is_not_submitted_yet_then_both_are_written(hook, trial):
    """A hook may be closed within a step."""
    hook._cycle.begin(submit=True)
    capture_loss(hook, 1)
    hook._cycle.begin(submit=False)
    capture_loss(hook, 2)
    hook._cycle.finish(writes_recording=False)
    hook._dispatcher.flush()
    assert [step for step, _, _ in trial.steps] == [0, 1]


def test_finish_when_everything_waits_then_the_last_step_gets_it(hook, trial):
    """No value is lost with the end of a training."""
    hook._cycle.begin(submit=True)
    capture_loss(hook, 1)
    hook.save_tensor("x", [2.0], "own")
    hook.set_mode(ModeKeys.EVAL)
    hook.save_scalar("lr", 3.0)  # waits for a step of this mode, which does not come
    hook._cycle.finish(writes_recording=False)
    hook._dispatcher.flush()
    (values,) = trial.steps.values()
    assert {name: float(value.item()) for name, value in values.items()} == {"loss": 1, "x": 2, "scalar/lr": 3}
    assert "own" in trial.collections().collections


def test_finish_when_nothing_was_captured_then_collections_are_there(hook, trial):
    """The file tells readers what the run was asked to save."""
    hook._cycle.begin(submit=True)
    hook._cycle.finish(writes_recording=False)
    hook._dispatcher.flush()
    assert trial.steps == {}
    assert "own" in trial.collections().collections


def test_finish_when_no_step_has_begun_then_scalars_have_one(hook, trial):
    """A script that only saves numbers gets its trial, too."""
    hook.save_scalar("accuracy", 0.5)
    hook._cycle.finish(writes_recording=False)
    hook._dispatcher.flush()
    assert {position: set(values) for position, values in trial.steps.items()} == {
        (0, "GLOBAL", 0): {"scalar/accuracy"}
    }


def test_finish_when_another_hook_has_written_to_the_folder_then_an_unused_one_opens_nothing(make_hook, out_dir):
    """The file of collections stays as the other hook has left it."""
    hooks = [make_hook(out_dir) for _ in range(2)]
    hooks[0].run_step({"loss": 1.0})
    hooks[1]._cycle.finish(writes_recording=False)
    assert hooks[1]._dispatcher.output is None
    assert hooks[1].failure is None


@pytest.mark.parametrize("writes_recording", [True, False])
def test_finish_when_there_is_a_recording_then_it_is_written_only_if_asked_for(make_hook, trial, writes_recording):
    """A run that ends well does not need its last steps."""
    hook = make_hook(flight_recorder=2)
    for value in range(4):
        hook.run_step({"loss": float(value)})
    hook._cycle.finish(writes_recording)
    hook._dispatcher.flush()
    assert [step for step, _, _ in trial.steps] == ([2, 3] if writes_recording else [])


def test_drop_open_when_step_is_incomplete_then_it_and_its_scalars_are_not_written(hook, trial):
    """At SIGTERM half a step must not look like a whole one."""
    hook.run_step({"loss": 1.0})
    hook.run_step({"loss": 2.0})
    hook.set_mode(ModeKeys.EVAL)
    hook.save_scalar("lr", 3.0)
    hook._cycle.drop_open()
    hook._cycle.finish(writes_recording=False)
    hook._dispatcher.flush()
    assert [step for step, _, _ in trial.steps] == [0]


def test_begin_when_a_rule_asks_and_the_process_must_exit_then_ends_it_also_at_a_skipped_step(make_hook, trial):
    """With exit code 3, a closed hook and a complete trial, although nothing is due at any later step."""
    hook = make_hook(save_config={"end_step": 1}, include_collections=["losses"])
    hook._watcher.configure(None, on_exit=hook._skipped.end)
    hook.run_step({"loss": 1.0})
    hook.run_step()
    hook.run_step()
    assert hook._skipped.is_skipping
    hook._watcher._ask_to_stop("Overfit")
    assert not hook.should_stop
    with pytest.raises(SystemExit) as stopped:
        hook.run_step()
    assert stopped.value.code == 3
    assert trial.has_ended
    assert list(trial.steps) == [(0, "GLOBAL", 0)]
