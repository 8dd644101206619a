"""The flight recorder: the last steps, written when something asks for them."""

import contextlib
import functools
import subprocess
import sys
import threading

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.hooks.output import flight_recorder as recorder_module
from sagemaker_debug_ext.hooks.output.flight_recorder import FlightRecorder
from sagemaker_debug_ext.rules.action import ask_for_recording
from sagemaker_debug_ext.vocabulary import ModeKeys


def step(number, size=1):
    made = StepBuffer(StepPosition(number, ModeKeys.GLOBAL, number))
    made.tensors["x"] = Captured(np.zeros(size), 0.0)
    return made


def kept(recorder):
    return [recorded.position.global_step for recorded in recorder.take()]


def test_recorder_when_more_steps_come_then_keeps_the_last():
    """Old steps make room for new ones."""
    recorder = FlightRecorder(3, 1 << 20)
    for number in range(10):
        recorder.add(step(number))
    assert len(recorder) == 3
    assert kept(recorder) == [7, 8, 9]
    assert kept(recorder) == []


def test_recorder_when_memory_is_short_then_keeps_fewer():
    """The limit counts bytes as well; the last step always stays."""
    recorder = FlightRecorder(10, 100)
    for number in range(4):
        recorder.add(step(number, size=5))
    assert kept(recorder) == [2, 3]
    recorder.add(step(4, size=1000))
    assert kept(recorder) == [4]


def test_hook_when_all_is_well_then_writes_no_step(make_hook, trial):
    """What nobody asks for is never written."""
    hook = make_hook(flight_recorder=2)
    for _ in range(5):
        hook.run_step({"loss": 1.0})
    hook.close()
    assert trial.steps == {}
    assert trial.has_ended


def test_hook_when_loss_is_not_finite_then_writes_the_last_steps(make_hook, trial, caplog):
    """The steps before the accident and the accident itself are there; later ones are kept again."""
    hook = make_hook(flight_recorder=3)
    for number in range(8):
        hook.run_step({"loss": np.nan if number == 5 else float(number)})
    hook.close()
    assert [position[0] for position in trial.steps] == [3, 4, 5]
    assert "a loss of step 5 is not finite" in caplog.text


def test_hook_when_a_number_called_loss_is_not_finite_then_writes_the_last_steps(make_hook, trial):
    """Scripts without a loss that the framework shows save it themselves; other numbers may be what they like."""
    hook = make_hook(flight_recorder=2)
    for number in range(6):
        hook.run_step({})
        hook.save_scalar("best", np.inf)
        hook.save_scalar("train_Loss", np.nan if number == 3 else 1.0)
    hook.close()
    assert [position[0] for position in trial.steps] == [2, 3]


def test_hook_when_asked_then_writes_the_last_steps(make_hook, trial):
    """A script, or its signal handler, may ask at any time."""
    hook = make_hook(flight_recorder=3)
    for number in range(6):
        hook.run_step({"loss": float(number)})
    hook.write_recording()
    hook.close()
    assert [position[0] for position in trial.steps] == [2, 3, 4]


@pytest.mark.parametrize(
    ("error", "is_written"), [(KeyError(1), True), (KeyboardInterrupt(), True), (SystemExit(3), False), (None, False)]
)
def test_recording_when_script_closes_the_hook_in_finally_then_is_written_if_it_has_raised(
    make_hook, trial, error, is_written
):
    """The exception is on its way there; one that only ends the process, as `sys.exit` does, is no accident."""

    def train():
        hook = make_hook(flight_recorder=2)
        try:
            for step in range(4):
                hook.run_step({"loss": float(step)})
            if error is not None:
                raise error
        finally:
            hook.close()

    with contextlib.suppress(KeyError, KeyboardInterrupt, SystemExit):
        train()
    assert [step for step, _, _ in trial.steps] == ([2, 3] if is_written else [])


def test_recording_when_all_is_done_while_an_exception_is_dealt_with_then_is_not_written(make_hook, trial):
    """Such as where an optional package is missing, and what follows trains without it."""
    try:
        raise ImportError
    except ImportError:
        hook = make_hook(flight_recorder=2)
        hook.run_step({"loss": 1.0})
        hook.close()
    assert trial.steps == {}


