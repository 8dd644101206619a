"""Limits of a container and how close it is to them, from cgroup version 2 or 1."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import attrs

_ROOT: Final = "/sys/fs/cgroup"
_UNLIMITED_BYTES: Final = 1 << 60
"""Version 1 has a number of about this size for no limit."""


@attrs.frozen
class _Files:
    """Names of the files of a version of control groups, and the units of processor time in them.

    Args:
        controllers: The controller that has the files of memory, of limits of processor time, and of used time.
        memory_limit: Limit in bytes; a word or an enormous number for none.
        memory_used: Bytes in use.
        droppable: Name in ``memory.stat`` of the bytes of files that can be dropped.
        used: Name in ``cpu.stat`` of the processor time used; None if it has a file of its own, ``cpuacct.usage``.
        throttled: Name in ``cpu.stat`` of the time throttled.
        ticks: Units of processor time in a second.
        memory_events: File with the number ``oom_kill``.
    """

    controllers: tuple[str, str, str]
    memory_limit: str
    memory_used: str
    droppable: str
    used: str | None
    throttled: str
    ticks: float
    memory_events: str


_VERSION_2: Final = _Files(
    controllers=("", "", ""),
    memory_limit="memory.max",
    memory_used="memory.current",
    droppable="inactive_file",
    used="usage_usec",
    throttled="throttled_usec",
    ticks=1e6,
    memory_events="memory.events",
)
_VERSION_1: Final = _Files(
    controllers=("memory", "cpu", "cpuacct"),
    memory_limit="memory.limit_in_bytes",
    memory_used="memory.usage_in_bytes",
    droppable="total_inactive_file",
    used=None,
    throttled="throttled_time",
    ticks=1e9,
    memory_events="memory.oom_control",
)


@attrs.frozen
class Cgroup:
    """The control groups of a process, from its own to the outermost one that it sees.

    Args:
        memory: Folders with the files of memory; empty without control groups.
        limits: Folders with the limits of processor time.
        times: Folders with the processor time used.
        files: Names in these folders.
    """

    memory: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    files: _Files = _VERSION_2

    @classmethod
    def of_this_process(cls, root: str = _ROOT, membership: str = "/proc/self/cgroup") -> Cgroup:
        """Return the groups of this process.

        Args:
            root: Where the file system of control groups is mounted.
            membership: The file that says which groups a process is in.
        """
        try:
            with open(membership, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except OSError:
            return cls()
        paths: dict[str, str] = {}
        for line in lines:
            _, controllers, path = f"{line}::".split(":")[:3]
            paths.update(dict.fromkeys(controllers.split(","), path))
        files = _VERSION_2 if os.path.exists(os.path.join(root, "cgroup.controllers")) else _VERSION_1
        memory, limits, times = (_folders(root, controller, paths) for controller in files.controllers)
        return cls(memory, limits, times, files)

    def memory_limits(self) -> dict[str, int]:
        """Return the folders with a limit of memory, each with its bytes; read once, as that is costly."""
        limits = {folder: _read_number(folder, self.files.memory_limit) for folder in self.memory}
        return {folder: limit for folder, limit in limits.items() if limit and limit < _UNLIMITED_BYTES}

    def memory_used_percent(self, limits: Mapping[str, int]) -> float | None:
        """Return the memory in use against the tightest limit, without files that can be dropped; None if unlimited.

        Args:
            limits: The limits by folder, from `memory_limits`.
        """
        shares = []
        for folder, limit in limits.items():
            used = _read_number(folder, self.files.memory_used)
            if used is not None:
                droppable = _read_table(folder, "memory.stat").get(self.files.droppable, 0)
                shares.append(100 * max(used - droppable, 0) / limit)
        return max(shares, default=None)

    def cpu_limit(self) -> float | None:
        """Return how many cores the group may use on average; None if unlimited."""
        limits = []
        for folder in self.limits:
            quota, _, period = _read_text(folder, "cpu.max").partition(" ")
            if self.files is _VERSION_1:
                quota, period = (_read_text(folder, f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
            if quota.isdigit() and period.strip().isdigit():
                limits.append(int(quota) / int(period))
        return min(limits, default=None)

    def cpu_seconds(self) -> tuple[float, float] | None:
        """Return the processor time used and the time throttled so far, in seconds; None if unknown."""
        table = _read_table(self.limits[0], "cpu.stat") if self.limits else {}
        used = table.get(self.files.used) if self.files.used else None
        if self.files.used is None and self.times:
            used = _read_number(self.times[0], "cpuacct.usage")
        if used is None:
            return None
        return used / self.files.ticks, table.get(self.files.throttled, 0) / self.files.ticks

    def num_out_of_memory_kills(self) -> int:
        """Return how many processes were killed because the group was out of memory."""
        return _read_table(self.memory[0], self.files.memory_events).get("oom_kill", 0) if self.memory else 0


def _folders(root: str, controller: str, paths: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders of a controller that exist; a container may not see those around its own."""
    if controller not in paths:
        return ()
    parts = [part for part in paths[controller].split("/") if part not in ("", "..")]
    found = [os.path.join(root, controller, *parts[:depth]) for depth in range(len(parts), -1, -1)]
    return tuple(folder for folder in found if os.path.isdir(folder))


def _read_text(folder: str, name: str) -> str:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _read_number(folder: str, name: str) -> int | None:
    text = _read_text(folder, name).strip()
    return int(text) if text.isdigit() else None


def _read_table(folder: str, name: str) -> dict[str, int]:
    """Return the counters of a file with a name and a number in each line."""
    table = {}
    for line in _read_text(folder, name).splitlines():
        key, _, number = line.partition(" ")
        if number.strip().isdigit():
            table[key] = int(number)
    return table
