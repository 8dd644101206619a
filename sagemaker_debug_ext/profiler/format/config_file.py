"""What all readers of ``profilerconfig.json`` have in common (profiler format, section 1.5)."""

from __future__ import annotations

import os


def is_true(value: object) -> bool:
    """Return whether a member of the file, such as ``DisableProfiler``, is set; text such as ``false`` is not."""
    return value.strip().lower() not in ("", "false", "0", "no") if isinstance(value, str) else bool(value)


def file_version(path: str) -> tuple[int, int, int] | None:
    """Return what changes when a file is written anew; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
