"""Trains in many short-lived processes and lets something happen to each at a random moment; run by `test_chaos`.

PyTorch is loaded once, here; the trainings are forked from this process, which itself trains once, without hook, and
notes what every tensor of every step is.

    python chaos_server.py FOLDER COUNT SEED

Prints a JSON object for each training: what happened, and how it ended.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.store.backends import LocalBackend

WIDTH = 96
BYTES_PER_STEP = 80_000
MAX_STEPS = 400
"""More than a training gets to before it is killed."""

NUM_STEPS = 40
"""Of a training that is not killed."""

_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000


class Training:
    """A small network and its data; every one trains the same way."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 4))
        self.loss = nn.MSELoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)

    def steps(self, count: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Train; yield the first layer's output and the loss before the weights are updated."""
        outputs: list[torch.Tensor] = []
        handle = self.model[0].register_forward_hook(lambda *arguments: outputs.append(arguments[-1].detach()))
        for _ in range(count):
            self.optimizer.zero_grad()
            loss = self.loss(self.model(torch.randn(8, WIDTH)), torch.randn(8, 4))
            loss.backward()
            yield outputs.pop(), loss.detach()
            self.optimizer.step()
        handle.remove()

    def digest(self) -> str:
        """Return what tells one final state from another."""
        state = hashlib.sha256()
        for parameter in self.model.parameters():
            for tensor in (parameter.detach(), parameter.grad, self.optimizer.state[parameter]["momentum_buffer"]):
                state.update(tensor.numpy().tobytes())
        return state.hexdigest()


def write_reference(path: Path) -> None:
    """Note every tensor of every step."""
    training, tensors = Training(), {}
    for step, (output, loss) in enumerate(training.steps(MAX_STEPS)):
        for name, parameter in training.model.named_parameters():
            tensors[f"{step}|Sequential_{name}"] = parameter.detach().numpy().copy()
            tensors[f"{step}|gradient/Sequential_{name}"] = parameter.grad.numpy().copy()
        tensors[f"{step}|0_output_0"] = output.numpy().copy()
        tensors[f"{step}|MSELoss_output_0"] = loss.numpy().copy()
        tensors[f"{step}|scalar/step"] = np.array([step])
    np.savez(path, **tensors)


def expected_digest() -> str:
    """Return the digest of a training without hook."""
    training = Training()
    for _ in training.steps(NUM_STEPS):
        pass
    return training.digest()


def make_hook(out_dir: object, **arguments: object) -> smd.Hook:
    return smd.Hook(
        out_dir,
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["weights", "biases", "gradients", "losses"],
        include_regex=["^0_output"],
        **arguments,
    )


def train(hook: smd.Hook, count: int, go_on: Callable[[], bool] = lambda: True) -> str:
    """Train with a hook and close it; return the digest of the result."""
    training = Training()
    hook.register_module(training.model)
    hook.register_loss(training.loss)
    hook.set_mode(smd.modes.TRAIN)
    for step, _ in enumerate(training.steps(count)):
        hook.save_scalar("step", step)
        if not go_on():
            break
    if count == MAX_STEPS and go_on():
        signal.pause()  # so fast a machine, and what is to come has not come yet
    hook.close()
    return training.digest()


# --- what happens -----------------------------------------------------------------------------------------------------


def be_killed(folder: Path, moments: random.Random, report: Path) -> None:
    train(make_hook(folder), MAX_STEPS)


def be_ended(folder: Path, moments: random.Random, report: Path) -> None:
    """SIGTERM comes; every other script handles it itself, and stops after the step."""
    if moments.random() < 0.5:
        train(make_hook(folder), MAX_STEPS)
        return
    stops: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stops.append(number))
    train(make_hook(folder), MAX_STEPS, go_on=lambda: not stops)
    report.write_text(json.dumps({"handled": stops}))


