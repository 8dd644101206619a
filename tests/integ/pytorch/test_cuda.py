"""Training on a GPU: what was there is saved, training is the same to the last bit, and nothing is waited for."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.pytorch.statistics.gpu import DeviceReductions, PartTables, find_kernels
from sagemaker_debug_ext.hooks.pytorch.tensors import reduce_tensor
from sagemaker_debug_ext.hooks.pytorch.torch_compile import _warn_of_graph
from sagemaker_debug_ext.profiler.profiler_constants import STEP_ON_GPU
from sagemaker_debug_ext.trials import create_trial
from support.timelines import ROOT, count_phases, run_script

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

REDUCTIONS = tuple(
    Reduction(name, absolute)
    for name in ("min", "max", "mean", "sum", "std", "variance", "l1", "l2")
    for absolute in (False, True)
)
REDUCED = smd.ReductionConfig(reductions=["min", "max", "mean", "std", "sum"], norms=["l1", "l2"])
CONFIGURATIONS = {
    "values": {},
    "reductions": {"reduction_config": REDUCED},
    "statistics": {"statistics": ["zero_fraction", "nonfinite", "abs_max", "histogram"]},
    "product": {"reduction_config": smd.ReductionConfig(reductions=["prod", "mean"])},
}


class Net(nn.Module):
    """Layers of several kinds, one of them large enough that copying it takes a while."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.wide = nn.Linear(8 * 64, 4096)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(4096, 5)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x))).flatten(1)
        return self.head(self.drop(torch.relu(self.wide(x))))


class Training:
    """Trains a `Net` on the GPU with an optimizer that changes parameters in place."""

    def __init__(self, hook=None):
        torch.manual_seed(0)
        self.model = Net().cuda()
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), fused=True)
        self.images = torch.randn(16, 1, 8, 8, device="cuda")
        self.labels = torch.randint(0, 5, (16,), device="cuda")
        self.hook = hook
        if hook is not None:
            hook.register_module(self.model)
            hook.register_loss(self.loss)

    def step(self):
        self.optimizer.zero_grad()
        self.loss(self.model(self.images), self.labels).backward()
        self.optimizer.step()

    def train(self, num_steps):
        for _ in range(num_steps):
            self.step()
        return self

    def result(self):
        buffer = io.BytesIO()
        state = [
            self.model.state_dict(),
            self.optimizer.state_dict(),
            torch.get_rng_state(),
            torch.cuda.get_rng_state(),
        ]
        torch.save(state, buffer)
        return buffer.getvalue()


@pytest.fixture(autouse=True)
def _deterministic():
    earlier = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    yield
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = earlier


class TestKernels:
    SIZES = (1, 2, 31, (1 << 14) - 1, 1 << 14, (1 << 14) + 1, 3 * (1 << 14), 1_000_003, 20_000_001)

    @pytest.mark.parametrize("at_once", [True, False])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    def test_kernels_when_sizes_differ_then_equal_double_precision(self, dtype, at_once):
        """Of one element, of part of a block, of whole blocks, and of many."""
        device = torch.device("cuda", 0)
        torch.manual_seed(0)
        tensors = [(torch.randn(size, device=device) * 2 + 1).to(dtype) for size in self.SIZES]
        tensors += [tensors[-2][3:], tensors[-2][:999_999].view(999, 1001)[:, ::2], tensors[-2][:600].view(20, 30).t()]
        batch = DeviceReductions(device, find_kernels(device), PartTables(), expected_rows=3)
        for number, tensor in enumerate(tensors):
            assert batch.can_summarise(tensor, REDUCTIONS)
            batch.summarise(str(number), tensor, REDUCTIONS, 1.0, at_once=at_once)
        batch.launch()
        batch.send()
        (found,) = batch.numbers(1)
        values = iter(found.values.tolist())
        for tensor in tensors:
            wanted = [number.item() for _, number in reduce_tensor(tensor.double(), REDUCTIONS)]
            assert [next(values) for _ in wanted] == pytest.approx(wanted, rel=2e-5, abs=1e-5, nan_ok=True)

    def test_kernels_when_values_are_not_finite_then_say_so(self):
        """NaN hides everything, an infinity the sums."""
        device = torch.device("cuda", 0)
        wide = torch.zeros(100_000, device=device)
        wide[50_000:] = 2
        spoilt, endless = wide.clone(), wide.clone()
        spoilt[77_777] = torch.nan
        endless[5] = -torch.inf
        statistics = tuple(Reduction(name) for name in ("zero_fraction", "nonfinite", "abs_max", "min", "max"))
        batch = DeviceReductions(device, find_kernels(device), PartTables())
        for name, tensor in (("wide", wide), ("spoilt", spoilt), ("endless", endless)):
            batch.summarise(name, tensor, statistics, 1.0)
        batch.send()
        (found,) = batch.numbers(1)
        rows = np.array(found.values).reshape(3, 5)
        np.testing.assert_allclose(rows[0], [0.5, 0, 2, 0, 2])
        np.testing.assert_allclose(rows[1], [0.5, 1, np.nan, np.nan, np.nan], atol=1e-4)
        np.testing.assert_allclose(rows[2], [0.5, 1, np.inf, -np.inf, 2], atol=1e-4)


