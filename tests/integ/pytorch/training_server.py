"""Trains in many short-lived processes and kills each at a random moment; run by `test_kill`.

PyTorch is loaded once, here; the trainings are forked from this process, which itself never computes anything.

    python training_server.py FOLDER COUNT SEED
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd

WIDTH = 400  # 640 KB of weights and as many of gradients a step: writing takes long enough to be hit


def train(folder: Path) -> None:
    """Train until killed; every step is saved, with its own number in every tensor."""
    torch.set_num_threads(1)
    hook = smd.Hook(
        folder,
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["weights", "gradients", "losses"],
        include_regex=["Linear_output"],
        strict=True,
    )
    model = nn.Linear(WIDTH, WIDTH, bias=False)
    loss_module = nn.L1Loss(reduction="sum")
    hook.register_module(model)
    hook.register_loss(loss_module)
    hook.set_mode(smd.modes.TRAIN)
    step = 0
    while True:
        with torch.no_grad():
            model.weight.fill_(step)
        output = model(torch.full((1, WIDTH), -float(step + 1)))
        loss_module(output, torch.full_like(output, 1e9)).backward()
        hook.save_scalar("step", step)
        step += 1


def run_and_kill(folder: Path, delay_seconds: float) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            train(folder)
        finally:
            os._exit(1)  # training never ends by itself
    index = folder / "index"
    while not index.is_dir() and os.waitpid(pid, os.WNOHANG)[0] == 0:
        time.sleep(0.002)
    time.sleep(delay_seconds)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    print(folder.name, f"{delay_seconds:.3f}", -os.waitstatus_to_exitcode(status), flush=True)


def main() -> None:
    root, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    moments = random.Random(seed)
    for number in range(count):
        run_and_kill(root / f"run{number:03d}", moments.uniform(0, 0.25))


if __name__ == "__main__":
    main()
