"""Ctrl-C at random moments of a script that goes on, as in a notebook: saving is still on, or the log says why not.

Prints the counts with the seed. `--full` sends 500 interrupts instead of 50.
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
from pathlib import Path
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
    """What a script saw: how often it was interrupted, what else it met, the last step, and what was logged."""

    num_interrupts: int
    raised: str | None
    last_step: int
    messages: list[str]


class Messages(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def train(folder: Path, ready: int) -> Outcome:
    """Train to the end whatever interrupts it."""
    messages = Messages()
    logging.getLogger().addHandler(messages)
    hook = raising.ArrayHook(folder, include_collections=["weights"], save_config={"save_interval": 1})
    hook.get_collection("weights").include("weight")
    num_interrupts, raised, step, is_ready, is_over = 0, None, 0, False, False
    while not is_over:
        try:
            if not is_ready:
                is_ready = True
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.write(ready, b".")  # the interruption may come from here on
            while step < NUM_STEPS:
                step += 1
                hook.on_step(np.full(3, float(step)))
                hook.save_scalar("lr", 0.5)
            hook.close()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            is_over = True
        except KeyboardInterrupt:
            num_interrupts += 1
        except Exception as error:  # noqa: BLE001 - whatever reaches the script counts
            raised, is_over = repr(error), True
    return Outcome(num_interrupts, raised, hook.step, messages.texts)


def interrupt_one(folder: Path, rng: random.Random, longest_seconds: float) -> Outcome | None:
    """Run a script and interrupt it at a random moment; return None if it hangs or dies."""
    results, given = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.alarm(LIMIT_SECONDS)
        os.close(results)
        outcome = train(folder, given)
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
        steps = create_trial(folder, wait_seconds=0).steps() if (folder / "collections").exists() else []
        is_said = bool(outcome.messages)
        said += is_said
        if outcome.raised is not None or not (is_said or steps[-1:] == [outcome.last_step]):
            bad.append((outcome, steps))
        shutil.rmtree(folder, ignore_errors=True)
    with capsys.disabled():
        print(f"\nrandom SIGINTs: {hit} in {number} trainings, {said} with a message, {len(bad)} bad, seed {seed}")
    assert bad == []