def fill_disk(folder: Path, moments: random.Random, report: Path) -> None:
    """Train on a file system that is full after a few steps, or lets no file grow any more."""
    num_bytes = moments.randrange(4096, NUM_STEPS * BYTES_PER_STEP)
    disk = folder.with_name(f"{folder.name}-disk")
    disk.mkdir()
    is_mounted = moments.random() < 0.7 and mount_small_disk(disk, num_bytes)
    if not is_mounted:
        limit_file_size_later(moments)
    trial = disk / "trial" if is_mounted else folder
    hook = make_hook(trial)
    digest = train(hook, NUM_STEPS)
    if is_mounted:
        shutil.copytree(trial, folder)  # what is mounted goes with this process
    report.write_text(json.dumps({"digest": digest, "failure": repr(hook.failure)}))


def slow_disk_down(folder: Path, moments: random.Random, report: Path) -> None:
    """Train on a disk that becomes slow, with little memory for what waits."""
    slow_from = moments.randrange(NUM_STEPS * 2)
    when_full = moments.choice(["block", "drop", "spill"])

    class SlowBackend(LocalBackend):
        num_written = 0

        def write(self, key, parts):
            self.num_written += 1
            if self.num_written > slow_from:
                time.sleep(moments.uniform(0, 0.01))
            super().write(key, parts)

    limit = moments.randrange(BYTES_PER_STEP // 2, 6 * BYTES_PER_STEP)
    room = moments.randrange(12 * BYTES_PER_STEP)
    hook = make_hook(SlowBackend(folder), memory_limit_bytes=limit, when_full=when_full, spill_limit_bytes=room)
    digest = train(hook, NUM_STEPS)
    found = {"digest": digest, "policy": when_full, "dropped": hook.num_dropped_steps, "failure": repr(hook.failure)}
    report.write_text(json.dumps(found))


def mount_small_disk(folder: Path, num_bytes: int) -> bool:
    """Mount a file system of that size where only this process sees it; False where that is not allowed."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_CLONE_NEWNS) != 0 and library.unshare(_CLONE_NEWNS | _CLONE_NEWUSER) != 0:
        return False
    if library.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return False
    return bool(library.mount(b"none", str(folder).encode(), b"tmpfs", 0, f"size={num_bytes}".encode()) == 0)


def limit_file_size_later(moments: random.Random) -> None:
    """Let no file grow beyond a few bytes from a random moment on: writes end in the middle."""
    most = moments.randrange(16_000)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    limit = threading.Timer(moments.uniform(0, 0.1), resource.setrlimit, (resource.RLIMIT_FSIZE, (most, hard)))
    limit.daemon = True
    limit.start()


SCENES = {
    "SIGKILL": (be_killed, signal.SIGKILL),
    "SIGTERM": (be_ended, signal.SIGTERM),
    "full disk": (fill_disk, None),
    "slow disk": (slow_disk_down, None),
}


def run(folder: Path, kind: str, moments: random.Random) -> dict[str, object]:
    """Let one thing happen to one training; return how that ended."""
    scene, number = SCENES[kind]
    report = folder.with_suffix(".json")
    delay_seconds = moments.uniform(0, 0.2)
    pid = os.fork()
    if pid == 0:
        try:
            scene(folder, moments, report)
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    if number is not None:
        index = folder / "index"
        while not index.is_dir() and os.waitpid(pid, os.WNOHANG)[0] == 0:
            time.sleep(0.002)
        time.sleep(delay_seconds)
        os.kill(pid, number)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    details = json.loads(report.read_text()) if report.exists() else {}
    return {"kind": kind, "name": folder.name, "status": status, **details}


def main() -> None:
    root, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    write_reference(root / "reference.npz")
    print(json.dumps({"digest": expected_digest()}), flush=True)
    for number in range(count):
        kind = list(SCENES)[number % len(SCENES)]
        print(json.dumps(run(root / f"run{number:03d}", kind, random.Random(f"{seed} {number}"))), flush=True)


if __name__ == "__main__":
    main()
