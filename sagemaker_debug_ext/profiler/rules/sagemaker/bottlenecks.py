"""`CPUBottleneck` and `IOBottleneck`: GPUs wait for processors or for storage."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from sagemaker_debug_ext.profiler.rules.base import PATIENCE_SECONDS, ProfilerRule, SecondsOrPoints
from sagemaker_debug_ext.profiler.rules.breakdown import FrameworkBreakdown, events_at
from sagemaker_debug_ext.profiler.rules.slices import CPU, GPU, IO_WAIT, Slice, Snapshot

_MAX_ENTRIES: Final = 1000


class _Bottleneck(ProfilerRule):
    own_parameters = PATIENCE_SECONDS
    dimension: ClassVar[str]
    limit: ClassVar[str]
    subject: ClassVar[str]

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)
        self._patience = SecondsOrPoints(self.parameters["patience"], self.parameters["patience_seconds"])
        self._num_low = 0
        self._entries: dict[str, dict[str, int]] = {}
        self._breakdown = FrameworkBreakdown()
        self._has_gpu = False
        self._first: float | None = None
        self._last = 0.0
        self._busy_share = (0, 0)
        self._has_steps = False

    def observe(self, piece: Slice) -> None:
        found: list[float] = []
        self._has_steps = self._has_steps or any(event.event_phase.startswith("Step:") for event in piece.events)
        for node in piece.nodes:
            if not piece.sensors(GPU, node):
                continue
            self._has_gpu = True
            snapshots = piece.snapshots(node, (self.dimension, GPU))
            found += [snapshot.time for snapshot in snapshots if self._observe_snapshot(snapshot)]
        if found:
            self._breakdown.add(events_at(piece.events, [time * 1e6 for time in found]))
        self._evaluate(found)

    def _observe_snapshot(self, snapshot: Snapshot) -> bool:
        self.datapoints += 1
        self._first = snapshot.time if self._first is None else min(self._first, snapshot.time)
        self._last = max(self._last, snapshot.time)
        values = snapshot.values.items()
        num_gpus: int = sum(
            value < self.parameters["gpu_threshold"] for sensor, value in values if sensor.dimension == GPU
        )
        num_cores: int = sum(
            value > self.parameters[self.limit]
            for sensor, value in values
            if sensor.dimension == self.dimension and sensor.type == "cpu"
        )
        self._num_low += num_gpus > 0
        is_bottleneck = num_gpus > 0 and num_cores > 0
        if self._has_steps:
            self._busy_share = (self._busy_share[0] + is_bottleneck, self._busy_share[1] + 1)
        if is_bottleneck:
            self.violations += 1
            if len(self._entries) < _MAX_ENTRIES:
                self._entries[f"{snapshot.time:.6f}"] = {"GPUs": num_gpus, "CPUs": num_cores}
        return is_bottleneck

    def _evaluate(self, times: list[float]) -> None:
        if self.not_evaluated() or not self.datapoints:
            return
        share = 100 * self.violations / self.datapoints
        if share <= self.parameters["threshold"]:
            return
        self.triggered += 1
        limit = float(self.parameters["threshold"])
        numbers = {"share": share, "threshold": limit, "snapshots": float(self.datapoints)}
        after = ""
        if self._busy_share[1]:
            numbers["share_after_first_step"] = 100 * self._busy_share[0] / self._busy_share[1]
            after = f", {numbers['share_after_first_step']:.0f} % after the first step"
        self._found(
            f"GPUs waited for {self.subject} in {share:.0f} % of {self.datapoints} snapshots (limit "
            f"{limit:g} %){after}.",
            min(times, default=self._last),
            max(times, default=self._last),
            numbers=numbers,
        )

    def not_evaluated(self) -> str | None:
        if not self._has_gpu:
            return "no GPU"
        span = self._last - (self._first or self._last)
        if self._patience.is_over(self.datapoints, span):
            return None
        return self._patience.describe(self.datapoints, span)

    def details(self) -> dict[str, Any]:
        if not self.datapoints:
            return {}
        evidence: dict[str, Any] = {"low_gpu_utilization": self._num_low, "bottlenecks": self._entries}
        return {**evidence, **self._breakdown.to_json_dict()} if self.triggered else evidence


class CPUBottleneck(_Bottleneck):
    """A GPU is idle while a core is busy, in too many snapshots.

    One busy core is enough, as in the original: a busy-waiting main thread counts.
    """

    name = "CPUBottleneck"
    order = ("threshold", "cpu_threshold", "gpu_threshold", "patience")
    advice = "Use more data loader workers, or prefetch batches."
    dimension, limit, subject = CPU, "cpu_threshold", "the CPU"


class IOBottleneck(_Bottleneck):
    """A GPU is idle while a core waits for a disk, in too many snapshots.

    Linux counts waiting for disks only, not for S3 or NFS.
    """

    name = "IOBottleneck"
    order = ("threshold", "io_threshold", "gpu_threshold", "patience")
    advice = "Prefetch batches, or use formats that read faster, such as binary ones."
    dimension, limit, subject = IO_WAIT, "io_threshold", "storage"
