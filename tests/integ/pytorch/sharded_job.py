"""Trains a sharded model in two processes that talk over gloo; run by `test_sharded`.

python sharded_job.py FOLDER KIND [INCLUDE_WORKERS PATTERN]

With a pattern, tensors whose names match are gathered, and the file `wholes.pt` says what they are.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import sagemaker_debug_ext.pytorch as smd

NUM_WORKERS = 2


def build(kind: str) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    if kind == "fully_shard":
        from torch.distributed.fsdp import fully_shard

        fully_shard(model[2])
        return fully_shard(model)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (NUM_WORKERS,))
    return parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})


class Exchanges(TorchDispatchMode):
    """Counts what processes send each other, by operation."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace in ("c10d", "_c10d_functional"):
            self.counts[func.name()] += 1
        return func(*args, **(kwargs or {}))


def train(model: nn.Module, hook: smd.Hook | None, *gathered: str) -> tuple[list[torch.Tensor], list[Counter[str]]]:
    """Return what the process has of the parameters at the end, and what it has exchanged in each step."""
    if hook is not None:
        hook.register_module(model)
        if gathered:
            hook.gather(*gathered)
        hook.set_mode(smd.modes.TRAIN)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1)
    exchanged = []
    for _ in range(3):
        with Exchanges() as exchanges:
            optimizer.zero_grad()
            model(torch.randn(3, 4)).square().mean().backward()
            optimizer.step()
        exchanged.append(exchanges.counts)
    shards = [
        parameter.to_local().detach().clone() if hasattr(parameter, "to_local") else parameter.detach().clone()
        for parameter in model.parameters()
    ]
    return shards, exchanged


def train_and_note_wholes(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return every parameter and gradient of every step, as PyTorch itself puts them together."""
    wholes = {}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1)
    for step in range(3):
        optimizer.zero_grad()
        for name, parameter in model.named_parameters():
            wholes[f"{step} Sequential_{name}"] = whole(parameter)
        model(torch.randn(3, 4)).square().mean().backward()
        for name, parameter in model.named_parameters():
            wholes[f"{step} gradient/Sequential_{name}"] = whole(parameter.grad)
        optimizer.step()
    return wholes


def whole(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).detach().clone()


def count_calls() -> list[str]:
    """Have the calls counted that send shards to the first worker."""
    calls = []
    original = dist.gather_object

    def counting(*args, **kwargs):
        calls.append("gather_object")
        return original(*args, **kwargs)

    dist.gather_object = counting
    return calls


def work(rank: int, folder: str, kind: str, include_workers: str = "all", *gathered: str) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=NUM_WORKERS)
    without, exchanged_without = train(build(kind), None)
    hook = smd.Hook(
        f"{folder}/trial",
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=["weights", "gradients"],
        include_workers=include_workers,
        strict=True,
    )
    calls = count_calls()
    attached, exchanged = train(build(kind), hook, *gathered)
    hook.close()
    assert len(calls) == (4 if gathered else 0)  # weights and gradients, of the two steps that are saved
    assert exchanged_without[1]
    if not gathered:
        assert exchanged == exchanged_without
    else:
        assert [more > less for more, less in zip(exchanged, exchanged_without, strict=True)] == [True, False, True]
        assert exchanged[1] == exchanged_without[1]
        wholes = train_and_note_wholes(build(kind))
        if rank == 0:
            torch.save(wholes, f"{folder}/wholes.pt")
    assert all(torch.equal(left, right) for left, right in zip(without, attached, strict=True))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(work, args=tuple(sys.argv[1:]), nprocs=NUM_WORKERS, start_method="fork")
