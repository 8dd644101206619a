"""Reads trace files that their writer did not complete."""

from __future__ import annotations

import json
from typing import Any


def load_remainder(content: bytes) -> list[dict[str, Any]]:
    """Return the entries of a trace file that may end anywhere: those of its complete lines.

    Args:
        content: One entry a line, as in section 1.3 of the profiler format.
    """
    entries = []
    for line in content.splitlines():
        text = line.strip().removeprefix(b"[").removesuffix(b"]").removesuffix(b",")
        if not text:
            continue
        try:
            entry = json.loads(text)
        except ValueError:  # the line that was being written
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries
