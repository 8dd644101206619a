"""Trains a sharded model in two processes that talk over gloo; run by `test_sharded`.

python sharded_job.py FOLDER KIND
"""

from __future__ import annotations

import sys
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

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


def train(model: nn.Module, rank: int, hook: smd.Hook | None) -> list[torch.Tensor]:
    if hook is not None:
        hook.register_module(model)
        hook.set_mode(smd.modes.TRAIN)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
    return [
        parameter.to_local().detach().clone() if hasattr(parameter, "to_local") else parameter.detach().clone()
        for parameter in model.parameters()
    ]


def work(rank: int, folder: str, kind: str) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=NUM_WORKERS)
    without = train(build(kind), rank, None)
    hook = smd.Hook(
        f"{folder}/trial",
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=["weights", "gradients"],
        include_workers="all",
        strict=True,
    )
    attached = train(build(kind), rank, hook)
    hook.close()
    assert all(torch.equal(left, right) for left, right in zip(without, attached, strict=True))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(work, args=tuple(sys.argv[1:3]), nprocs=NUM_WORKERS, start_method="fork")
