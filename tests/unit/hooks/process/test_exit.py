"""The end of a process: trials of children that `multiprocessing` starts are finished like all others."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import textwrap
import weakref
from multiprocessing import util
from pathlib import Path
from typing import NamedTuple

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


CHILDREN = """
def train_alone(out_dir):
    train(out_dir)

def end_by_error(out_dir):
    train(out_dir, flight_recorder=2)
    raise ValueError("of the script")

def end_by_exit(out_dir):
    train(out_dir, flight_recorder=2)
    sys.exit(3)

def end_by_return(out_dir):
    train(out_dir, flight_recorder=2)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    targets = (train_alone, end_by_error, end_by_exit, end_by_return)
    children = {
        target.__name__: context.Process(target=target, args=(f"{sys.argv[1]}/{target.__name__}",))
        for target in targets
    }
    for child in children.values():
        child.start()
    for name, child in children.items():
        child.join()
        print(name, child.exitcode)
"""


class Ended(NamedTuple):
    """What children that end in different ways left: their statuses, what they said, and the folder of each."""

    statuses: dict[str, int]
    errors: str
    folder: Path


@pytest.fixture(scope="module", params=METHODS)
def ended(request, tmp_path_factory):
    """Children of one process, which is started once for each start method."""
    folder = tmp_path_factory.mktemp("children")
    printed, errors = run(folder, CHILDREN, request.param)
    statuses = {name: int(status) for name, status in map(str.split, printed.splitlines())}
    return Ended(statuses, errors, folder / "out")


def test_child_when_it_ends_then_trial_holds_all_steps_and_is_ended(ended, read_trial):
    """Children that are forked leave by `os._exit`, and run nothing of what they have registered for their end."""
    trial = read_trial(ended.folder / "train_alone")
    assert ended.statuses["train_alone"] == 0
    assert [step for step, _, _ in trial.steps] == [0, 1, 2, 3, 4]
    assert trial.has_ended


@pytest.mark.parametrize(
    ("target", "status", "steps"),
    [
        pytest.param("end_by_error", 1, [3, 4], marks=needs_error),
        ("end_by_exit", 3, []),
        ("end_by_return", 0, []),
    ],
)
def test_recording_when_child_ends_then_is_written_if_it_has_raised(ended, read_trial, target, status, steps):
    """The interpreter does not know an exception in a child as the one that ends the process."""
    trial = read_trial(ended.folder / target)
    assert ended.statuses[target] == status
    assert [step for step, _, _ in trial.steps] == steps
    assert trial.has_ended


def test_children_when_one_raises_then_nothing_else_is_said(ended):
    """Its traceback is there once, and the others only say that they saw no loss."""
    assert ended.errors.count("Traceback") == 1
    said = [line for line in ended.errors.splitlines() if "collection 'losses' stayed empty" not in line]
    assert said[-1] == "ValueError: of the script"


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
