"""SIGTERM: the hook finishes, then happens what would have happened without it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sagemaker_debug_ext.hooks.process import sigterm
from sagemaker_debug_ext.store.backends import MemoryBackend


@pytest.fixture
def received():
    """What the script's own handler has received; the handler is set for the test."""
    numbers = []
    before = signal.signal(signal.SIGTERM, lambda number, _: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGTERM, before)


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


class TestScriptsHandler:
    def test_steps_when_script_goes_on_after_sigterm_then_are_all_written(self, make_hook, trial, received):
        """A script that handles SIGTERM itself is asked as before, and the hook goes on with it."""
        hook = make_hook()
        for step in range(3):
            hook.run_step({"loss": float(step)})
        terminate()
        assert received == [signal.SIGTERM]
        assert [step for step, _, _ in trial.steps] == [0, 1]
        assert not trial.has_ended
        hook.run_step({"loss": 3.0})
        hook.close()
        assert [step for step, _, _ in trial.steps] == [0, 1, 2, 3]
        assert trial.has_ended

    def test_recording_when_sigterm_comes_then_is_written(self, make_hook, trial, received):
        """What the flight recorder keeps would be lost with the process."""
        hook = make_hook(flight_recorder=2)
        for step in range(5):
            hook.run_step({"loss": float(step)})
        terminate()
        assert [step for step, _, _ in trial.steps] == [2, 3]
        assert len(received) == 1

    def test_handler_when_all_hooks_are_closed_then_is_the_scripts_own(self, make_hook, received):
        """No trace of the hooks is left."""
        before = signal.getsignal(signal.SIGTERM)
        hooks = [make_hook(f"out{number}") for number in range(2)]
        assert signal.getsignal(signal.SIGTERM) is not before
        for hook in hooks:
            hook.close()
        assert signal.getsignal(signal.SIGTERM) is before
        assert received == []

    def test_handler_when_script_sets_its_own_later_then_that_one_stays(self, make_hook, received):
        """The script's last word counts, and a handler that calls the one before it ends no process."""
        first = make_hook("first")
        calls = []
        inner = signal.getsignal(signal.SIGTERM)

        def outer(number, frame):
            calls.append("outer")
            inner(number, frame)

        signal.signal(signal.SIGTERM, outer)
        first.close()
        assert signal.getsignal(signal.SIGTERM) is outer
        second = make_hook("second")
        terminate()
        assert calls == ["outer"]
        assert received == [signal.SIGTERM]
        second.close()
        assert signal.getsignal(signal.SIGTERM) is outer

    def test_handler_when_hook_is_at_work_and_another_handler_asks_then_that_one_runs_once(self, make_hook, received):
        """The script's handler is not run a second time only because the hook was busy, and nothing is lost."""
        hook = make_hook("busy", flight_recorder=3)
        inner = signal.getsignal(signal.SIGTERM)
        calls = []

        def outer(number, frame):
            calls.append("outer")
            inner(number, frame)

        def value():
            terminate()
            return np.zeros(1)

        signal.signal(signal.SIGTERM, outer)
        hook.run_step({"loss": 0.0})
        hook.run_step({"loss": value})
        assert (calls, received) == (["outer"], [signal.SIGTERM])
        deadline = time.monotonic() + 60
        while not hook.backend.list("index/") and time.monotonic() < deadline:
            threading.Event().wait(0.001)
        assert len(hook.backend.list("index/")) == 1
        assert calls == ["outer"]

    def test_handler_when_hook_may_not_handle_it_then_is_untouched(self, make_hook, received):
        """Opting out leaves the signal as it is."""
        before = signal.getsignal(signal.SIGTERM)
        make_hook(handle_sigterm=False)
        assert signal.getsignal(signal.SIGTERM) is before

    def test_handler_when_signal_is_ignored_then_stays_so(self, make_hook, received):
        """Who ignores SIGTERM survives it."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        make_hook()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN

    def test_handler_when_hook_is_made_on_another_thread_then_is_untouched(self, make_hook, received):
        """Python lets only the main thread set handlers; the hook works all the same."""
        before = signal.getsignal(signal.SIGTERM)
        thread = threading.Thread(target=make_hook)
        thread.start()
        thread.join()
        assert signal.getsignal(signal.SIGTERM) is before

    def test_handler_when_hook_is_at_work_then_waits_for_it(self, make_hook, received):
        """SIGTERM in the middle of the hook's own work is dealt with as soon as that is done."""
        hook = make_hook()
        seen_inside = []

        def value():
            terminate()
            seen_inside.extend(received)
            return np.zeros(1)

        hook.run_step({"loss": value})
        while not received:
            threading.Event().wait(0.001)
        assert seen_inside == []

    def test_handler_when_hook_only_stands_around_training_then_does_not_wait(self, make_hook, received):
        """What is put around a training for scripts as they are is not the hook's own work."""
        make_hook()
        around = Path(sigterm.__file__).with_name("auto") / "around.py"
        exec(compile("terminate()", str(around), "exec"), {"terminate": terminate})
        assert received == [signal.SIGTERM]

    def test_handler_when_hook_is_stuck_then_script_is_told_all_the_same(self, make_hook, received, monkeypatch):
        """A disk that hangs does not keep SIGTERM from the script for ever."""
        monkeypatch.setattr(sigterm, "GRACE_SECONDS", 0.0)

        class Stuck(MemoryBackend):
            def exists(self, key):
                terminate()
                while not received:
                    threading.Event().wait(0.001)
                return super().exists(key)

        make_hook("first")
        make_hook(Stuck())
        assert received == [signal.SIGTERM]

    def test_handler_when_finishing_fails_then_script_is_told_all_the_same(self, make_hook, received, caplog):
        """Whatever breaks at SIGTERM, the script's handler has its turn."""
        hook = make_hook()
        hook._lifecycle.detach()
        forget = sigterm.on_sigterm(lambda _: 1 / 0)
        terminate()
        forget()
        assert received == [signal.SIGTERM]
        assert "may not be finished" in caplog.text