def test_values_when_the_optimizer_changes_parameters_at_once_then_are_those_of_their_step(make_hook, open_trial):
    """Copies are made in stream order, so what the script does afterwards does not reach them."""
    hook = make_hook(save_all=True)
    training = Training(hook)
    wanted = []

    def note(module, inputs):
        wanted.append({name: value.detach().clone() for name, value in module.named_parameters()})

    training.model.register_forward_pre_hook(note)
    for name, parameter in training.model.named_parameters():
        parameter.register_hook(
            lambda gradient, name=name: wanted[-1].update({f"gradient/Net_{name}": gradient.clone()})
        )
    training.model.wide.register_forward_hook(lambda _, inputs, output: wanted[-1].update(wide_output_0=output.clone()))
    training.train(20)
    trial = open_trial(hook)
    assert trial.steps() == list(range(20))
    for step, values in enumerate(wanted):
        assert len(values) == 17
        for name, value in values.items():
            stored = trial.tensor(name if "_output_" in name or name.startswith("gradient") else f"Net_{name}")
            np.testing.assert_array_equal(stored.value(step), value.detach().cpu().numpy(), f"{name} at step {step}")


def test_reductions_when_tensors_are_on_a_gpu_then_are_those_of_the_values(make_hook, open_trial, tmp_path):
    """Both runs are the same training."""
    reduced, full = (
        open_trial(
            Training(
                smd.Hook(
                    str(tmp_path / name),
                    save_config=smd.SaveConfig(save_interval=1),
                    save_all=True,
                    **CONFIGURATIONS[name],
                )
            )
            .train(3)
            .hook
        )
        for name in ("reductions", "values")
    )
    names = full.tensor_names(collection="weights") + full.tensor_names(collection="gradients")
    assert len(names) >= 12
    for name, step in itertools.product(names, range(3)):
        value = full.tensor(name).value(step).astype(np.float64)
        found = reduced.tensor(name).reduction_values(step)
        assert found["mean", False] == pytest.approx(value.mean(), rel=1e-4, abs=1e-6)
        assert found["l2", False] == pytest.approx(np.linalg.norm(value.ravel()), rel=1e-4, abs=1e-6)
        assert found["max", False] == value.max()


