"""Ctrl-C in a script that goes on, as in a notebook: each step is saved, or the log says why not.

Prints the counts with the seed. `--full` sends 500 random interruptions instead of 50, and one at every call of hooks
and store instead of every fifth.
"""

from __future__ import annotations

import logging
import os
import pickle
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import raising

from sagemaker_debug_ext.trials import create_trial

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"), pytest.mark.timeout(3600)]
NUM_STEPS = 30
LIMIT_SECONDS = 60


class Outcome(NamedTuple):
    """What a script saw: interruptions, the steps whose saving was interrupted, other errors, and the log."""

    num_interrupts: int
    interrupted_steps: list[int]
    raised: str | None
    messages: list[str]


class Messages(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


class Interruption:
    """Profile function that interrupts its thread at the n-th moment at which the interpreter looks for signals.

    It looks where a function begins and where a call has returned; those of hooks and store count.
    """

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event != "c_call" and frame.f_code.co_filename.startswith(raising.WATCHED):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def train(folder: Path, num_steps: int, begin: Callable[[], object], end: Callable[[], object]) -> Outcome:
    """Train to the end whatever interrupts it, from `begin` to `end`; the weights of step n are n."""
    messages = Messages()
    logging.getLogger().addHandler(messages)
    hook = raising.ArrayHook(folder, include_collections=["weights"], save_config={"save_interval": 1})
    hook.get_collection("weights").include("weight")
    num_interrupts, interrupted_steps, raised = 0, [], None
    step, has_begun, is_saving, is_over = 0, False, False, False
    while not is_over:
        try:
            if not has_begun:
                has_begun = True
                begin()
            while step < num_steps:
                step += 1
                is_saving = True
                hook.on_step(np.full(3, float(step)))
                is_saving = False
                hook.save_scalar("lr", 0.5)
            hook.close()
            end()
            is_over = True
        except KeyboardInterrupt:
            num_interrupts += 1
            interrupted_steps += [step] * is_saving
            is_saving = False
        except Exception as error:  # noqa: BLE001 - whatever reaches the script counts
            raised, is_over = repr(error), True
    logging.getLogger().removeHandler(messages)
    return Outcome(num_interrupts, interrupted_steps, raised, messages.texts)


def lost_steps(folder: Path, num_steps: int) -> set[int]:
    """Return the steps whose weights cannot be read; all if the trial has not ended."""
    steps = set(range(1, num_steps + 1))
    if not (folder / "training_job_end.ts").exists():
        return steps
    trial = create_trial(folder, wait_seconds=0)
    saved = trial.tensor("layer/weight").values() if trial.has_tensor("layer/weight") else {}
    return steps - {int(weight[0]) for weight in saved.values()}


def is_bad(folder: Path, num_steps: int, outcome: Outcome) -> bool:
    """Return whether something reached the script, or a step is lost and the log says nothing."""
    is_silent = not outcome.messages
    return outcome.raised is not None or (
        is_silent and not lost_steps(folder, num_steps) <= {*outcome.interrupted_steps}
    )


def interrupt_one(folder: Path, rng: random.Random, longest_seconds: float) -> Outcome | None:
    """Run a script and interrupt it at a random moment; return None if it hangs or dies."""
    results, given = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.alarm(LIMIT_SECONDS)
        os.close(results)
        outcome = train(
            folder,
            NUM_STEPS,
            lambda: (signal.signal(signal.SIGINT, signal.default_int_handler), os.write(given, b".")),
            lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        )
        os.write(given, pickle.dumps(outcome))
        os._exit(0)
    os.close(given)
    with open(results, "rb") as pipe:
        if pipe.read(1):
            time.sleep(rng.uniform(0, longest_seconds))
            os.kill(pid, signal.SIGINT)
        content = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(content) if content else None


def test_saving_when_a_script_is_interrupted_at_random_moments_then_goes_on_or_says_why(
    tmp_path, capsys, is_full, seed
):
    rng = random.Random(seed)
    began_at = time.perf_counter()
    measured = interrupt_one(tmp_path / "measured", rng, 0.0)
    longest_seconds = time.perf_counter() - began_at
    assert measured is not None
    number, hit, said, bad = 0, 0, 0, []
    while hit < (500 if is_full else 50) and number < 5000:
        number += 1
        folder = tmp_path / str(number)
        outcome = interrupt_one(folder, rng, longest_seconds)
        if outcome is None:
            bad.append("hung")
            continue
        hit += outcome.num_interrupts
        said += bool(outcome.messages)
        if is_bad(folder, NUM_STEPS, outcome):
            bad.append(outcome)
        shutil.rmtree(folder, ignore_errors=True)
    with capsys.disabled():
        print(f"\nrandom SIGINTs: {hit} in {number} trainings, {said} with a message, {len(bad)} bad, seed {seed}")
    assert bad == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an interruption of a finalizer
def test_saving_when_a_script_is_interrupted_at_any_call_then_goes_on_or_says_why(tmp_path, capsys, is_full, seed):
    stride = 1 if is_full else 5
    number, said, bad = 1 + seed % stride, 0, []
    is_interrupted = True
    while is_interrupted:
        interruption = Interruption(number)
        folder = tmp_path / str(number)
        outcome = train(folder, 4, lambda once=interruption: sys.setprofile(once), lambda: sys.setprofile(None))
        sys.setprofile(None)
        is_interrupted = interruption.left <= 0
        said += bool(outcome.messages)
        if is_bad(folder, 4, outcome):
            bad.append((number, outcome))
        shutil.rmtree(folder)
        number += stride
    with capsys.disabled():
        print(f"\ninterruptions at calls: {number // stride} of {number}, {said} with a message, {len(bad)} bad")
    assert (bad, number > 500) == ([], True)
