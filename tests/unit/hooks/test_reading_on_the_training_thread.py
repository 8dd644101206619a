"""A reader on the thread that trains does not wait for its own open hook, as in a notebook."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from sagemaker_debug_ext.errors import MissingCollectionFiles, StepNotYetAvailable, TrialNotFoundError
from sagemaker_debug_ext.hooks.output.trial_output import Worker
from sagemaker_debug_ext.rules import Rule, evaluate
from sagemaker_debug_ext.rules.evaluation.steps import iter_steps
from sagemaker_debug_ext.store import open_writers
from sagemaker_debug_ext.trials import create_trial

CLOSE_THE_HOOK = "close the hook to end the trial"


class LossAbove(Rule):
    """Fires where the loss is above 1."""

    def invoke_at_step(self, step):
        return self.base_trial.tensor("loss").value(step) > 1


def refuse(_):
    raise AssertionError("nothing is waited for")


def train(hook, values=(1.0, 2.0, 3.0)):
    for value in values:
        hook.run_step({"loss": value})


@pytest.fixture
def complete_hook(hook_class):
    """The class of a hook whose framework has returned from training."""

    class CompleteHook(hook_class):
        def _is_between_trainings(self):
            return True

    return CompleteHook


def test_evaluate_when_own_hook_is_open_then_ends_with_the_saved_steps_and_says_so(make_hook, out_dir, caplog):
    """The step that is open is not evaluated yet."""
    train(make_hook())
    trial = create_trial(str(out_dir))
    assert [issue.step for issue in evaluate([LossAbove(trial)], trial, sleep=refuse)] == [1]
    assert CLOSE_THE_HOOK in caplog.text
    assert str(out_dir) in caplog.text


def test_evaluate_when_own_framework_has_returned_then_sees_the_last_step(complete_hook, out_dir):
    """Between two runs of Keras no value can be added to the last step."""
    with complete_hook(out_dir=str(out_dir), save_config={"save_interval": 1}) as hook:
        train(hook)
        hook.save_scalar("rate", 0.5)
        trial = create_trial(str(out_dir))
        assert list(iter_steps(trial, sleep=refuse)) == [0, 1, 2]
        assert trial.tensor("scalar/rate").value(2) == 0.5
        train(hook, (4.0,))
        assert list(iter_steps(trial, start_step=3, sleep=refuse)) == [3]
    assert trial.steps() == [0, 1, 2, 3]
    assert trial.loaded_all_steps


def test_follow_when_own_hook_is_open_then_ends_with_the_saved_steps(make_hook, out_dir, caplog):
    """A loop over the steps ends, too."""
    hook = make_hook()
    train(hook)
    trial = create_trial(str(out_dir))
    assert list(trial.follow()) == [0, 1]
    assert CLOSE_THE_HOOK in caplog.text
    hook.close()
    caplog.clear()
    assert list(trial.follow()) == [0, 1, 2]
    assert caplog.messages == []


def test_wait_for_steps_when_own_hook_is_open_then_a_missing_step_is_an_error_at_once(make_hook, out_dir):
    """It cannot come."""
    train(make_hook())
    trial = create_trial(str(out_dir))
    trial.wait_for_steps([0, 1])
    with pytest.raises(StepNotYetAvailable):
        trial.wait_for_steps([2])


@pytest.mark.parametrize("has_claim", [False, True], ids=["nothing", "a step that is open"])
def test_create_trial_when_own_hook_has_saved_nothing_then_says_so_at_once(make_hook, out_dir, has_claim):
    """The first step is written when the second begins."""
    hook = make_hook()
    if has_claim:
        train(hook, (1.0,))
    with pytest.raises((TrialNotFoundError, MissingCollectionFiles), match="the hook of this thread has saved nothing"):
        create_trial(str(out_dir))


def test_settle_own_when_another_thread_trains_then_false(make_hook, out_dir):
    """A page that is shown beside training follows it."""
    hook = make_hook()
    assert open_writers.settle_own(hook.out_dir)
    trainer = threading.Thread(target=train, args=(hook,))
    trainer.start()
    trainer.join()
    assert not open_writers.settle_own(hook.out_dir)


def test_settle_own_when_the_hook_is_closed_or_another_folder_then_false(make_hook, tmp_path):
    """Its trial has ended."""
    hook = make_hook()
    hook.close()
    assert not open_writers.settle_own(hook.out_dir)
    assert not open_writers.settle_own(str(tmp_path / "elsewhere"))


def test_settle_own_when_this_process_does_not_write_then_false(make_hook, hook_class, monkeypatch):
    """Another worker ends the trial."""
    monkeypatch.setattr(hook_class, "worker", Worker("worker_1", 2))
    hook = make_hook()
    train(hook)
    assert not open_writers.settle_own(hook.out_dir)


def test_settle_own_when_forked_then_the_child_does_not_write(make_hook):
    """The parent goes on training."""
    hook = make_hook()
    child = os.fork()
    if child == 0:
        os._exit(open_writers.settle_own(hook.out_dir))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_settle_own_when_a_forked_child_trains_then_the_parent_does_not_write(make_hook):
    """It waits for what the child will write."""
    hook = make_hook()
    child = os.fork()
    if child == 0:
        hook.run_step({"loss": np.float64(1)})
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not open_writers.settle_own(hook.out_dir)


def test_settle_own_when_saving_was_switched_off_by_an_error_then_still_true(make_hook, failing_backend, caplog):
    """No step comes any more, and no end before the hook is closed."""
    hook = make_hook(failing_backend(0))
    train(hook)
    hook._dispatcher.flush()
    hook.run_step({"loss": np.float64(1)})
    assert hook.failure is not None
    assert open_writers.settle_own(hook.out_dir)
