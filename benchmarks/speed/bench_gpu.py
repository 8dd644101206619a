"""Train a large decoder on a GPU with and without the hook: time of a step, memory, graph breaks, waits for the GPU.

    python benchmarks/speed/bench_gpu.py                    # 1.1 billion parameters, bfloat16, compiled; needs a GPU
    python benchmarks/speed/bench_gpu.py --cpu              # the same program with a tiny model, as a smoke test

Blocks of steps with and without the hook alternate within one process, in one compiled model. Figures are medians of
the blocks. The hook saves statistics of all weights and gradients every step and every 10 steps, everything in full
every 100 steps, or nothing. The profiler counts the calls that make the CPU wait for the GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

import sagemaker_debug_ext.pytorch as smd

WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy")
"""Names of calls that wait. `cudaMemcpyAsync` does not."""


class Size(NamedTuple):
    """The size of the model, of a batch and of a measurement."""

    width: int
    layers: int
    heads: int
    words: int
    length: int
    batch: int
    blocks: int
    most_steps: int
    dtype: torch.dtype


LARGE = Size(2048, 20, 16, 32_000, 1024, 8, 5, 100, torch.bfloat16)
TINY = Size(16, 1, 2, 50, 8, 2, 1, 2, torch.float32)


class Case(NamedTuple):
    """A configuration of the hook, the number of steps of a block, and the allowed relative overhead."""

    name: str
    interval: int
    has_values: bool
    steps: int
    limit: float


CASES = [
    Case("statistics every step", 1, False, 10, 0.02),
    Case("statistics every 10 steps", 10, False, 20, 0.003),
    Case("full every 100 steps", 100, True, 100, 0.01),
    Case("nothing saved", 10**9, False, 20, 0.003),
]


class StepBlock(nn.Module):
    """Attention and a feed-forward net, each after a normalisation."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.norm1, self.norm2 = nn.LayerNorm(size.width), nn.LayerNorm(size.width)
        self.attend = nn.Linear(size.width, 3 * size.width)
        self.join = nn.Linear(size.width, size.width)
        self.up, self.down = nn.Linear(size.width, 4 * size.width), nn.Linear(4 * size.width, size.width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.attend(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.join(found.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    """A decoder-only language model; returns its loss."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.words = nn.Embedding(size.words, size.width)
        self.places = nn.Embedding(size.length, size.width)
        self.blocks = nn.ModuleList(StepBlock(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, size.words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        scores = self.head(self.norm(x))[:, :-1]
        return nn.functional.cross_entropy(scores.flatten(0, 1).float(), tokens[:, 1:].flatten())


class Job:
    """A compiled model in training."""

    def __init__(self, size: Size, device: str, compiler: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = Decoder(size).to(device, size.dtype)
        self.num_parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.tokens = torch.randint(0, size.words, (size.batch, size.length), device=device)
        self.compiled = torch.compile(self.model, fullgraph=True, backend=compiler)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.optimizer.zero_grad(set_to_none=True)
            self.compiled(self.tokens).backward()
            self.optimizer.step()

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def time(self, steps: int) -> float:
        """Return the seconds of a step."""
        self.wait()
        began = time.perf_counter()
        self.run(steps)
        self.wait()
        return (time.perf_counter() - began) / steps

    def peak_bytes(self) -> int:
        return torch.cuda.max_memory_allocated() if self.device == "cuda" else 0

    def reset_peak(self) -> None:
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()


@contextlib.contextmanager
def attached(job: Job, case: Case) -> Iterator[None]:
    """Attach the hook to the model."""
    folder = tempfile.mkdtemp(prefix="bench-gpu-")
    reductions = None
    if not case.has_values:
        reductions = smd.ReductionConfig(reductions=["min", "max", "mean", "std"], norms=["l1", "l2"])
    hook = smd.Hook(
        str(Path(folder) / "trial"),
        save_config=smd.SaveConfig(save_interval=case.interval),
        include_collections=["weights", "biases", "gradients"],
        reduction_config=reductions,
        memory_limit_bytes=16 << 30,
        strict=True,
    )
    hook.register_module(job.compiled)
    try:
        yield
    finally:
        hook.close()
        shutil.rmtree(folder, ignore_errors=True)


def count_breaks() -> int:
    return sum(torch._dynamo.utils.counters["graph_break"].values())  # noqa: SLF001 - there is no public way


def count_waits(job: Job, steps: int) -> int:
    """Return how often the CPU waits for the GPU during some steps."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if job.device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        job.run(steps)
    return sum(event.count for event in profiler.key_averages() if event.key in WAITS)


def measure(job: Job, case: Case, blocks: int) -> dict[str, Any]:
    """Run blocks of steps without and with the hook, in turn."""
    ratios, step = [], []
    job.run(2)
    job.wait()
    job.reset_peak()
    job.run(2)
    job.wait()
    peak_without = job.peak_bytes()
    peak_with = waits = 0
    for number in range(blocks):
        before = job.time(case.steps)
        with attached(job, case):
            job.run(1)  # step 0 is always due, so it runs before the measurement
            if number == 0:
                job.run(2)
            job.reset_peak()
            during = job.time(case.steps)
            peak_with = max(peak_with, job.peak_bytes())
            if number == blocks - 1 and case.interval > case.steps:
                waits = count_waits(job, 3)
        after = job.time(case.steps)
        ratios.append(during / ((before + after) / 2) - 1)
        step.append(before)
    if case.interval > case.steps:
        waits -= count_waits(job, 3)
    return {
        "case": case.name,
        "step_ms": statistics.median(step) * 1e3,
        "added": statistics.median(ratios),
        "allowed": case.limit,
        "extra_memory": peak_with / peak_without - 1 if peak_without else 0.0,
        "waits_on_unsaved_steps": waits,
        "graph_breaks": count_breaks(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", action="store_true", help="use a tiny model on the CPU; its figures mean nothing")
    parser.add_argument("--blocks", type=int, metavar="N", help="blocks of steps with the hook, for each case")
    parser.add_argument("--out", metavar="FILE", help="write the figures to this JSON file as well")
    options = parser.parse_args()
    if not (options.cpu or torch.cuda.is_available()):
        raise SystemExit("no GPU found; use --cpu for a smoke test")
    size = TINY if options.cpu else LARGE
    blocks = options.blocks or size.blocks
    job = Job(size, "cpu" if options.cpu else "cuda", "aot_eager" if options.cpu else "inductor")
    print(f"{job.num_parameters / 1e6:,.1f} million parameters, torch {torch.__version__}")
    job.run(3)
    found = []
    for case in CASES:
        found.append(measure(job, case._replace(steps=min(case.steps, size.most_steps)), blocks))
        print(json.dumps(found[-1]), flush=True)
    if options.out:
        Path(options.out).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