@pytest.mark.parametrize("options", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_training_when_tensors_are_saved_then_computes_the_same_to_the_last_bit(make_hook, options):
    """Parameters, optimizer and the random numbers of both devices."""
    assert Training(make_hook(save_all=True, **options)).train(10).result() == Training().train(10).result()


@pytest.mark.parametrize("name", ["values", "reductions", "product"])
def test_training_when_steps_are_saved_then_never_waits_for_the_gpu(make_hook, open_trial, name):
    """PyTorch raises where a call would wait."""
    hook = make_hook(save_all=True, **CONFIGURATIONS[name])
    training = Training(hook).train(2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mode is a prototype
            torch.cuda.set_sync_debug_mode("error")
        training.train(3)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert open_trial(hook).steps() == list(range(5))


def test_training_when_it_has_a_stream_of_its_own_then_values_are_right(make_hook, open_trial):
    """Copies follow the stream on which the tensors are made."""
    hook = make_hook(save_all=True)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        training = Training(hook)
        wanted = []
        for _ in range(10):
            wanted.append(training.model.wide.weight.detach().clone())
            training.step()
    stream.synchronize()
    trial = open_trial(hook)
    for step, value in enumerate(wanted):
        np.testing.assert_array_equal(trial.tensor("Net_wide.weight").value(step), value.cpu().numpy())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_mixed_precision_when_gradients_are_scaled_then_all_is_saved(make_hook, open_trial, dtype):
    """What autocast computes in short floats has its own dtype, and losses are numbers."""
    hook = make_hook(save_all=True)
    training = Training(hook)
    scaler = torch.amp.GradScaler("cuda", enabled=dtype is torch.float16)
    losses = []
    for _ in range(5):
        training.optimizer.zero_grad()
        with torch.autocast("cuda", dtype):
            loss = training.loss(training.model(training.images), training.labels)
        losses.append(loss.detach().clone())
        scaler.scale(loss).backward()
        scaler.step(training.optimizer)
        scaler.update()
    trial = open_trial(hook)
    (name,) = trial.tensor_names(collection="losses")
    assert [float(trial.tensor(name).value(step)) for step in range(5)] == torch.stack(losses).tolist()
    assert trial.tensor("wide_output_0").value(0).dtype.itemsize == 2


@pytest.mark.filterwarnings("default")
class TestGraphs:
    """CUDA graphs record what runs on the GPU, and replay it without Python."""

    @pytest.fixture(autouse=True)
    def _tell_again(self):
        _warn_of_graph.cache_clear()

    @staticmethod
    def train_whole(hook):
        """Record a whole step, as PyTorch's documentation does, and replay it."""
        training = Training(hook)
        training.optimizer = torch.optim.SGD(training.model.parameters(), lr=0.1)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            training.train(3)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        training.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = training.loss(training.model(training.images), training.labels)
            loss.backward()
            training.optimizer.step()
        for _ in range(5):
            graph.replay()
        return training.result()

    @pytest.mark.parametrize("name", CONFIGURATIONS)
    def test_step_when_it_is_recorded_then_is_left_alone(self, make_hook, open_trial, caplog, name):
        """Steps before it are saved."""
        hook = make_hook(save_all=True, **CONFIGURATIONS[name])
        assert self.train_whole(hook) == self.train_whole(None)
        assert open_trial(hook).steps() == [0, 1, 2]
        assert "CUDA graph" in caplog.text

    def test_parts_when_they_are_recorded_then_steps_go_on(self, make_hook, open_trial):
        """`make_graphed_callables` replaces the forward method, so the model is called as before."""

        def train(hook):
            training = Training()
            training.model.drop.p = 0.0
            training.model.norm = nn.Identity()
            training.model = torch.cuda.make_graphed_callables(training.model, (training.images,))
            if hook is not None:
                hook.register_module(training.model)
                hook.register_loss(training.loss)
            return training.train(5).result()

        hook = make_hook(include_collections=["weights", "gradients", "losses"])
        assert train(hook) == train(None)
        assert open_trial(hook).steps() == list(range(5))

    def test_compiled_model_when_it_reduces_overhead_then_is_saved(self, make_hook, open_trial):
        """`torch.compile` records graphs of its own."""

        def train(hook):
            torch._dynamo.reset()
            training = Training()
            training.model = torch.compile(training.model, mode="reduce-overhead")
            if hook is not None:
                hook.register_module(training.model)
                hook.register_loss(training.loss)
            return training.train(6).result()

        hook = make_hook(include_collections=["weights", "gradients", "losses"])
        assert train(hook) == train(None)
        trial = open_trial(hook)
        assert trial.steps() == list(range(6))
        assert trial.tensor_names(collection="gradients")


def test_memory_when_hook_is_closed_then_none_of_the_gpu_is_kept(make_hook):
    """Beyond what training itself holds."""
    training = Training().train(2)
    hook = make_hook(save_all=True, reduction_config=REDUCED)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    hook.register_module(training.model)
    training.train(3)
    hook.close()
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() <= before


SCRIPT = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
features = torch.randn(256, 8)
labels = (features[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)).to("cuda")
if "bad" in sys.argv:
    model.append(nn.Softmax(-1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    for inputs, targets in DataLoader(TensorDataset(features, labels), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
        optimizer.step()
torch.cuda.synchronize()
"""


@pytest.mark.parametrize("arguments", [[], ["bad"]], ids=["sound", "faulty"])
def test_script_when_it_knows_nothing_of_hooks_then_is_captured_and_judged(tmp_path, recommended_issues, arguments):
    """As on the CPU."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "sagemaker_debug_ext", "run", "--output", str(tmp_path / "trial")]
    command += ["--every", "1", str(script), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    trial = create_trial(str(tmp_path / "trial"))
    assert trial.steps() == list(range(48))
    rules = {issue.rule for issue in recommended_issues(trial)}
    assert ("LossInputMismatch" in rules) is bool(arguments), rules
    assert rules == set() or arguments


def test_timeline_when_the_gpu_works_then_has_the_parts_of_its_steps(tmp_path):
    """As the GPU ran them."""
    run_script(SCRIPT, tmp_path)
    phases = count_phases(tmp_path)
    assert phases["Step:ModeKeys.TRAIN"] == 48
    assert phases[f"{STEP_ON_GPU}0"] >= 3 * 47, phases


def test_sampler_when_there_is_a_gpu_then_tells_all_of_its_sensors():
    """What the driver of a data-centre GPU has."""
    pytest.importorskip("pynvml")
    from sagemaker_debug_ext.profiler.sampler.gpus import find_gpus

    gpu = next(iter(find_gpus()))
    gpu()
    values = {value.dimension: value.value for value in gpu()}
    assert values["GPUMemoryUsedBytes"] > 0
    assert values["GPUTemperatureCelsius"] > 0
    assert values["GPUPowerWatts"] > 0
