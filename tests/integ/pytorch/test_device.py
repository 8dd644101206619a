"""Reductions worked out on a device are those of the CPU, and come over in one transfer.

The kernels run in Triton's interpreter, so no device is needed; without Triton their tests are passed over.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.pytorch.statistics.gpu import DeviceReductions, PartTables, find_kernels
from sagemaker_debug_ext.hooks.pytorch.tensors import reduce_tensor

REDUCTIONS = tuple(
    Reduction(name, absolute)
    for name in ("min", "max", "mean", "sum", "std", "variance", "l1", "l2")
    for absolute in (False, True)
)


@pytest.fixture
def hook_class(monkeypatch):
    """The hook, which takes the CPU for a device."""
    import sagemaker_debug_ext.pytorch as smd

    monkeypatch.setattr("sagemaker_debug_ext.hooks.pytorch.capture.plain_tensor", lambda _: None)
    monkeypatch.setattr("sagemaker_debug_ext.hooks.pytorch.statistics.reducer.Reducer._is_on_device", lambda *_: True)
    return smd.Hook


def train(hook, steps=2):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    hook.register_module(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.full((4, 6), 0.5 + step)).square().mean().backward()
        optimizer.step()
    hook.close()


def test_hook_when_tensors_are_on_a_device_then_reductions_are_those_of_the_cpu(
    hook_class, make_hook, open_trial, tmp_path, monkeypatch
):
    """Names and numbers are the same wherever the tensors lie, and nothing is waited for before the step has ended."""
    import sagemaker_debug_ext.pytorch as smd
    from sagemaker_debug_ext.trials import create_trial

    config = smd.ReductionConfig(reductions=["min", "mean", "std", "prod"], norms=["l2"])
    sent = []
    send = DeviceReductions.send
    monkeypatch.setattr(DeviceReductions, "send", lambda batch: (sent.append(batch), send(batch)))
    options = {
        "save_config": smd.SaveConfig(save_interval=1),
        "include_collections": ["weights", "gradients"],
        "reduction_config": config,
    }
    train(hook_class(str(tmp_path / "device"), **options))
    assert len(sent) == 2
    monkeypatch.undo()
    train(smd.Hook(str(tmp_path / "cpu"), **options))
    found, wanted = (create_trial(str(tmp_path / where)) for where in ("device", "cpu"))
    assert found.tensor_names() == wanted.tensor_names() != []
    for name in wanted.tensor_names():
        for step in wanted.tensor(name).steps():
            left, right = (trial.tensor(name).reduction_values(step) for trial in (found, wanted))
            assert left.keys() == right.keys()
            for reduction, value in right.items():
                assert left[reduction] == pytest.approx(value, rel=1e-5, abs=1e-7, nan_ok=True)


def test_batch_when_kernels_are_missing_then_numbers_come_over_together():
    """What the device has computed one by one is stacked and keeps its names and times."""
    batch = DeviceReductions(torch.device("cpu"), None, PartTables())
    batch.add("x", torch.tensor(1.5), 1.0)
    batch.add("y", torch.tensor(2.5), 2.0)
    batch.send()
    (numbers,) = batch.numbers(1)
    assert (numbers.names, numbers.values.tolist(), list(numbers.wall_times)) == (("x", "y"), [1.5, 2.5], [1.0, 2.0])
    assert numbers.values.dtype == np.float32


def test_tables_when_tensors_stay_where_they_are_then_are_made_once():
    """Parameters do; a table of others would be of no use."""
    made = []
    kernels = types.SimpleNamespace(list_parts=lambda tensors, rows: made.append((tensors, rows)) or torch.ones(1))
    tables = PartTables()
    first, second = torch.ones(3), torch.ones(4)
    for waiting in ([(first, 0), (second, 1)],) * 2 + ([(first, 0), (torch.ones(4), 1)], [(first, 0), (second, 2)]):
        tables.find(waiting, kernels)
    assert [rows for _, rows in made] == [[0, 1], [0, 1], [0, 2]]


@pytest.mark.parametrize("at_once", [True, False])
def test_kernels_when_interpreted_then_equal_pytorch(at_once):
    """One pass over each tensor is enough for all reductions, whatever its size, layout and type."""
    pytest.importorskip("triton")
    # the variable has to be set before Triton is imported, which PyTorch may have done here
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    code = f"import test_device; test_device.check_kernels(at_once={at_once})"
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=Path(__file__).parent, check=True)


def test_gpu_benchmark_when_run_without_gpu_then_measures_every_case():
    """The program that waits for a GPU works, and the hook breaks no compiled graph in it."""
    program = Path(__file__).parents[3] / "benchmarks" / "speed" / "bench_gpu.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(program), "--cpu"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(found) == 4
    assert {case["graph_breaks"] for case in found} == {0}


def check_kernels(at_once):
    """Compare the kernels with PyTorch; runs in a process of its own."""
    torch.manual_seed(0)
    device = torch.device("cpu")
    tensors = {
        "long": torch.randn(40_000) + 3,
        "turned": torch.randn(7, 5).t(),
        "one": torch.randn(1),
        "half": torch.randn(100).bfloat16(),
        "whole part": torch.randn(1 << 14),
        "nan": torch.tensor([1.0, torch.nan, 3.0]),
        "infinite": torch.tensor([1.0, torch.inf]),
    }
    batch = DeviceReductions(device, find_kernels(device), PartTables(), expected_rows=3)
    for name, tensor in tensors.items():
        assert batch.can_summarise(tensor, REDUCTIONS)
        batch.summarise(name, tensor, REDUCTIONS, 1.0, at_once=at_once)
    batch.launch()
    statistics = tuple(Reduction(name) for name in ("zero_fraction", "nonfinite", "abs_max"))
    batch.summarise("zeros", torch.tensor([0.0, -4.0, torch.inf, 0.0]), statistics, 2.0, ("z", "n", "a"))
    batch.send()
    reductions, others = batch.numbers(1)
    assert (others.names, others.values.tolist()) == (("z", "n", "a"), [0.5, 1, np.inf])
    values = iter(reductions.values.tolist())
    for name, tensor in tensors.items():
        wanted = [number.item() for _, number in reduce_tensor(tensor.double(), REDUCTIONS)]
        found = [next(values) for _ in wanted]
        assert found == pytest.approx(wanted, rel=1e-5, abs=1e-5, nan_ok=True), name
