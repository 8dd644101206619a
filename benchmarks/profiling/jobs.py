"""Small training jobs for `bottlenecks.py`, each a few seconds long: ``python jobs.py NAME``.

The loops, data loaders, replicas and files are real. What a GPU would compute is a pause, in which a simulated GPU is
busy, so that the jobs mean the same on any machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from device import SimulatedGpu
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

GPU = SimulatedGpu()


class Compute(torch.autograd.Function):
    """Keeps the GPU busy for some time in the forward pass, and for longer in the backward pass."""

    @staticmethod
    def forward(ctx, inputs, seconds, share):
        ctx.seconds, ctx.share = seconds, share
        _compute(0.4 * seconds, share)
        return inputs.clone()

    @staticmethod
    def backward(ctx, gradient):
        _compute(0.6 * ctx.seconds, ctx.share)
        return gradient, None, None


def _compute(seconds, share):
    with GPU.busy():
        time.sleep(seconds * share)
    if share < 1:
        time.sleep(seconds * (1 - share))


class Model(nn.Module):
    def __init__(self, seconds=0.02, share=1.0):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        self.seconds, self.share = seconds, share

    def forward(self, inputs):
        return Compute.apply(self.layers(inputs), self.seconds, self.share)


class Rows(Dataset):
    """Rows that take some time to load, by waiting, computing or reading a file."""

    def __init__(self, count, seconds=0.0, load=time.sleep):
        self.count, self.seconds, self.load = count, seconds, load

    def __len__(self):
        return self.count

    def __getitem__(self, place):
        if self.seconds:
            self.load(self.seconds)
        return torch.full((8,), float(place % 7)), torch.tensor([float(place % 3)])


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return (Rows(1)[place] for place in range(self.count))


def decode(seconds):
    """Keep a core busy."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def read_slowly(seconds):
    """Read a file that the disk gives in small parts."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(1 << 16))
        os.fsync(file.fileno())
        file.seek(0)
        for _ in range(4):
            file.read(1 << 14)
            time.sleep(seconds / 4)


def train(
    steps=200,
    *,
    compute=0.02,
    share=1.0,
    load=0.0,
    loading=time.sleep,
    workers=0,
    batch=2,
    epochs=1,
    between=None,
    after_step=None,
    accumulate=1,
    model=None,
    data=None,
):
    """Run a training loop; `between` is called after each epoch, `after_step` after each step."""
    model = model or Model(compute, share)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    data = data if data is not None else Rows(batch * steps // epochs, load / batch, loading)
    loader = DataLoader(data, batch_size=batch, num_workers=workers)
    number = 0
    for epoch in range(epochs):
        for inputs, targets in loader:
            nn.functional.mse_loss(model(inputs), targets).backward()
            number += 1
            if number % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
            if after_step is not None:
                after_step(number)
        if between is not None:
            between(model, epoch)


def evaluate(model, seconds=0.3):
    with torch.no_grad():
        for inputs, _ in DataLoader(Rows(20), batch_size=2):
            model.layers(inputs)
            _compute(seconds / 10, 1.0)


def save(model, _epoch):
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.state_dict(), os.path.join(folder, "model.pt"))


def evaluate_on_host(_model, epoch):
    """Evaluate for seconds without the GPU."""
    if epoch == 0:
        for _ in DataLoader(Rows(120), batch_size=2):
            time.sleep(0.1)


def hang(_model, epoch):
    if epoch == 0:
        time.sleep(6)


def replicas(slow=None):
    """Train two replicas, of which the second may be slow in its own way."""
    if "RANK" not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "WORLD_SIZE": "2", "STORE": os.path.join(folder, "store")}
            command = [sys.executable, *sys.argv]
            ranks = [subprocess.Popen(command, env={**environment, "RANK": str(rank)}) for rank in range(2)]
            codes = [rank.wait() for rank in ranks]
            if any(codes):
                raise RuntimeError("a replica failed")
        return
    rank = int(os.environ["RANK"])
    store = f"file://{os.environ['STORE']}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    torch.set_num_threads(1)
    options = slow if slow and rank == 1 else {}
    model = nn.parallel.DistributedDataParallel(Model(options.get("compute", 0.03)))
    train(100, load=options.get("load", 0.001), model=model)
    torch.distributed.destroy_process_group()


class Memory:
    """Tells the timeline how much memory is allocated, as the clock of a CUDA device does."""

    def __init__(self, allocated):
        self.allocated = allocated
        self.number = 0

    def mark(self):
        return None

    def add(self, spans, arguments):
        pass

    def facts(self, _now):
        self.number += 1
        return {"allocated_bytes": int(self.allocated(self.number)), "device": 0, "device_bytes": int(80e9)}


def with_memory(allocated):
    """Train with a device whose memory is a function of the step."""
    from sagemaker_debug_ext.profiler.timeline import step_timer

    memory = Memory(allocated)
    step_timer.StepTimer.device = property(lambda _: memory, lambda *_: None)
    train(260, compute=0.015)


def two_models():
    """Update two models in turn, as adversarial training does."""
    models = [Model(0.01), Model(0.01)]
    optimizers = [torch.optim.SGD(model.parameters(), lr=1e-4) for model in models]
    for inputs, _ in DataLoader(Rows(400), batch_size=2):
        for model, optimizer in zip(models, optimizers, strict=True):
            model(inputs).mean().backward()
            optimizer.step()


def own_loop():
    """Train without a data loader."""
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for _ in range(200):
        optimizer.zero_grad()
        model(torch.ones(2, 8)).mean().backward()
        optimizer.step()


def boost():
    import numpy as np
    import xgboost

    rows = xgboost.DMatrix(np.random.default_rng(0).normal(size=(2000, 10)), np.zeros(2000))
    with GPU.busy():
        xgboost.train({"nthread": 1}, rows, num_boost_round=60, evals=[(rows, "train")], verbose_eval=False)


def slow_start(number):
    if number == 1:
        time.sleep(2)  # compilation


def overheat():
    GPU.throttling = 0x40
    train(200)


def uneven(number):
    time.sleep(0.004 * (number % 5))


SOUND = {
    "plain": train,
    "two loader workers": lambda: train(workers=2, load=0.02),
    "small waits": lambda: train(load=0.002),
    "loader workers just fast enough": lambda: train(150, workers=2, load=0.03, compute=0.03),
    "large steps": lambda: train(40, compute=0.1),
    "short steps": lambda: train(500, compute=0.006),
    "three epochs with evaluation": lambda: train(epochs=3, between=lambda model, _: evaluate(model)),
    "checkpoints": lambda: train(epochs=4, between=save),
    "evaluation and checkpoints": lambda: train(epochs=2, between=lambda model, at: (evaluate(model), save(model, at))),
    "gradient accumulation": lambda: train(accumulate=4),
    "stream of data": lambda: train(data=Stream(400)),
    "two models": two_models,
    "own loop": own_loop,
    "boosted trees": boost,
    "slow first step": lambda: train(150, after_step=slow_start),
    "uneven steps": lambda: train(150, after_step=uneven),
    "two replicas": replicas,
    "replicas that differ a little": lambda: replicas({"compute": 0.032, "load": 0.001}),
    "steady memory": lambda: with_memory(lambda number: 30e9 + 1e8 * (number * 37 % 11)),
    "memory that fills once": lambda: with_memory(lambda number: min(10e9 + 1e9 * number, 60e9)),
}

BOTTLENECKS = {
    "slow loader": lambda: train(120, load=0.04),
    "too few loader workers": lambda: train(120, load=0.05, workers=1, compute=0.01),
    "slow disk": lambda: train(100, load=0.05, loading=read_slowly),
    "one slow rank": lambda: replicas({"compute": 0.06}),
    "loader of one rank slow": lambda: replicas({"load": 0.03}),
    "evaluation on the host": lambda: train(100, epochs=2, between=evaluate_on_host),
    "idle while nothing runs": lambda: train(100, epochs=2, between=hang),
    "leak of GPU memory": lambda: with_memory(lambda number: 20e9 + 5e7 * number),
    "tiny batches": lambda: train(300, compute=0.02, share=0.2, batch=1),
    "decoding on one core": lambda: train(60, load=0.08, loading=decode, compute=0.005),
    "overheated GPU": overheat,
    "limit of processor time": lambda: train(100, after_step=lambda _: decode(0.04)),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    GPU.throttling = 0
    ({**SOUND, **BOTTLENECKS})[sys.argv[1]]()
    Path(os.environ["SIMULATED_GPU"]).touch()
