"""Trains the two stages of a pipeline in two processes that talk over gloo; run by `test_pipeline`.

python pipeline_job.py FOLDER SCHEDULE
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
NUM_BATCHES = 4


class Encoder(nn.Module):
    """The first stage."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).relu()


class Decoder(nn.Module):
    """The second stage."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def train(rank: int, schedule: str, hook: smd.Hook | None) -> list[torch.Tensor]:
    from torch.distributed import pipelining

    torch.manual_seed(rank)
    model = (Encoder, Decoder)[rank]()
    loss = nn.MSELoss()
    if hook is not None:
        hook.register_module(model)
        if rank == NUM_WORKERS - 1:
            hook.register_loss(loss)
        hook.set_mode(smd.modes.TRAIN)
    stage = pipelining.PipelineStage(model, rank, NUM_WORKERS, torch.device("cpu"))
    run = getattr(pipelining, schedule)(stage, NUM_BATCHES, loss_fn=loss)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(2)
    for _ in range(3):
        inputs, targets = torch.randn(8, 4), torch.randn(8, 2)
        optimizer.zero_grad()
        if rank == 0:
            run.step(inputs)
        else:
            run.step(target=targets)
        optimizer.step()
        if hook is not None:
            hook.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


def work(rank: int, folder: str, schedule: str) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=NUM_WORKERS)
    without = train(rank, schedule, None)
    hook = smd.Hook(
        f"{folder}/trial",
        save_config=smd.SaveConfig(save_interval=2),
        include_collections=["weights", "gradients"],
        include_regex=["layer_output"],
        include_workers="all",
        explicit_steps=True,
        strict=True,
    )
    attached = train(rank, schedule, hook)
    hook.close()
    assert all(torch.equal(left, right) for left, right in zip(without, attached, strict=True))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(work, args=tuple(sys.argv[1:3]), nprocs=NUM_WORKERS, start_method="fork")
