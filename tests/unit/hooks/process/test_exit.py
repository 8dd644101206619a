"""The end of a process: trials of children that `multiprocessing` starts are finished like all others."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import textwrap
import weakref
from multiprocessing import util

import pytest

from sagemaker_debug_ext.hooks import registry
from support.scripts import run_python

METHODS = multiprocessing.get_all_start_methods()

needs_error = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="Python 3.13 has forgotten the error of a child when it ends"
)

SCRIPT = """
import multiprocessing, os, sys
from sagemaker_debug_ext.hooks.base import BaseHook

class PlainHook(BaseHook):
    def run_step(self, value):
        self._begin_step()
        self.save_scalar("value", value)

def train(out_dir, **arguments):
    hook = PlainHook(out_dir, save_config={"save_interval": 1}, **arguments)
    for step in range(5):
        hook.run_step(step)
    return hook

def end(process):
    process.start()
    process.join()
    print(process.exitcode)

"""


def run(tmp_path, program, *arguments):
    """Run a program; return what it has printed, and what it has written to standard error."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT + textwrap.dedent(program))
    done = run_python(script, tmp_path / "out", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("method", METHODS)
def test_child_when_it_ends_then_trial_holds_all_steps_and_is_ended(tmp_path, trial, method):
    """Children that are forked leave by `os._exit`, and run nothing of what they have registered for their end."""
    printed, errors = run(
        tmp_path,
        """
        if __name__ == "__main__":
            end(multiprocessing.get_context(sys.argv[2]).Process(target=train, args=(sys.argv[1],)))
        """,
        method,
    )
    assert (printed, errors) == ("0\n", "")
    assert [step for step, _, _ in trial.steps] == [0, 1, 2, 3, 4]
    assert trial.has_ended


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("end", "status", "num_steps"),
    [
        pytest.param("raise ValueError('of the script')", 1, 2, marks=needs_error),
        ("sys.exit(3)", 3, 0),
        ("pass", 0, 0),
    ],
    ids=["error", "exit", "return"],
)
def test_recording_when_child_ends_then_is_written_if_it_has_raised(tmp_path, trial, method, end, status, num_steps):
    """An exception in a child is not known to the interpreter as that which ends the process."""
    printed, errors = run(
        tmp_path,
        f"""
        def fail(out_dir):
            train(out_dir, flight_recorder=2)
            {end}

        if __name__ == "__main__":
            end(multiprocessing.get_context(sys.argv[2]).Process(target=fail, args=(sys.argv[1],)))
        """,
        method,
    )
    assert printed == f"{status}\n"
    assert ("ValueError: of the script" in errors) == (num_steps > 0)
    assert [step for step, _, _ in trial.steps] == list(range(5))[5 - num_steps :]
    assert trial.has_ended


@needs_error
def test_recording_when_error_is_passed_on_before_the_child_exits_then_is_written(tmp_path, trial):
    """So does `torch.multiprocessing`."""
    run(
        tmp_path,
        """
        def fail(out_dir):
            train(out_dir, flight_recorder=2)
            try:
                raise ValueError
            except ValueError:
                sys.exit(1)

        if __name__ == "__main__":
            end(multiprocessing.get_context("fork").Process(target=fail, args=(sys.argv[1],)))
        """,
    )
    assert [step for step, _, _ in trial.steps] == [3, 4]


def test_hook_when_its_process_has_children_then_none_of_them_closes_it(tmp_path, trial):
    """What ends, fails or is forked by hand beside a training leaves the trial to the process that trains."""
    printed, _ = run(
        tmp_path,
        """
        def fail():
            raise ValueError

        if __name__ == "__main__":
            hook = train(sys.argv[1])
            for target in (print, fail):
                end(multiprocessing.get_context("fork").Process(target=target))
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                sys.exit()
            os.waitpid(pid, 0)
            assert not hook.backend.exists("training_job_end.ts")
            hook.run_step(5)
            hook.close()
        """,
    )
    assert printed == "\n0\n1\n"
    assert [step for step, _, _ in trial.steps] == [0, 1, 2, 3, 4, 5]
    assert trial.has_ended


def test_hook_when_closed_then_nothing_holds_on_to_it(hook_class, out_dir):
    """What was registered for the end of the process is gone; until then the hook is kept, or it would never end."""
    before = set(util._finalizer_registry)
    hook = hook_class(out_dir)
    registry.del_hook()
    reference = weakref.ref(hook)
    (registered,) = util._finalizer_registry.keys() - before
    assert registered[0] >= 0  # so that it is called before the daemons of a child are ended
    del hook
    gc.collect()
    reference().close()
    reference().close()
    assert set(util._finalizer_registry) == before
    gc.collect()
    assert reference() is None
