"""A rule that fires beside a training has the training write the last steps that it keeps in memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.trials import create_trial

pytest.importorskip("torch")

SCRIPT = """
import pathlib, sys, time
import torch
import sagemaker_debug_ext.pytorch as smd

watched, recorded, done = sys.argv[1:]
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
config = smd.SaveConfig(save_interval=1)
recorder = smd.Hook(recorded, save_config=config, include_collections=["gradients"], flight_recorder=3)
recorder.register_module(model)
losses = smd.Hook(watched, save_config=config, include_collections=[])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
deadline = time.monotonic() + 60
step = 0
while not pathlib.Path(done).exists() and time.monotonic() < deadline:
    loss = model(torch.ones(2, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.save_scalar("loss", float("nan") if step == 20 else loss.item(), sm_metric=False)
    losses._begin_step()
    step += 1
losses.close()
recorder.close()
"""


def test_a_rule_has_the_training_write_its_flight_recorder(tmp_path):
    """While it goes on; nothing else of that trial is written."""
    watched, recorded, done = tmp_path / "watched", tmp_path / "recorded", tmp_path / "done"
    command = [sys.executable, "-c", SCRIPT, str(watched), str(recorded), str(done)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        trial = create_trial(watched, wait_seconds=60)
        action = json.dumps({"name": "record", "path": str(recorded)})
        rule = create_rule("ExplodingTensor", trial, {"action_json": action})
        evaluation = evaluate([rule], trial, stop_rule_on_first_issue=True, poll_seconds=0.05)
        assert len(evaluation.run()) == 1
        record = create_trial(recorded, wait_seconds=60)
        steps = next(iter(record.follow()))
        assert process.poll() is None, "the training goes on"
    finally:
        done.touch()
        error = process.communicate(timeout=60)[1]
    assert process.returncode == 0, error
    record = create_trial(recorded)
    found = record.steps()
    assert found[0] == steps
    assert len(found) == 3
    assert found == list(range(found[0], found[0] + 3))
    assert record.tensor_names(regex="^gradient")
