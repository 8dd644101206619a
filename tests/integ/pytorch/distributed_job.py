"""Trains in two processes that talk over gloo; run by `test_distributed`.

python distributed_job.py FOLDER INCLUDE_WORKERS
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
    hook.register_module(model)
    hook.set_mode(smd.modes.TRAIN)
    for _ in range(2):
        model(torch.full((1, 3), float(rank))).sum().backward()
    dist.barrier()
    hook.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(work, args=tuple(sys.argv[1:3]), nprocs=NUM_WORKERS, start_method="fork")
