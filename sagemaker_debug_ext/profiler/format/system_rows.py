"""System metrics: JSON lines to columns and back (profiler format, section 1.2)."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from sagemaker_debug_ext.errors import SMDebugValueError

_TOKENS: Final = (b'{"Type":"', b'","Name":"', b'","Dimension":"', b'","Value":', b',"NodeId":"', b'","Timestamp":')
"""The text before each value, as the platform writes it."""

_SPACED_TOKENS: Final = (
    b'{"Type": "',
    b'", "Name": "',
    b'", "Dimension": "',
    b'", "Value": ',
    b', "NodeId": "',
    b'", "Timestamp": ',
)
"""The same as `json.dumps` writes it."""

_END: Final = b"}\n"
_HAS_POINT: Final = re.compile(rb"\d+\.").match
_NUM_COLUMNS: Final = 6


class SystemRow(NamedTuple):
    """One value of one sensor.

    Attributes:
        type: ``cpu``, ``gpu``, ``memory``, ``i/o`` or ``network``.
        name: The sensor; None if the file does not name it.
        dimension: What is measured; empty for memory and disk.
        value: Percent, or a rate per second.
        node: The machine, such as ``algo-1``.
        timestamp: Seconds since 1970.
    """

    type: str
    name: str | None
    dimension: str
    value: float
    node: str
    timestamp: float


class SystemRows(NamedTuple):
    """Rows as columns of equal length, in file order; see `SystemRow`."""

    types: Sequence[str]
    names: Sequence[str | None]
    dimensions: Sequence[str]
    values: Sequence[float]
    nodes: Sequence[str]
    timestamps: Sequence[float]

    @classmethod
    def concatenate(cls, parts: Sequence[SystemRows]) -> SystemRows:
        """Return the rows of several parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        columns: list[list[Any]] = [[] for _ in range(_NUM_COLUMNS)]
        for part in parts:
            for column, values in zip(columns, part, strict=True):
                column.extend(values)
        return cls(*columns)

    def select(self, positions: Sequence[int]) -> SystemRows:
        """Return the rows at some positions."""
        columns: list[list[Any]] = [[column[position] for position in positions] for column in self]
        return SystemRows(*columns)

    def rows(self) -> Iterator[SystemRow]:
        """Yield each row."""
        return map(SystemRow._make, zip(*self, strict=True))

    def __bool__(self) -> bool:
        return bool(self.types)


class _Texts(dict[bytes, str]):
    """Decoded strings; equal bytes give the same object."""

    def __missing__(self, key: bytes) -> str:
        text = self[key] = key.decode()
        return text


def format_row(row: SystemRow) -> str:
    """Return the line of a row, with its newline: two decimals, microseconds."""
    before, between = _sensor_texts(row.type, row.name, row.dimension, row.node)
    return f"{before}{row.value:.2f}{between}{row.timestamp:.6f}}}\n"


@functools.lru_cache(4096)
def _sensor_texts(kind: str, name: str | None, dimension: str, node: str) -> tuple[str, str]:
    """Return the parts of a line around the value, which are the same in all rows of a sensor."""
    before = f'{{"Type":{json.dumps(kind)},"Name":{json.dumps(name)},"Dimension":{json.dumps(dimension)},"Value":'
    return before, f',"NodeId":{json.dumps(node)},"Timestamp":'


def parse_rows(content: bytes) -> tuple[SystemRows, list[str]]:
    """Parse the lines of a file.

    An incomplete last line is the one being written, and it is skipped. Other lines that are not rows are skipped and
    described.

    Returns:
        The rows, and one text for each skipped line.
    """
    rows = _parse_uniform(content)
    return (rows, []) if rows is not None else _parse_each(content)


def _parse_uniform(content: bytes) -> SystemRows | None:
    """Parse lines with the usual keys in the usual order, without escapes; None if any line differs.

    Every key is replaced by a newline, so that one split gives all fields. This is four times as fast as a JSON parser.
    """
    count = content.count(b"\n")
    if not content.endswith(_END) or b"\\" in content:
        return None
    text = content
    tokens = _TOKENS if content.startswith(_TOKENS[0]) else _SPACED_TOKENS
    for token in (*tokens, _END):
        if text.count(token) != count:
            return None
        text = text.replace(token, b"" if token is tokens[0] else b"\n")
    if b'"' in text or b"{" in text:
        return None
    fields = text.split(b"\n")
    if len(fields) != _NUM_COLUMNS * count + 1:
        return None
    types, names, dimensions, values, nodes, timestamps = (fields[at:-1:_NUM_COLUMNS] for at in range(_NUM_COLUMNS))
    texts = _Texts()
    try:
        return SystemRows(
            list(map(texts.__getitem__, types)),
            list(map(texts.__getitem__, names)),
            list(map(texts.__getitem__, dimensions)),
            _parse_numbers(values),
            list(map(texts.__getitem__, nodes)),
            list(map(float, timestamps)),
        )
    except ValueError:  # not a number, or not UTF-8
        return None


def _parse_numbers(fields: list[bytes]) -> list[float]:
    """Return the fields as numbers; those without a point are integers."""
    if all(map(_HAS_POINT, fields)):
        return list(map(float, fields))
    return [float(field) if b"." in field else json.loads(field) for field in fields]


def _parse_each(content: bytes) -> tuple[SystemRows, list[str]]:
    rows: list[SystemRow] = []
    problems: list[str] = []
    lines = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append(_to_row(json.loads(line)))
        except ValueError as error:
            if number < len(lines):
                problems.append(f"line {number}: {error}")
    return SystemRows(*zip(*rows, strict=True)) if rows else SystemRows((), (), (), (), (), ()), problems


def _to_row(entry: Any) -> SystemRow:
    if not isinstance(entry, dict):
        raise SMDebugValueError(f"a row must be an object (got {entry!r})")
    for key, kind in (("Type", str), ("Dimension", str), ("Value", (int, float)), ("NodeId", str)):
        if not isinstance(entry.get(key), kind):
            raise SMDebugValueError(f"{key} is missing or has the wrong type (got {entry.get(key)!r})")
    timestamp = entry.get("Timestamp")
    if not isinstance(timestamp, (int, float)) or not math.isfinite(timestamp):
        raise SMDebugValueError(f"Timestamp must be seconds since 1970 (got {timestamp!r})")
    name = entry.get("Name")
    return SystemRow(entry["Type"], name, entry["Dimension"], entry["Value"], entry["NodeId"], timestamp)
