"""Whatever happens to a training process or its disk, and whenever: what is visible of the trial is whole and right."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.store import job_end, reader
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.format import keys
from sagemaker_debug_ext.trials import create_trial

SERVER = Path(__file__).with_name("chaos_server.py")
NUM_MOMENTS = 100
NUM_KEPT = 8
NUM_STEPS = 40
KINDS = ("SIGKILL", "SIGTERM", "full disk", "slow disk")
PARAMETERS = [f"Sequential_{layer}.{kind}" for layer in (0, 2) for kind in ("weight", "bias")]
NAMES = {
    *PARAMETERS,
    *(f"gradient/{name}" for name in PARAMETERS),
    "0_output_0",
    "MSELoss_output_0",
    "scalar/step",
}

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"), pytest.mark.timeout(300)]


class Outcome(NamedTuple):
    """How one training ended, and what is visible of its trial."""

    report: dict[str, Any]
    steps: list[int]
    wrong: list[str]
    has_ended: bool
    is_claimed: bool
    folder: Path


def look(report, folder, reference):
    """Compare everything visible of a trial with a training without hook."""
    backend = open_backend(folder)
    steps, wrong = [], []
    for info in reader.list_index(backend):
        step = keys.parse_index_key(info.key).step
        index = reader.read_index(backend, info.key)
        steps.append(step)
        if set(index.tensors) != NAMES:
            wrong.append(f"step {step}: {sorted(NAMES ^ set(index.tensors))}")
        for name, location in index.tensors.items():
            value = reader.read_tensor(backend, index.event_file, location, name)
            if not np.array_equal(value, reference[f"{step}|{name}"]):
                wrong.append(f"step {step}: {name}")
    return Outcome(report, steps, wrong, job_end.has_ended(backend), backend.exists(keys.CLAIM_KEY), folder)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What came of the trainings, by what happened to them."""
    root = tmp_path_factory.mktemp("chaos")
    command = [sys.executable, str(SERVER), str(root), str(NUM_MOMENTS), "2026"]
    found = {kind: [] for kind in KINDS}
    with (root / "stderr").open("w+") as messages:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages, text=True) as server:
            digest = json.loads(server.stdout.readline())["digest"]
            with np.load(root / "reference.npz") as stored:
                reference = dict(stored)
            for line in server.stdout:
                report = json.loads(line)
                report["is same"] = report.get("digest", digest) == digest
                outcome = look(report, root / report["name"], reference)
                found[report["kind"]].append(outcome)
                if len(found["SIGKILL"]) > NUM_KEPT:
                    shutil.rmtree(outcome.folder)
        messages.seek(0)
        assert server.returncode == 0, messages.read()
    assert sum(map(len, found.values())) == NUM_MOMENTS
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_trial_when_anything_happens_then_what_is_visible_is_right(outcomes, kind):
    """At two hundred moments: every visible step has all its tensors, and each is that of a training without hook."""
    assert [outcome.wrong for outcome in outcomes[kind]] == [[]] * len(outcomes[kind])
    lengths = {len(outcome.steps) for outcome in outcomes[kind]}
    assert len(lengths) > 5, "it should happen at different moments"


@pytest.mark.parametrize("kind", ["full disk", "slow disk"])
def test_training_when_disk_fails_then_ends_the_same_to_the_bit(outcomes, kind):
    """Weights, gradients and the optimizer's memory are those of a training without hook."""
    assert [outcome.report["status"] for outcome in outcomes[kind]] == [0] * len(outcomes[kind])
    assert all(outcome.report["is same"] for outcome in outcomes[kind])


def test_trial_when_process_was_killed_then_holds_the_steps_up_to_the_last_one(outcomes):
    """Nothing is missing between the first and the last visible step, and nothing claims that the job has ended."""
    for outcome in outcomes["SIGKILL"]:
        assert outcome.report["status"] == -signal.SIGKILL
        assert outcome.steps == list(range(len(outcome.steps)))
        assert not outcome.has_ended


def test_trial_when_sigterm_came_then_is_ended_and_status_is_the_scripts(outcomes):
    """The signal ends the process as without hook, or the script's own handler does; the trial is ended both times."""
    statuses = [outcome.report["status"] for outcome in outcomes["SIGTERM"]]
    assert set(statuses) == {0, -signal.SIGTERM}
    for outcome in outcomes["SIGTERM"]:
        handled = [signal.SIGTERM] if outcome.report["status"] == 0 else None
        assert outcome.report.get("handled") == handled
        assert outcome.steps == list(range(len(outcome.steps)))
        assert outcome.steps
        assert outcome.has_ended
        assert not outcome.is_claimed


def test_trial_when_disk_is_full_then_holds_the_first_steps_and_is_ended(outcomes):
    """What was written before stays readable, and a reader learns that nothing follows.

    Where not even the claim could be written, there is no trial to be ended.
    """
    for outcome in outcomes["full disk"]:
        assert outcome.steps == list(range(len(outcome.steps)))
        assert outcome.has_ended or not outcome.steps
        is_exiting_with_error = outcome.report["failure"] != "None"
        assert is_exiting_with_error or len(outcome.steps) == NUM_STEPS
    assert sum(outcome.report["failure"] != "None" for outcome in outcomes["full disk"]) > 20


def test_trial_when_disk_is_slow_then_holds_every_step_that_was_not_dropped(outcomes):
    """Training waits, or whole steps are left out and counted, as was asked for."""
    for outcome in outcomes["slow disk"]:
        assert outcome.report["failure"] == "None"
        assert len(outcome.steps) + outcome.report["dropped"] == NUM_STEPS
        assert outcome.report["policy"] == "drop" or outcome.report["dropped"] == 0
        assert outcome.has_ended
    assert sum(outcome.report["dropped"] > 0 for outcome in outcomes["slow disk"]) > 5


def test_trial_when_process_was_killed_then_opens_and_answers(outcomes):
    """A reader opens what a killed job left, and does not wait for what never comes."""
    opened = 0
    for outcome in outcomes["SIGKILL"][:NUM_KEPT]:
        if (outcome.folder / keys.collections_key("worker_0")).is_file() and outcome.steps:
            opened += 1
            trial = create_trial(str(outcome.folder))
            assert trial.steps(smd.modes.TRAIN) == outcome.steps
            assert set(trial.tensor_names()) == NAMES
    assert opened > NUM_KEPT // 2


def test_hook_when_earlier_process_was_killed_then_goes_on_in_its_folder(outcomes):
    """The folder of a killed job is not locked; a new job takes it over and ends it."""
    folder = max(outcomes["SIGKILL"][:NUM_KEPT], key=lambda outcome: len(outcome.steps)).folder
    assert (folder / keys.CLAIM_KEY).exists()
    before = create_trial(str(folder))
    steps, weights = before.steps(), before.tensor("Sequential_0.weight").values()
    with smd.Hook(folder, strict=True) as hook:
        hook.save_scalar("again", 1)
    trial = create_trial(str(folder))
    assert trial.steps() == [*steps, steps[-1] + 1]
    assert list(trial.tensor("scalar/again").values()) == [steps[-1] + 1]
    for step, value in trial.tensor("Sequential_0.weight").values().items():
        np.testing.assert_array_equal(value, weights[step])
    assert not (folder / keys.CLAIM_KEY).exists()
