"""Processes that come and go around a training: data loaders, and an end without farewell."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from sagemaker_debug_ext.trials import create_trial

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SCRIPT = """
import os, signal, sys
import torch
import sagemaker_debug_ext.pytorch as smd

torch.set_num_threads(1)

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, at):
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "loaders are ended by SIGTERM at once"
        return torch.full((3,), float(at))

def train(hook=None):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    if hook is not None:
        hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=2, persistent_workers=True, shuffle=True)
    for _ in range(2):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
    return model.state_dict()

without = train()
hook = smd.Hook(
    sys.argv[1], save_config=smd.SaveConfig(save_interval=1), include_collections=["weights", "gradients"], strict=True
)
"""

ATTACHED = """
attached = train(hook)
assert all(torch.equal(tensor, attached[name]) for name, tensor in without.items())
"""


def run(folder, end, before=""):
    """Run the script, with what is given before its training and at its end; return its exit code and the trial."""
    report = subprocess.run(
        [sys.executable, "-c", SCRIPT + before + ATTACHED + end, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Error" not in report.stderr, report.stderr
    return report.returncode, create_trial(str(folder))


def test_training_when_loaders_are_forked_then_they_neither_write_nor_hold_anything(tmp_path):
    """Training ends the same to the bit, every step is saved once, and the trial ends with the training process."""
    code, trial = run(tmp_path / "out", "hook.close()")
    assert code == 0
    assert trial.steps() == list(range(12))
    assert trial.workers() == ["worker_0"]
    assert trial.loaded_all_steps


STALL = """
import threading
write, has_stalled = hook.backend.write, threading.Event()

def stall(key, parts):
    if key.startswith("index/") and key.endswith("0005_worker_0.json"):
        has_stalled.set()
        threading.Event().wait()
    write(key, parts)

hook.backend.write = stall
"""


def test_trial_when_process_leaves_without_farewell_then_holds_what_was_written(tmp_path):
    """After `os._exit` every step is there that was written by then, none in part; nothing says that the job has ended.

    The process leaves while the values of step 5 lie there already, and later steps wait to be written.
    """
    code, trial = run(tmp_path / "out", "assert has_stalled.wait(60)\nos._exit(3)", before=STALL)
    assert code == 3
    assert trial.steps() == [0, 1, 2, 3, 4]
    assert list((tmp_path / "out" / "events").rglob("*0005*"))
    for name in ("Linear_weight", "gradient/Linear_weight"):
        tensor = trial.tensor(name)
        assert tensor.steps() == trial.steps()
        assert all(torch.tensor(value).isfinite().all() for value in tensor.values().values())
    assert not trial.loaded_all_steps
