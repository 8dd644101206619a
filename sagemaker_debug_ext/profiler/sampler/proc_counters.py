"""Counters of Linux from ``/proc``, in the form of psutil at a fraction of its cost.

At ten samples a second, psutil takes more of a core than sampling may cost, because it opens each file again, looks at
``/sys`` for each disk and makes an object of each line. `ProcCounters` keeps the files open, and leaves parsing for
later: right after a wait, with cold caches of the processor, code takes several times as long as when it runs again.
"""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, TypeVar

_PROC: Final = "/proc"
_READ_BYTES: Final = 1 << 15
"""Room for most files; the C library maps and unmaps more than 128 KiB at each read, which costs more than reading."""

_CERTAINLY_LAST: Final = 2048
"""The kernel gives lines of about a page at a time; fewer bytes are the last ones."""

_SECTOR_BYTES: Final = 512
_DISKS: Final = "/sys/block"

T = TypeVar("T")


class CoreTimes(NamedTuple):
    """Seconds that a core has spent since the start of the machine; user time holds that of guests."""

    user: float
    nice: float
    system: float
    idle: float
    iowait: float
    irq: float
    softirq: float
    steal: float


class MemoryUse(NamedTuple):
    """Memory of the machine.

    Attributes:
        percent: Share that programs cannot get, from 0 to 100.
    """

    percent: float


class DiskCounters(NamedTuple):
    """Operations and bytes of all disks since the start of the machine."""

    read_count: int
    write_count: int
    read_bytes: int
    write_bytes: int


class Traffic(NamedTuple):
    """Bytes of a network interface since the start of the machine."""

    bytes_sent: int
    bytes_recv: int


class Counters(Protocol):
    """Counters of the machine: each method reads at once, and returns a function that parses what was read."""

    def cpu_times(self) -> Callable[[], list[Any]]:
        """Read the times of each core."""
        ...

    def virtual_memory(self) -> Callable[[], Any]:
        """Read the memory in use."""
        ...

    def disk_io_counters(self) -> Callable[[], Any]:
        """Read the sums over all disks; None if there is none."""
        ...

    def net_io_counters(self) -> Callable[[], dict[str, Any]]:
        """Read the traffic of each network interface."""
        ...


class PsutilCounters:
    """The counters that psutil has on all systems.

    Args:
        psutil: The library.
    """

    def __init__(self, psutil: Any) -> None:
        self._psutil = psutil

    def cpu_times(self) -> Callable[[], list[Any]]:
        """Read the times of each core."""
        return _known(self._psutil.cpu_times(percpu=True))

    def virtual_memory(self) -> Callable[[], Any]:
        """Read the memory in use."""
        return _known(self._psutil.virtual_memory())

    def disk_io_counters(self) -> Callable[[], Any]:
        """Read the sums over all disks; None if there is none."""
        return _known(self._psutil.disk_io_counters(nowrap=False))

    def net_io_counters(self) -> Callable[[], dict[str, Any]]:
        """Read the traffic of each network interface."""
        return _known(self._psutil.net_io_counters(pernic=True, nowrap=False))


def _known(value: T) -> Callable[[], T]:
    return lambda: value


class ProcCounters:
    """The counters in ``/proc``, with the names and units of psutil.

    Args:
        folder: Where the file system of processes is mounted.
        disks: The folder with an entry for each disk.

    Raises:
        OSError: The machine has no such files, as those without Linux.
    """

    def __init__(self, folder: str = _PROC, disks: str = _DISKS) -> None:
        self._stat, self._memory, self._disk_stats, self._interfaces = (
            _KeptFile(os.path.join(folder, name)) for name in ("stat", "meminfo", "diskstats", "net/dev")
        )
        self._ticks = os.sysconf("SC_CLK_TCK")
        self._disks = disks
        self._is_disk: dict[bytes, bool] = {}

    def cpu_times(self) -> Callable[[], list[CoreTimes]]:
        """Read the times of each core."""
        return functools.partial(_parse_cores, self._stat.read(), self._ticks)

    def virtual_memory(self) -> Callable[[], MemoryUse]:
        """Read the memory in use."""
        return functools.partial(_parse_memory, self._memory.read())

    def disk_io_counters(self) -> Callable[[], DiskCounters | None]:
        """Read the sums over all disks; None if there is none."""
        return functools.partial(self._parse_disks, self._disk_stats.read())

    def net_io_counters(self) -> Callable[[], dict[str, Traffic]]:
        """Read the traffic of each network interface."""
        return functools.partial(_parse_interfaces, self._interfaces.read())

    def _parse_disks(self, content: bytes) -> DiskCounters | None:
        found = [fields for fields in map(bytes.split, content.splitlines()) if self._counts(fields)]
        if not found:
            return None
        reads, read_sectors, writes, written = (sum(int(fields[place]) for fields in found) for place in (3, 5, 7, 9))
        return DiskCounters(reads, writes, read_sectors * _SECTOR_BYTES, written * _SECTOR_BYTES)

    def _counts(self, fields: list[bytes]) -> bool:
        """Return whether a line is that of a disk: partitions would count twice."""
        if len(fields) < 10:
            return False
        name = fields[2]
        if name not in self._is_disk:
            self._is_disk[name] = os.path.exists(os.path.join(self._disks, name.decode().replace("/", "!")))
        return self._is_disk[name]


def _parse_cores(content: bytes, ticks: int) -> list[CoreTimes]:
    return [
        CoreTimes(*[int(field) / ticks for field in line.split()[1:9]])
        for line in content.split(b"\n")
        if line.startswith(b"cpu") and not line.startswith(b"cpu ")
    ]


def _parse_memory(content: bytes) -> MemoryUse:
    found = {}
    for line in content.split(b"\n", 3)[:3]:
        name, _, rest = line.partition(b":")
        found[name] = int(rest.split()[0])
    total = found[b"MemTotal"]
    return MemoryUse(100 * (total - found[b"MemAvailable"]) / total)


def _parse_interfaces(content: bytes) -> dict[str, Traffic]:
    counters = {}
    for line in content.splitlines()[2:]:
        name, _, rest = line.rpartition(b":")
        fields = rest.split()
        counters[name.strip().decode()] = Traffic(int(fields[8]), int(fields[0]))
    return counters


class _KeptFile:
    """A file of ``/proc``, which gives new content at each read from its start."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)

    def read(self) -> bytes:
        content = part = os.pread(self._descriptor, _READ_BYTES, 0)
        while len(part) > _CERTAINLY_LAST:
            part = os.pread(self._descriptor, _READ_BYTES, len(content))
            content += part
        return content


def find_counters(psutil: Any) -> Counters:
    """Return what reads the counters of this machine: ``/proc``, or psutil where there is none."""
    try:
        counters = ProcCounters()
        for read in (counters.cpu_times, counters.virtual_memory, counters.disk_io_counters, counters.net_io_counters):
            read()()
    except (OSError, ValueError, KeyError, IndexError, TypeError):  # another system, or another form of the files
        return PsutilCounters(psutil)
    return counters
