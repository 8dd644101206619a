"""Compiled models are captured without breaking their graphs."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.hooks.pytorch import torch_compile

dynamo = pytest.importorskip("torch._dynamo")
from torch._dynamo.utils import counters  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


class Net(nn.Module):
    """Two layers."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.b = nn.Linear(16, 2)

    def forward(self, x):
        return self.b(self.a(x).relu())


class Block(nn.Module):
    """A part that is compiled on its own."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x).tanh()


class Distance(nn.Module):
    """A loss of the script's own."""

    def forward(self, found, wanted):
        return (found - wanted).square().mean()


def wrap(net):
    return torch.compile(net, backend="aot_eager", fullgraph=True)


def in_place(net):
    net.compile(backend="aot_eager", fullgraph=True)
    return net


def by_default(net):
    return torch.compile(net, fullgraph=True)


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="PyTorch's own back end needs a C++ compiler")


def train(compile_it, hook=None, steps=6, make_loss=nn.MSELoss):
    dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    net = Net()
    model = compile_it(net)
    loss_function = make_loss()
    if hook:
        hook.register_module(model)
        if isinstance(loss_function, nn.Module):
            hook.register_loss(loss_function)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        x = torch.randn(4, 8)
        optimizer.zero_grad()
        loss_function(model(x), x[:, :2]).backward()
        optimizer.step()
        if hook:
            hook.save_scalar("lr", 0.1)
    return [parameter.detach().clone() for parameter in net.parameters()]


@pytest.mark.parametrize("compile_it", [wrap, in_place, pytest.param(by_default, marks=needs_compiler)])
def test_compiled_model_when_captured_then_its_graph_stays_whole(make_hook, open_trial, compile_it):
    """One graph, no breaks, equal results, and the names of the model that is not compiled."""
    without = train(compile_it)
    hook = make_hook(save_config=smd.SaveConfig(save_interval=2), include_collections=["weights", "gradients"])
    attached = train(compile_it, hook)
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == 1
    trial = open_trial(hook)
    assert all(torch.equal(left, right) for left, right in zip(without, attached, strict=True))
    assert trial.tensor_names() == [
        "MSELoss_output_0",
        "Net_a.weight",
        "Net_b.weight",
        "gradient/Net_a.bias",
        "gradient/Net_a.weight",
        "gradient/Net_b.bias",
        "gradient/Net_b.weight",
        "scalar/lr",
    ]
    assert trial.tensor("scalar/lr").steps() == list(range(6))
    assert trial.tensor("gradient/Net_a.weight").steps() == [0, 2, 4]


@pytest.mark.parametrize("compile_it", [wrap, in_place])
def test_compiled_model_when_loss_is_a_function_then_numbers_of_all_are_saved(make_hook, open_trial, compile_it):
    """Found losses, reductions and statistics leave the graph whole, and the result the same."""
    without = train(compile_it, make_loss=lambda: nn.functional.mse_loss)
    hook = make_hook(
        include_collections=["weights", "gradients"],
        detect_losses=True,
        reduction_config=smd.ReductionConfig(reductions=["mean"], norms=["l2"]),
        statistics=["nonfinite", "abs_max"],
    )
    attached = train(compile_it, hook, make_loss=lambda: nn.functional.mse_loss)
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == 1
    assert all(torch.equal(left, right) for left, right in zip(without, attached, strict=True))
    trial = open_trial(hook)
    assert trial.tensor("loss_output_0").steps() == list(range(6))
    for name in ("Net_a.weight", "gradient/Net_a.weight"):
        found = trial.tensor(name).reduction_values(5)
        assert {("mean", False), ("l2", False), ("nonfinite", False), ("max", True)} <= set(found)


@pytest.mark.parametrize("compile_it", [wrap, in_place])
@pytest.mark.parametrize("interval", [1, 2])
def test_compiled_model_when_activations_are_wanted_then_its_own_are_saved(
    make_hook, open_trial, caplog, compile_it, interval
):
    """What goes into compiled code and comes out is saved; what is inside is named in one warning."""
    without = train(compile_it)
    hook = make_hook(save_all=True, save_config=smd.SaveConfig(save_interval=interval))
    attached = train(compile_it, hook)
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == 1
    trial = open_trial(hook)
    assert all(torch.equal(left, right) for left, right in zip(without, attached, strict=True))
    assert caplog.text.count("inside compiled code are not saved: a, b;") == 1
    assert trial.tensor("Net_a.weight").steps() == list(range(0, 6, interval))
    for name, shape in {"Net_input_0": (4, 8), "Net_output_0": (4, 2)}.items():
        assert trial.tensor(name).steps() == list(range(0, 6, interval))
        assert trial.tensor(name).value(4).shape == shape
    assert np.array_equal(trial.tensor("Net_output_0").value(4), trial.tensor("MSELoss_input_0").value(4))


