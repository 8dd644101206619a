"""Sensors of a machine: memory, processors, disks and network, by psutil and control groups.

A source reads its sensors at once, and gives one value for each when they are asked for. Rates are over the measured
time since the last reading, and a counter that went back gives no value.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.profiler.sampler.cgroup import Cgroup
from sagemaker_debug_ext.profiler.sampler.proc_counters import Counters, find_counters

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - data loader workers pass batches here


class Value(NamedTuple):
    """A value of a sensor; see `SystemRow`."""

    type: str
    name: str
    dimension: str
    value: float


Source = Callable[[], Iterable[Value]]
"""Reads one family of sensors. May raise OSError or its library's errors if the family cannot be read, and so may the
iteration over its values. The values of one reading have to be taken before those of the next."""

Clock = Callable[[], float]


class Rates:
    """Turns counters that only grow into rates per second."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._read_at: float | None = None

    def update(self, counters: Mapping[str, float], now: float) -> dict[str, float]:
        """Return the rates since the last call; none at the first one, and none for a counter that went back.

        Args:
            counters: The counters.
            now: When they were read, in seconds that only grow.
        """
        span = None if self._read_at is None else now - self._read_at
        rates = {}
        if span:
            for name, count in counters.items():
                if name in self._last and count >= self._last[name]:
                    rates[name] = (count - self._last[name]) / span
        self._last, self._read_at = dict(counters), now
        return rates


class Processors:
    """Utilization and I/O wait of each core that this process may use, in percent; waiting counts as busy."""

    def __init__(self, counters: Counters, cgroup: Cgroup) -> None:
        self._counters = counters
        self._cgroup = cgroup
        self._limit = cgroup.cpu_limit()
        self._cores = self._usable_cores()
        self._last: Sequence[Any] = ()
        self._rates = Rates()

    def _usable_cores(self) -> frozenset[int] | None:
        try:
            return frozenset(os.sched_getaffinity(0))
        except (AttributeError, OSError):
            return None

    def __call__(self) -> Iterator[Value]:
        """Return the values since the last call; none at the first one."""
        seconds = None if self._limit is None else self._cgroup.cpu_seconds()
        return self._values(self._counters.cpu_times(), seconds, time.monotonic())

    def _values(
        self, read_times: Callable[[], list[Any]], seconds: tuple[float, float] | None, now: float
    ) -> Iterator[Value]:
        times = read_times()
        for core, (before, after) in enumerate(zip(self._last, times, strict=False)):
            if self._cores is None or core in self._cores:
                yield from _core_values(core, before, after)
        self._last = times
        if self._limit is not None and seconds is not None:
            yield from self._limit_values(self._limit, seconds, now)

    def _limit_values(self, limit: float, seconds: tuple[float, float], now: float) -> Iterator[Value]:
        """Yield the use of a limit that is below the number of cores, and the time spent throttled."""
        rates = self._rates.update({"used": seconds[0], "throttled": seconds[1]}, now)
        if "used" in rates:
            yield Value("cpu", "container", "CPULimitUtilization", 100 * rates["used"] / limit)
        if "throttled" in rates:
            yield Value("cpu", "container", "CPUThrottledPercentage", 100 * rates["throttled"])


def _core_values(core: int, before: Any, after: Any) -> Iterable[Value]:
    # User time holds guest time already.
    spent = [new - old for field, old, new in zip(after._fields, before, after, strict=True) if "guest" not in field]
    total = sum(spent)
    if total <= 0 or min(spent) < -0.5:  # a reset, or a core that was switched off and on
        return
    waited = after.iowait - before.iowait if hasattr(after, "iowait") else 0
    for dimension, seconds in (
        ("CPUUtilization", total - (after.idle - before.idle)),
        ("I/OWaitPercentage", waited),
    ):
        yield Value("cpu", f"cpu{core}", dimension, min(max(100 * seconds / total, 0.0), 100.0))


