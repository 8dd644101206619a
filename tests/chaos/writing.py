"""A process that writes a trial until it is killed or a file operation fails, and what is left of the trial then."""

from __future__ import annotations

import collections
import contextlib
import errno
import os
import signal
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.store import claims, job_end, reader
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format import keys
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

NAMES = ("loss", "weight")
NUM_STEPS = 12
REWRITTEN = 5
"""The step that is written a second time, with the same values."""

CHANGES = ("open", "mkdir", "pwritev", "posix_fallocate", "link", "replace", "unlink", "close")
SURVIVED = 4
"""Exit status of a process that has written everything although an operation failed."""

_STEP = struct.Struct("<q")
_failed: list[str] = []


class Counts(NamedTuple):
    """What became of one trial: numbers of wrong values, torn steps, lost steps, and whether its folder is locked."""

    wrong: int
    torn: int
    lost: int
    locked: int
    bare: int


def value(name: str, step: int) -> np.ndarray:
    """Return the value that is written for a tensor at a step."""
    return np.random.default_rng([len(name), step]).random(2000 if name == "weight" else 1, np.float32)


def write(folder: Path, acknowledge: Callable[[int], object]) -> None:
    """Write a whole trial after the steps that are there; call back after each step that is written."""
    backend = LocalBackend(folder)
    if not claims.acquire_claim(backend):
        return
    writer = TrialWriter(backend)
    first = max(writer.visible_steps, default=-1) + 1
    writer.write_collections([{"name": "all", "include_regex": [".*"], "tensor_names": []}], 1)
    for step in [*range(first, first + NUM_STEPS), first + REWRITTEN]:
        data = StepData(step, ModeKeys.TRAIN, step)
        data.tensors += [NamedTensor(name, value(name, step), float(step)) for name in NAMES]
        if step in writer.visible_steps:
            acknowledge(-1 - step)  # it is out of sight for a moment
        writer.write_step(data)
        acknowledge(step)
    job_end.finish(backend, "worker_0", 1)
    claims.release_claim(backend)


def start(folder: Path, prepare: Callable[[], object] = lambda: None) -> tuple[int, int]:
    """Fork a process that writes; return its ID and a descriptor that gives the steps it has written."""
    steps, given = os.pipe()
    pid = os.fork()
    if pid:
        os.close(given)
        return pid, steps
    status = 1
    try:
        pipe = open(given, "wb", buffering=0)  # noqa: SIM115 - until the process ends
        prepare()
        write(folder, lambda step: pipe.write(_STEP.pack(step)))
        status = SURVIVED if _failed else 0
    except (OSError, DebugExtError):
        status = 3
    finally:
        os._exit(status)


def end(pid: int, steps: int) -> tuple[int, set[int]]:
    """Wait for the process; return its status and the steps that it has written for good."""
    _, status = os.waitpid(pid, 0)
    with open(steps, "rb") as pipe:
        content = pipe.read()
    written: set[int] = set()
    for (step,) in _STEP.iter_unpack(content[: len(content) // _STEP.size * _STEP.size]):
        if step < 0:
            written.discard(-1 - step)
        else:
            written.add(step)
    return os.waitstatus_to_exitcode(status), written


def fail_at(number: int, is_killed: bool) -> Callable[[], None]:
    """Return a function that lets one of the next changes of the file system fail, or kills the process instead."""

    def act(name: str) -> None:
        _failed.append(name)
        if is_killed:
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(errno.ENOSPC if name != "close" else errno.EIO, f"{name} failed")

    def install() -> None:
        calls = iter(range(10**9))

        def wrap(name: str, real: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object, **more: object) -> object:
                if next(calls) != number:
                    return real(*arguments, **more)
                if name == "close":
                    real(*arguments, **more)
                return act(name)

            return call

        for name in CHANGES:
            if hasattr(os, name):
                setattr(os, name, wrap(name, getattr(os, name)))

    return install


def look(folder: Path, written: set[int]) -> Counts:
    """Compare a trial with what its writer has written, and find out whether its folder can be written again."""
    backend = LocalBackend(folder)
    counts: collections.Counter[str] = collections.Counter()
    seen = set()
    for info in reader.list_index(backend):
        step = keys.parse_index_key(info.key).step
        seen.add(step)
        try:
            index = reader.read_index(backend, info.key)
            values = {
                name: reader.read_tensor(backend, index.event_file or "", location, name)
                for name, location in index.tensors.items()
            }
        except (DebugExtError, OSError):
            counts["torn"] += 1
            continue
        counts["torn"] += set(values) != set(NAMES)
        counts["wrong"] += any(not np.array_equal(found, value(name, step)) for name, found in values.items())
    counts["lost"] = len(written - seen)
    counts["bare"] = not _can_be_opened(folder) if written else 0
    claimed = False
    with contextlib.suppress(OSError):
        claimed = claims.acquire_claim(backend)
        claims.release_claim(backend)
    return Counts(counts["wrong"], counts["torn"], counts["lost"], int(not claimed), int(counts["bare"]))


def _can_be_opened(folder: Path) -> bool:
    try:
        create_trial(folder, wait_seconds=0).values()
    except DebugExtError:
        return True  # an error of ours
    except Exception:  # noqa: BLE001 - any other one is what this looks for
        return False
    return True


def total(all_counts: list[Counts]) -> Counts:
    """Return the sums of many counts."""
    return Counts(*map(sum, zip(*all_counts, strict=True)))


def folders(base: Path) -> Iterator[Path]:
    """Yield folders that do not exist yet."""
    number = 0
    while True:
        yield base / str(number)
        number += 1
