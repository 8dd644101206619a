"""Counters of Linux from ``/proc``, in the form of psutil at a fraction of its cost.

At ten samples a second, psutil takes more of a core than sampling may cost, because it opens each file again, looks at
``/sys`` for each disk and makes an object of each line. These functions keep the files open.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Final, NamedTuple

_PROC: Final = "/proc"
_READ_BYTES: Final = 1 << 15
"""Room for most files; the C library maps and unmaps more than 128 KiB at each read, which costs more than reading."""

_CERTAINLY_LAST: Final = 2048
"""The kernel gives lines of about a page at a time; fewer bytes are the last ones."""

_SECTOR_BYTES: Final = 512
_DISKS: Final = "/sys/block"


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


class ProcCounters:
    """The functions of psutil that every sample calls, with the names and units of psutil.

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

    def cpu_times(self, percpu: bool = True) -> list[CoreTimes]:  # noqa: ARG002 - psutil's signature
        """Return the times of each core."""
        ticks = self._ticks
        return [
            CoreTimes(*[int(field) / ticks for field in line.split()[1:9]])
            for line in self._stat.read().split(b"\n")
            if line.startswith(b"cpu") and not line.startswith(b"cpu ")
        ]

    def virtual_memory(self) -> MemoryUse:
        """Return the memory in use."""
        found = {}
        for line in self._memory.read().split(b"\n", 3)[:3]:
            name, _, rest = line.partition(b":")
            found[name] = int(rest.split()[0])
        total = found[b"MemTotal"]
        return MemoryUse(100 * (total - found[b"MemAvailable"]) / total)

    def disk_io_counters(self, nowrap: bool = False) -> DiskCounters | None:  # noqa: ARG002 - psutil's signature
        """Return the sums over all disks; None if there is none."""
        found = [fields for fields in map(bytes.split, self._disk_stats.read().splitlines()) if self._counts(fields)]
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

    def net_io_counters(self, pernic: bool = True, nowrap: bool = False) -> dict[str, Traffic]:  # noqa: ARG002
        """Return the traffic of each network interface."""
        counters = {}
        for line in self._interfaces.read().splitlines()[2:]:
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


def find_counters(psutil: Any) -> Any:
    """Return what reads the counters of this machine: ``/proc``, or psutil where there is none."""
    try:
        counters = ProcCounters()
        counters.cpu_times()
        counters.virtual_memory()
        counters.disk_io_counters()
        counters.net_io_counters()
    except (OSError, ValueError, KeyError, IndexError, TypeError):  # another system, or another form of the files
        return psutil
    return counters