def memory_source(counters: Counters, cgroup: Cgroup) -> Source:
    """Return a source of the memory in use, against the limit of the container if it has one."""
    limits = cgroup.memory_limits()

    def values(read: Callable[[], Any]) -> Iterator[Value]:
        yield Value("memory", "MemoryUsedPercent", "", read().percent)

    def source() -> Iterable[Value]:
        percent = cgroup.memory_used_percent(limits)
        if percent is None:
            return values(counters.virtual_memory())
        return [Value("memory", "MemoryUsedPercent", "", percent)]

    return source


def disk_source(counters: Counters) -> Source:
    """Return a source of the operations and bytes per second of all disks."""
    rates = Rates()

    def values(read: Callable[[], Any], now: float) -> Iterator[Value]:
        found = read()
        if found is None:  # a container may see no disk
            return
        sums = {
            "IOPS": found.read_count + found.write_count,
            "ReadThroughputInBytesPerSecond": found.read_bytes,
            "WriteThroughputInBytesPerSecond": found.write_bytes,
        }
        for name, rate in rates.update(sums, now).items():
            yield Value("i/o", name, "", rate)

    return lambda: values(counters.disk_io_counters(), time.monotonic())


def network_source(counters: Counters, clock: Clock = time.monotonic) -> Source:
    """Return a source of the bytes per second of the network.

    ``Algorithm`` is the traffic with other machines. ``Platform``, which on SageMaker is the traffic of its agent, is
    the traffic within this machine.
    """
    rates = Rates()

    def values(read: Callable[[], dict[str, Any]], now: float) -> Iterator[Value]:
        sums: dict[str, float] = {}
        for interface, traffic in read().items():
            dimension = "Platform" if interface == "lo" or interface.startswith("lo0") else "Algorithm"
            for name, count in (("Receive", traffic.bytes_recv), ("Transmit", traffic.bytes_sent)):
                key = f"{name}BytesPerSecond {dimension}"
                sums[key] = sums.get(key, 0) + count
        ordered = dict(sorted(sums.items(), key=lambda item: item[0].partition(" ")[2]))
        for key, rate in rates.update(ordered, now).items():
            yield Value("network", *_split_key(key), rate)

    return lambda: values(counters.net_io_counters(), clock())


def _split_key(key: str) -> tuple[str, str]:
    name, _, dimension = key.partition(" ")
    return name, dimension


def slow_source(psutil: Any, output_path: str, root_pid: int) -> Source:
    """Return a source of what changes slowly: swap, shared memory, disk space and the memory of the job's processes.

    Args:
        psutil: The library.
        output_path: A folder on the disk to watch.
        root_pid: The process whose memory counts, together with that of its children.
    """

    def read() -> list[Value]:
        swap = psutil.swap_memory()
        values = [Value("memory", "memory", "SwapUsedPercent", swap.percent)] if swap.total else []
        if os.path.isdir(SHARED_MEMORY):
            values.append(
                Value("memory", "memory", "SharedMemoryUsedPercent", psutil.disk_usage(SHARED_MEMORY).percent)
            )
        values.append(Value("disk", output_path, "DiskUsedPercent", psutil.disk_usage(output_path).percent))
        resident = _resident_bytes(psutil, root_pid)
        if resident:
            values.append(Value("memory", "memory", "ProcessTreeRSSBytes", resident))
        return values

    return read


def _resident_bytes(psutil: Any, root_pid: int) -> int:
    try:
        root = psutil.Process(root_pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return 0
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.Error:  # noqa: PERF203 - it has just ended
            continue
    return total


def host_sources(output_path: str, root_pid: int) -> tuple[list[Source], list[Source]]:
    """Return the sources to read at every sample, in the order of the file, and those to read once in some seconds.

    Raises:
        MissingDependencyError: psutil is not installed.
    """
    psutil = import_optional("psutil", "sampling of system metrics", "profile")
    cgroup = Cgroup.of_this_process()
    counters = find_counters(psutil)
    fast: list[Source] = [
        memory_source(counters, cgroup),
        Processors(counters, cgroup),
        disk_source(counters),
        network_source(counters),
    ]
    return fast, [slow_source(psutil, output_path, root_pid)]
