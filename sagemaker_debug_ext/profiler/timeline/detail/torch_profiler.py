"""Profiles operators and kernels of some steps by `torch.profiler`.

PyTorch's own trace is kept as it is, and its operators and kernels are written as ``model_timeline.json`` as well.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import torch
from torch.profiler import ProfilerActivity, profile

from sagemaker_debug_ext.profiler.format.times import hour_folder
from sagemaker_debug_ext.profiler.profiler_constants import LAUNCHED_AT, MODELTIMELINE_SUFFIX
from sagemaker_debug_ext.profiler.timeline.trace_writer import TraceFileWriter, TraceSpan

CPU_FUNCTIONS: Final = "cpu_functions"
GPU_FUNCTIONS: Final = "gpu_functions-dev:"
_CPU_CATEGORIES: Final = frozenset({"cpu_op"})
_LAUNCH_CATEGORIES: Final = frozenset({"cuda_runtime", "cuda_driver"})
_GPU_CATEGORIES: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})


class TorchProfiler:
    """Profiles from the beginning of one step to that of another.

    Args:
        output_path: The folder ``profiler-output``.
        node: The worker, as the names of trace files have it.
    """

    def __init__(self, output_path: str, node: str) -> None:
        self._output_path = output_path
        self._node = node.replace("_", "-")
        self._profile: Any = None
        self._starts_us: list[tuple[float, int]] = []
        self._threads: list[threading.Thread] = []

    def step_begins(self, step: int) -> None:
        """Profile a step."""
        if self._profile is None:
            activities = [ProfilerActivity.CPU]
            if torch.cuda.is_available():
                activities.append(ProfilerActivity.CUDA)
            self._profile = profile(activities=activities)
            self._profile.start()
        self._starts_us.append((time.time() * 1e6, step))

    def step_ends(self, mode: str, number: int) -> None:
        """Do nothing: operators between steps are profiled, too."""

    def stop(self) -> None:
        """Stop profiling; a thread writes the results."""
        profiled, self._profile = self._profile, None
        starts, self._starts_us = self._starts_us, []
        if profiled is None:
            return
        profiled.stop()
        thread = threading.Thread(target=self._write, args=(profiled, starts), name="profiler-detail")
        thread.start()  # no daemon: a short job waits for its profile
        self._threads.append(thread)

    def join(self) -> None:
        """Wait until everything is written."""
        for thread in self._threads:
            thread.join()

    def _write(self, profiled: Any, starts_us: list[tuple[float, int]]) -> None:
        begin_us, step = starts_us[0]
        folder = os.path.join(
            self._output_path, "framework", "pytorch", "detailed_profiling", hour_folder(begin_us / 1e6), f"{step:09d}"
        )
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{self._node}.pt.trace.json")
        profiled.export_chrome_trace(path)
        with open(path, "rb") as file:
            content = file.read()
        with gzip.GzipFile(f"{path}.gz", "wb", mtime=0) as compressed:
            compressed.write(content)
        os.unlink(path)
        spans = list(operator_spans(json.loads(content), starts_us))
        if spans:
            writer = TraceFileWriter(
                self._output_path, self._node, int(min(span.start_us for span in spans)), MODELTIMELINE_SUFFIX
            )
            writer.write(sorted(spans, key=lambda span: span.start_us))
            writer.close()


def operator_spans(trace: Mapping[str, Any], starts_us: list[tuple[float, int]]) -> Iterator[TraceSpan]:
    """Yield the operators and kernels of a trace of PyTorch as events of the profiler format.

    Args:
        trace: What `torch.profiler` exports.
        starts_us: Begin of each step in microseconds since 1970, and its number.
    """
    base_us = float(trace.get("baseTimeNanoseconds", 0)) / 1000
    launches = {
        event["args"]["correlation"]: event
        for event in trace.get("traceEvents", ())
        if event.get("cat") in _LAUNCH_CATEGORIES and "correlation" in (event.get("args") or {})
    }
    for event in trace.get("traceEvents", ()):
        kind = event.get("cat")
        if event.get("ph") != "X" or kind not in _CPU_CATEGORIES | _GPU_CATEGORIES:
            continue
        start_us = base_us + float(event["ts"])
        step = next((number for begin, number in reversed(starts_us) if begin <= start_us), starts_us[0][1])
        facts: dict[str, Any] = {"pid": os.getpid(), "thread_id": _as_number(event.get("tid")), "step_num": str(step)}
        if kind in _CPU_CATEGORIES:
            phase, facts["device"] = CPU_FUNCTIONS, "cpu"
        else:
            device = _as_number((event.get("args") or {}).get("device"))
            phase, facts["device"], facts["event_name"] = f"{GPU_FUNCTIONS}{device}", device, event["name"]
            launch = launches.get((event.get("args") or {}).get("correlation"))
            if launch is not None:
                facts["start_cpu_thread"] = _as_number(launch.get("tid"))
                facts[LAUNCHED_AT] = int(base_us + float(launch["ts"]))
        yield TraceSpan(phase, event["name"], int(start_us), int(event["dur"]), facts)


def _as_number(value: object) -> int:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return] # a number or its text
    except (TypeError, ValueError):
        return 0