@pytest.mark.parametrize("compile_it", [wrap, in_place])
def test_compiled_blocks_when_model_is_not_compiled_then_theirs_are_saved_as_well(
    make_hook, open_trial, caplog, compile_it
):
    """Large models are often compiled block by block; names are those of the model without that."""

    def by_block(net):
        net.a, net.b = compile_it(Block(net.a)), compile_it(Block(net.b))
        return net

    without = train(by_block)
    hook = make_hook(save_all=True)
    attached = train(by_block, hook)
    assert not counters["graph_break"]
    trial = open_trial(hook)
    assert all(torch.equal(left, right) for left, right in zip(without, attached, strict=True))
    assert caplog.text.count("inside compiled code are not saved: a.layer, b.layer;") == 1
    assert {"Net_a.layer.weight", "gradient/Net_b.layer.bias"} <= set(trial.tensor_names())
    assert not [name for name in trial.tensor_names() if "_orig_mod" in name]
    assert np.array_equal(trial.tensor("b_output_0").value(5), trial.tensor("Net_output_0").value(5))
    assert trial.tensor("a_input_0").value(5).shape == (4, 8)


@pytest.mark.parametrize("compile_it", [wrap, in_place])
def test_loss_when_compiled_then_is_saved_under_its_own_name(make_hook, open_trial, compile_it):
    """A loss may be compiled like a model, and is one whatever it is called."""
    dynamo.reset()
    counters.clear()
    hook = make_hook(include_collections=["outputs"])
    net, seen = Net(), []
    distance = Distance()
    loss_function = compile_it(distance)
    hook.register_module(net)
    hook.register_loss(loss_function)
    hook.get_collection("outputs").add_module_tensors(distance, inputs=True, outputs=False)
    for _ in range(3):
        loss = loss_function(net(torch.ones(4, 8)), torch.zeros(4, 2))
        loss.backward()
        seen.append(loss.item())
    assert not counters["graph_break"]
    trial = open_trial(hook)
    assert list(trial.scalars(collection="losses")["Distance_output_0"].values()) == seen
    assert trial.tensor_names(collection="outputs") == ["Distance_input_0", "Distance_input_1"]


def test_close_when_model_is_compiled_in_place_then_is_as_before(make_hook):
    """What the hook put in front of the compiled call is gone."""
    net = in_place(Net())
    before = net._compiled_call_impl
    hook = make_hook()
    hook.register_module(net)
    assert net._compiled_call_impl is not before
    hook.close()
    assert net._compiled_call_impl is before


def test_model_when_compiled_after_it_was_registered_then_still_trains(make_hook):
    """The hook is not traced, so the graph is whole; steps are then no longer seen."""
    hook = make_hook(include_collections=["weights"])
    net = Net()
    hook.register_module(net)
    in_place(net)
    counters.clear()
    net(torch.randn(4, 8)).sum().backward()
    assert not counters["graph_break"]
    assert hook.failure is None


def test_step_when_compiled_with_its_backward_pass_then_the_hook_is_not_traced(make_hook):
    """Where losses are looked for, PyTorch compiles one or two frames more: the functions that look, unless it has."""

    def train(hook):
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(0)
        net = Net()
        if hook is not None:
            hook.register_module(net)

        @torch.compile(backend="eager")
        def step(x):
            net(x).sum().backward()

        for _ in range(3):
            step(torch.randn(4, 8))
        return counters["frames"]["total"], [parameter.grad.tolist() for parameter in net.parameters()]

    num_frames, gradients = train(None)
    hook = make_hook(save_all=True, detect_losses=True)
    num_with_hook, gradients_with_hook = train(hook)
    assert gradients_with_hook == gradients
    assert num_with_hook - num_frames in (1, 2)
    assert hook.failure is None


def test_model_when_it_runs_in_a_graph_of_the_gpu_then_is_left_alone(make_hook, open_trial, monkeypatch, caplog):
    """A copy of a tensor would become a part of the graph; the replay of the graph is no step."""
    torch_compile._warn_of_graph.cache_clear()
    hook = make_hook(save_all=True, detect_losses=True)
    net = Net()
    hook.register_module(net)
    net(torch.ones(4, 8)).sum().backward()
    with monkeypatch.context() as recording:
        recording.setattr(torch.cuda, "is_initialized", lambda: True)
        recording.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        for _ in range(3):
            net(torch.zeros(4, 8)).sum().backward()
    net(torch.ones(4, 8)).sum().backward()
    trial = open_trial(hook)
    assert trial.steps() == [0, 1]
    assert len(trial.tensor_names(regex="^loss_output")) == 1
    assert caplog.text.count("CUDA graph") == 1
