"""Trains in two processes that talk over gloo; run by `test_distributed`.

python distributed_job.py FOLDER INCLUDE_WORKERS

Each process leaves its parameters and the state of its random numbers in the folder; with ``without`` for the workers
there is no hook.
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

import sagemaker_debug_ext.pytorch as smd

NUM_WORKERS = 2


def work(rank: int, folder: str, include_workers: str) -> None:
    torch.set_num_threads(1)
    # Made before the group: who this process is, is asked at the first step.
    hook = None
    if include_workers != "without":
        hook = smd.Hook(
            f"{folder}/trial",
            save_config=smd.SaveConfig(save_interval=1),
            include_collections=["weights", "gradients"],
            include_workers=include_workers,
            strict=True,
        )
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=NUM_WORKERS)
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if hook is not None:
        hook.register_module(model)
        hook.set_mode(smd.modes.TRAIN)
    for _ in range(2):
        model(torch.full((1, 3), float(rank)) + torch.rand(1) * 0).sum().backward()
        optimizer.step()
    dist.barrier()
    if hook is not None:
        hook.close()
    torch.save([*model.state_dict().values(), torch.get_rng_state()], f"{folder}/{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(work, args=tuple(sys.argv[1:3]), nprocs=NUM_WORKERS, start_method="fork")
