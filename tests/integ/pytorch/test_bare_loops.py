"""Loops that train tensors of the script itself are captured as if these were the parameters of a model."""

from __future__ import annotations

import json

import pytest
import torch

from sagemaker_debug_ext.hooks.auto.bare_loops import BareLoop
from sagemaker_debug_ext.hooks.program.autograd import leaves_of
from sagemaker_debug_ext.rules import evaluate
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.trials import create_trial
from support.scripts import write_hook_file

LOOP = """
import sys
import torch
torch.manual_seed(0)
scale, spreads = float(sys.argv[1]), sys.argv[2] == "spreads"
points = torch.rand(200, 3)
wanted = points @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.3
slope, offset = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)
for step in range(300):
    found = (scale * points) @ slope + offset
    loss = ((found - (wanted if spreads else wanted[:, 0])) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for tensor in (slope, offset):
            tensor -= 0.3 / scale**2 * tensor.grad
            tensor.grad.zero_()
print(slope.tolist(), offset.tolist(), loss.item(), torch.rand(1).item())
"""


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [(("1", "pairs"), None), (("1", "spreads"), "loss or output"), (("300", "pairs"), "inputs")],
    ids=["sound", "targets that are broadcast", "inputs that are not scaled"],
)
def test_run_when_tensors_are_trained_without_a_module_then_are_captured(
    tmp_path, monkeypatch, arguments, cause, forks
):
    """Values, gradients, data and the loss have names; the result is that of the script alone, to the bit."""
    script = tmp_path / "train.py"
    script.write_text(LOOP)
    settings = {"LocalPath": str(tmp_path / "out"), "HookParameters": {"save_interval": "1", "save_all": "true"}}
    (tmp_path / "hook.json").write_text(json.dumps(settings))
    alone = forks.run_python(script, *arguments)
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    captured = forks.run_captured(script, *arguments)
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout) == (0, alone.stdout)
    assert "no training step was captured" not in captured.stderr
    trial = create_trial(str(tmp_path / "out"))
    assert len(trial.steps()) == 299  # a single pass would be no loop
    assert trial.tensor_names(collection="weights") == ["Script_offset.weight", "Script_slope.weight"]
    assert trial.tensor("gradient/Script_slope.weight").value(5).shape == (3,)
    causes = likely_causes(evaluate(recommended_rules(trial), trial))
    assert (causes[0].name if causes else None) == cause


@pytest.mark.parametrize("loss", ["torch.nn.functional.mse_loss", "torch.nn.MSELoss()"])
def test_run_when_a_loop_without_a_module_calls_a_loss_then_the_loss_is_of_its_own_step(
    tmp_path, monkeypatch, loss, forks
):
    """A loss is computed before its backward pass begins, and belongs with the inputs that it is of."""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "slope = torch.zeros(3, 1, requires_grad=True)\n"
        f"loss = {loss}\n"
        "for step in range(6):\n"
        "    loss(torch.full((4, 3), float(step)) @ slope, torch.full((4, 1), float(step))).backward()\n"
    )
    settings = {"LocalPath": str(tmp_path / "out"), "HookParameters": {"save_interval": "1", "save_all": "true"}}
    (tmp_path / "hook.json").write_text(json.dumps(settings))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    assert forks.run_captured(script).returncode == 0
    trial = create_trial(str(tmp_path / "out"))
    inputs, targets = trial.tensor("Script_input_0"), trial.tensor("MSELoss_input_1")
    assert trial.steps() == [0, 1, 2, 3, 4]
    assert [inputs.value(step)[0, 0] for step in trial.steps()] == [1, 2, 3, 4, 5]
    assert [(step, targets.value(step)[0, 0]) for step in targets.steps()] == [(1, 2), (2, 3), (3, 4), (4, 5)]


def test_run_when_a_model_comes_after_a_single_pass_then_only_the_model_is_captured(tmp_path, monkeypatch, forks):
    """What a script computes before it trains is no step."""
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "torch.ones(1, requires_grad=True).sum().backward()\n"
        "model = torch.nn.Linear(3, 1)\n"
        "for _ in range(4):\n"
        "    model(torch.rand(8, 3)).sum().backward()\n"
    )
    write_hook_file(tmp_path / "hook.json", tmp_path / "out", ["weights", "gradients"])
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    assert forks.run_captured(script).returncode == 0
    trial = create_trial(str(tmp_path / "out"))
    assert trial.steps() == [0, 1, 2, 3]
    assert trial.tensor_names(collection="weights") == ["Linear_weight"]


def test_leaves_when_data_meet_parameters_then_both_are_found():
    """In the order of the computation; data that were overwritten since are missing, and the graph stays usable."""
    first, second, bias = (torch.rand(size, requires_grad=True) for size in ((4, 3), (3, 1), (3,)))
    data, mask = torch.rand(5, 4), torch.rand(5, 3)
    loss = ((torch.nn.functional.linear(data, first.T, bias) * mask).relu() @ second).mean()
    trained, found = leaves_of(loss)
    assert set(map(id, trained)) == {id(first), id(second), id(bias)}
    assert trained[-1] is second
    assert [tensor is data for tensor in found] == [True]
    data += 1
    assert leaves_of(loss)[1] == ()
    assert leaves_of(torch.ones(())) == ((), ())
    (first * torch.ones(4, 3)).sum().backward()


def test_tensors_when_a_variable_gets_another_one_then_it_has_their_name():
    """Some loops make a new tensor at each step; tensors of no variable have numbers."""
    loop = BareLoop()
    weight = torch.ones(2, requires_grad=True)
    assert loop.data_of([(weight * torch.ones(2)).sum()]) is None
    weight = torch.zeros(2, requires_grad=True)
    held = {"other": torch.ones(1, requires_grad=True)}
    data = loop.data_of([(weight * torch.ones(2)).sum() + held["other"]])
    assert [tensor.tolist() for tensor in data] == [[1, 1]]
    parameters = dict(loop.model.named_parameters())
    assert parameters["weight.weight"] is weight
    assert len(parameters) == 2
    assert any(parameter is held["other"] for parameter in parameters.values())
    assert loop.data_of([weight]) is None  # no single number
