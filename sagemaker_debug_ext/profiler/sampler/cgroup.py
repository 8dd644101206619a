"""Limits of a container and how close it is to them, from cgroup version 2."""

from __future__ import annotations

import os
from typing import Final

import attrs

_ROOT: Final = "/sys/fs/cgroup"


@attrs.frozen
class Cgroup:
    """The control groups of a process, from its own to the outermost one that it sees.

    Args:
        folders: Their folders; empty without cgroup version 2.
    """

    folders: tuple[str, ...] = ()

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
        path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
        if path is None or not os.path.exists(os.path.join(root, "cgroup.controllers")):
            return cls()
        parts = [part for part in path.split("/") if part not in ("", "..")]
        found = [os.path.join(root, *parts[:depth]) for depth in range(len(parts), -1, -1)]
        return cls(tuple(folder for folder in found if os.path.isdir(folder)))

    def memory_used_percent(self) -> float | None:
        """Return the memory in use against the tightest limit, without files that can be dropped; None if unlimited."""
        shares = []
        for folder in self.folders:
            limit, current = _read_number(folder, "memory.max"), _read_number(folder, "memory.current")
            if limit and current is not None:
                droppable = _read_table(folder, "memory.stat").get("inactive_file", 0)
                shares.append(100 * max(current - droppable, 0) / limit)
        return max(shares, default=None)

    def cpu_limit(self) -> float | None:
        """Return how many cores the group may use on average; None if unlimited."""
        limits = []
        for folder in self.folders:
            quota, _, period = _read_text(folder, "cpu.max").partition(" ")
            if quota.isdigit() and period.strip().isdigit():
                limits.append(int(quota) / int(period))
        return min(limits, default=None)

    def cpu_seconds(self) -> tuple[float, float] | None:
        """Return the processor time used and the time throttled so far, in seconds; None if unknown."""
        table = _read_table(self.folders[0], "cpu.stat") if self.folders else {}
        if "usage_usec" not in table:
            return None
        return table["usage_usec"] / 1e6, table.get("throttled_usec", 0) / 1e6

    def num_out_of_memory_kills(self) -> int:
        """Return how many processes were killed because the group was out of memory."""
        return _read_table(self.folders[0], "memory.events").get("oom_kill", 0) if self.folders else 0


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
