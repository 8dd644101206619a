"""Output of commands: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sagemaker_debug_ext._json import json_number
from sagemaker_debug_ext._printable import printable, printable_name


def write(text: str = "") -> None:
    """Print a line of data at once, so that a pipe sees what a command that follows a job has found."""
    print(printable(text), flush=True)


def say(text: str) -> None:
    """Print a line for the user to standard error."""
    print(printable(text), file=sys.stderr)


def write_json(value: Any) -> None:
    """Print a value as JSON; arrays become lists, and NaN and infinities become strings."""
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int)):  # first, because almost all values are
        return value
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return json_number(value)
    return _plain([value.real, value.imag]) if isinstance(value, complex) else value


def format_cell(value: Any) -> str:
    """Format a value for a table: six significant digits, an empty string for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return printable_name(str(value))


def format_table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Format rows as aligned columns under their headers; columns of numbers are right-aligned."""
    values = [list(row) for row in rows]
    cells = [list(headers), *([format_cell(value) for value in row] for row in values)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    numeric = [
        bool(values) and all(isinstance(row[column], (int, float, type(None))) for row in values)
        for column in range(len(headers))
    ]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join(line(row) for row in cells)


def format_bytes(number: int) -> str:
    """Format a number of bytes in the largest unit in which it is at least one."""
    size = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
