"""The sampling process: ``python -m sagemaker_debug_ext.profiler.sampler.child SETTINGS PARENT``.

It ends with the process that started it, however that one ends, and then writes how: it hears the exit code over its
standard input, or finds that the other process is gone without a word.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from sagemaker_debug_ext.profiler.sampler.cgroup import Cgroup
from sagemaker_debug_ext.profiler.sampler.election import exclusive_lock
from sagemaker_debug_ext.profiler.sampler.gpus import find_gpus
from sagemaker_debug_ext.profiler.sampler.loop import SamplingLoop
from sagemaker_debug_ext.profiler.sampler.requested_interval import RequestedInterval
from sagemaker_debug_ext.profiler.sampler.sensors import host_sources
from sagemaker_debug_ext.profiler.sampler.settings import SamplerSettings
from sagemaker_debug_ext.profiler.sampler.upload import uploaded
from sagemaker_debug_ext.profiler.sampler.writer import SystemFileWriter, publish

_MAX_WAIT_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 0.05
"""How soon the end of the other process is noticed if its pipe stays open in one of its children."""


class Parent:
    """The process that started this one.

    Args:
        pid: Its process id.
        descriptor: What it tells comes from here: a line of JSON, or the end of the file.
    """

    def __init__(self, pid: int, descriptor: int) -> None:
        self._pid = pid
        self._descriptor = descriptor
        self._told = b""
        self._has_ended = False

    def wait(self, seconds: float) -> bool:
        """Wait for some seconds, or until the process ends; return whether it lives."""
        deadline = time.monotonic() + seconds
        while not self._has_ended:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            ready, _, _ = select.select([self._descriptor], [], [], min(left, _MAX_WAIT_SECONDS))
            if ready:
                content = os.read(self._descriptor, 4096)
                self._told += content
                self._has_ended = not content or self._told.endswith(b"\n")
            elif os.getppid() != self._pid:
                self._has_ended = True
        return not self._has_ended

    @property
    def last_words(self) -> dict[str, Any] | None:
        """The last message of the process; None if it ended without one."""
        try:
            words = json.loads(self._told)
        except ValueError:
            return None
        return words if isinstance(words, dict) else None


def describe_end(words: dict[str, Any] | None, num_out_of_memory: int, ended_at: float) -> dict[str, Any]:
    """Return how a job ended.

    Args:
        words: What its process said, such as ``{"exit_code": 1}``; None if it was killed.
        num_out_of_memory: Processes that were killed for lack of memory meanwhile.
        ended_at: Seconds since 1970.
    """
    cause = "exited" if words is not None else "killed"
    if num_out_of_memory:
        cause = "out of memory"
    return {
        "ended_at": round(ended_at, 6),
        "cause": cause,
        "exit_code": (words or {}).get("exit_code"),
        "out_of_memory_kills": num_out_of_memory,
    }


def main(arguments: Sequence[str]) -> int:
    """Sample until the process that started this one ends."""
    settings, parent_pid = SamplerSettings.from_json(arguments[0]), int(arguments[1])
    parent = Parent(parent_pid, sys.stdin.fileno())
    logging.basicConfig(format="sagemaker-debug sampler: %(message)s", level=logging.WARNING)
    # An interruption is for the training script, whose end this process has to see.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(5)
    cgroup = Cgroup.of_this_process()
    kills_before = cgroup.num_out_of_memory_kills()
    # The sampler of a process that has just ended may still be writing its last minute.
    with (
        exclusive_lock(settings.lock_path("sample"), _wait_for_the_one_before),
        uploaded(settings.output_path, settings.upload_to),
    ):
        writer = SystemFileWriter(settings.output_path, settings.node)
        fast, slow = host_sources(settings.output_path, parent_pid)
        requested = RequestedInterval(settings.config_path, settings.interval_millis / 1000)
        loop = SamplingLoop(writer, settings.node, requested, [*fast, *find_gpus()], slow)
        try:
            os.makedirs(settings.output_path, exist_ok=True)
            loop.run(parent.wait)
        except OSError as error:
            logging.getLogger(__name__).warning("process %d is not sampled: %s", parent_pid, error)
            return 1
        end = describe_end(parent.last_words, cgroup.num_out_of_memory_kills() - kills_before, time.time())
        _write_end(settings, end)
        writer.end()
    return 0


def _wait_for_the_one_before() -> bool:
    time.sleep(_RETRY_SECONDS)
    return False


def _write_end(settings: SamplerSettings, end: dict[str, Any]) -> None:
    path = os.path.join(settings.output_path, "system", f"last_words.{settings.node}.json")
    try:
        publish(path, f"{json.dumps(end)}\n".encode())
    except OSError as error:
        logging.getLogger(__name__).warning("how the job ended cannot be written to %s: %s", path, error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
