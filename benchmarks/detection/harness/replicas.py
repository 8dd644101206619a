"""Jobs of two processes that train one model together, by gloo on this machine.

`replicas` starts two processes ``python replicas.py RANK FOLDER SETTINGS``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import distributed, nn

sys.path.insert(0, str(Path(__file__).parents[1]))

import sagemaker_debug_ext.pytorch as smd
from harness.jobs import BATCH, TASKS, limit_threads, recording_hook

STEPS = 40


def train(
    rank: int,
    folder: str,
    *,
    seed: int,
    task: str = "mlp",
    sync: str = "ddp",
    skip: int | None = None,
    same_start: bool = True,
    same_data: bool = False,
    rates: tuple[float, float] = (5e-3, 5e-3),
) -> None:
    """Train one of two replicas, and save everything at every step.

    Args:
        rank: Number of this process, 0 or 1.
        folder: Folder of the trial.
        seed: Seed of data and weights.
        task: Name of the task.
        sync: ``ddp`` (`DistributedDataParallel`), ``by hand`` (an all-reduce after backward), ``body`` (the same
            without the last layer), or ``none``.
        skip: A step at which gradients are not averaged, if `sync` is not ``ddp``.
        same_start: Whether both start with the same weights.
        same_data: Whether both get the same batches.
        rates: Learning rates of the two.
    """
    data, make_model, make_loss = TASKS[task]
    x, y = map(torch.as_tensor, data(np.random.default_rng(seed)))
    torch.manual_seed(seed + (0 if same_start else rank))
    model, loss = make_model(), make_loss()
    hook = recording_hook(folder, model, loss, include_workers="all")
    trained = nn.parallel.DistributedDataParallel(model) if sync == "ddp" else model
    averaged = [
        p for name, p in model.named_parameters() if sync == "by hand" or (sync == "body" and "head" not in name)
    ]
    optimizer = torch.optim.Adam(model.parameters(), rates[rank])
    rows_rng = torch.Generator().manual_seed(seed + (0 if same_data else 1 + rank))
    hook.set_mode(smd.modes.TRAIN)
    for step in range(STEPS):
        rows = torch.randint(0, len(x), (BATCH,), generator=rows_rng)
        optimizer.zero_grad()
        loss(trained(x[rows]), y[rows]).backward()
        if step != skip:
            for parameter in averaged:
                distributed.all_reduce(parameter.grad)
                parameter.grad /= 2
        optimizer.step()
    hook.close()


def replicas(**settings: object) -> Callable[[str], None]:
    """Return a function that writes the trial of a job of two processes. The arguments are those of `train`."""

    def make_trial(folder: str) -> None:
        command = [sys.executable, __file__]
        processes = [subprocess.Popen([*command, str(rank), folder, json.dumps(settings)]) for rank in range(2)]
        codes = [process.wait() for process in processes]
        if any(codes):
            raise RuntimeError(f"a replica failed: exit codes {codes}, settings {settings}")

    return make_trial


def main(rank: int, folder: str, settings: str) -> None:
    limit_threads()
    meeting_point = Path(tempfile.gettempdir(), f"replicas-{os.getppid()}-{Path(folder).name}")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    distributed.init_process_group("gloo", init_method=f"file://{meeting_point}", rank=rank, world_size=2)
    train(rank, folder, **json.loads(settings))
    distributed.barrier()
    distributed.destroy_process_group()
    if rank == 0:
        meeting_point.unlink(missing_ok=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