SCRIPT = """
import os, signal, sys
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.store.backends import LocalBackend

class PlainHook(BaseHook):
    def run_step(self, value):
        self._begin_step()
        self.save_scalar("value", value)

hook = PlainHook(sys.argv[1], save_config={"save_interval": 1}, strict=True)
"""


def run(folder, program):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT + textwrap.dedent(program), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


class TestDefaultAction:
    def test_process_when_sigterm_ends_it_then_trial_is_finished_and_status_is_the_signals(self, out_dir, trial):
        """The trial holds the complete steps and is marked as ended; the process ends by the signal all the same."""
        report = run(
            out_dir,
            """
            for step in range(4):
                hook.run_step(step)
            hook.save_scalar("of the open step", 1)
            os.kill(os.getpid(), signal.SIGTERM)
            print("went on")
            """,
        )
        assert report.returncode == -signal.SIGTERM, report.stderr
        assert (report.stdout, report.stderr) == ("", "")
        assert [step for step, _, _ in trial.steps] == [0, 1, 2]
        assert trial.has_ended

    def test_process_when_script_sets_a_handler_that_calls_the_one_before_then_goes_on(self, out_dir, trial):
        """Trainers do so: they ask to stop after the step, and call whatever handler they have found."""
        report = run(
            out_dir,
            """
            before = signal.getsignal(signal.SIGTERM)
            asked, readable = [], []

            def handle(number, frame):
                asked.append(number)
                if callable(before) and before is not signal.SIG_DFL:
                    before(number, frame)
                    readable.append(len(hook.backend.list("index/")))

            signal.signal(signal.SIGTERM, handle)
            for step in range(9):
                hook.run_step(step)
                if step == 2:
                    os.kill(os.getpid(), signal.SIGTERM)
                if asked:
                    break
            hook.close()
            os.kill(os.getpid(), signal.SIGTERM)
            print("stopped", len(asked), readable[0], step)
            """,
        )
        assert (report.returncode, report.stdout) == (0, "stopped 2 2 2\n"), report.stderr
        assert [step for step, _, _ in trial.steps] == [0, 1, 2]
        assert trial.has_ended

    def test_process_when_script_sets_the_handler_before_again_then_ends_as_without_hook(self, out_dir, trial):
        """A handler that cleans up, puts the one before it back and sends the signal again wants the process to end."""
        report = run(
            out_dir,
            """
            before = signal.getsignal(signal.SIGTERM)

            def handle(number, frame):
                signal.signal(number, before)
                os.kill(os.getpid(), number)

            signal.signal(signal.SIGTERM, handle)
            hook.run_step(0)
            hook.run_step(1)
            os.kill(os.getpid(), signal.SIGTERM)
            print("went on")
            """,
        )
        assert (report.returncode, report.stdout) == (-signal.SIGTERM, ""), report.stderr
        assert [step for step, _, _ in trial.steps] == [0]
        assert trial.has_ended

    def test_process_when_saving_was_given_up_then_trial_is_ended(self, out_dir, trial):
        """A reader of a trial whose disk was full learns that nothing follows."""
        report = run(
            out_dir,
            """
            hook.strict = False
            hook.run_step(0)
            hook.run_step(1)
            hook.export_collections()
            write, hook.backend.write = hook.backend.write, None
            hook.run_step(2)
            hook.export_collections()
            hook.backend.write = write
            os.kill(os.getpid(), signal.SIGTERM)
            """,
        )
        assert report.returncode == -signal.SIGTERM, report.stderr
        assert "saving is switched off" in report.stderr
        assert [step for step, _, _ in trial.steps] == [0]
        assert trial.has_ended

    def test_child_when_process_forks_then_gets_the_signal_as_before(self, out_dir, trial):
        """A forked data loader is ended by SIGTERM at once, and writes nothing."""
        report = run(
            out_dir,
            """
            hook.run_step(0)
            hook.run_step(1)
            pid = os.fork()
            if pid == 0:
                assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
                os.kill(os.getpid(), signal.SIGTERM)
            assert os.waitpid(pid, 0)[1] == signal.SIGTERM
            assert not hook.backend.exists("training_job_end.ts")
            hook.close()
            """,
        )
        assert report.returncode == 0, report.stderr
        assert [step for step, _, _ in trial.steps] == [0, 1]