def test_recording_when_the_hook_is_closed_at_the_end_of_an_iterator_then_is_not_written(make_hook, trial):
    """What an iterator says at its end is no accident."""
    hook, rows = make_hook(flight_recorder=2), iter([1.0, 2.0])
    try:
        while True:
            hook.run_step({"loss": next(rows)})
    except StopIteration:
        hook.close()
    assert trial.steps == {}


class EmptyError(Exception):
    def __len__(self):
        return 0


def test_recording_when_the_exception_counts_as_false_then_is_written(make_hook, trial):
    """An error is one, whatever its length."""
    hook = make_hook(flight_recorder=2)
    with pytest.raises(EmptyError):
        try:
            hook.run_step({"loss": 1.0})
            raise EmptyError
        finally:
            hook.close()
    assert len(trial.steps) == 1


def test_hook_when_block_ends_with_an_exception_then_writes_the_last_steps(make_hook, trial):
    """An exception in the block that the hook was made for asks, too."""
    with pytest.raises(KeyError), make_hook(flight_recorder=3) as hook:
        for number in range(6):
            hook.run_step({"loss": float(number)})
        raise KeyError
    assert [position[0] for position in trial.steps] == [3, 4, 5]


def test_hook_when_script_ends_with_an_exception_then_writes_the_last_steps(out_dir, trial):
    """So does one that ends the interpreter."""
    code = f"""
from sagemaker_debug_ext.hooks.base import BaseHook
hook = BaseHook({str(out_dir)!r}, save_config={{"save_interval": 1}}, flight_recorder=2)
for number in range(4):
    hook._begin_step()
    hook.save_scalar("number", number)
raise KeyError
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "KeyError" in done.stderr
    assert [position[0] for position in trial.steps] == [2, 3]


def test_hook_when_steps_may_be_dropped_then_training_never_waits(make_hook, trial, caplog):
    """Whole steps are left out and counted; those that were written are complete."""
    hook = make_hook(when_full="drop", memory_limit_bytes=100)
    hook.run_step({"loss": 0.0})
    hook.export_collections()
    hook._dispatcher.output._background._held_bytes = 100  # as if a step were being written
    hook.run_step({"loss": 1.0})
    hook._dispatcher.output._background._held_bytes = 0
    hook.run_step({"loss": 2.0})
    hook.close()
    assert hook.num_dropped_steps == 1
    assert [position[0] for position in trial.steps] == [1, 2]
    assert caplog.text.count("is left out") == 1


def test_hook_when_policy_is_unknown_then_refuses(make_hook):
    """There are three ways to deal with slow storage."""
    with pytest.raises(SMDebugValueError, match="'block', 'drop' or 'spill'"):
        make_hook(when_full="wait")


def test_hook_when_a_request_is_in_the_trial_then_writes_the_last_steps_once(make_hook, trial, out_dir, monkeypatch):
    """A rule may ask from another process; requests from before the hook was made are not for it."""
    monkeypatch.setattr(recorder_module, "_POLL_INTERVAL_SECONDS", 0.01)
    write_request = functools.partial(ask_for_recording, {"path": str(out_dir)}, "Rule")
    write_request("old")
    hook = make_hook(flight_recorder=3)
    for number in range(6):
        hook.run_step({"loss": float(number)})
    served = threading.Event()
    monkeypatch.setattr(hook._trigger, "_serve", lambda: (hook.write_recording(), served.set()))
    assert trial.steps == {}
    write_request("new")
    assert served.wait(30)
    hook.close()
    assert [position[0] for position in trial.steps] == [2, 3, 4]


def test_hook_when_asked_while_a_step_is_taken_in_then_asker_waits(make_hook, trial, monkeypatch):
    """A recording that another thread asks for is written before or after a step is added, never in between."""
    hook = make_hook(flight_recorder=3)
    hook.run_step({"loss": 0.0})
    add, asked = hook._dispatcher.flight_recorder.add, []

    def add_slowly(step):
        asker = threading.Thread(target=hook.write_recording)
        asker.start()
        asker.join(0.05)
        asked.append((asker, asker.is_alive()))
        add(step)

    monkeypatch.setattr(hook._dispatcher.flight_recorder, "add", add_slowly)
    hook._steps.end()
    hook._submit_step()
    ((asker, is_waiting),) = asked
    asker.join()
    assert is_waiting
    hook.close()
    assert [position[0] for position in trial.steps] == [0]
