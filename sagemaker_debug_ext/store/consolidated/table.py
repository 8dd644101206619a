"""Encode many index files as one file of arrays, so that a reader opens only one file.

Names, shapes and places that many files share are stored once. Each entry holds the version of its index file, by which
readers recognize replaced files.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.format.index import IndexContent, IndexEntry, SavedShape
from sagemaker_debug_ext.store.format.keys import join_event_key, join_index_key, mangle_worker
from sagemaker_debug_ext.store.format.records import masked_crc
from sagemaker_debug_ext.vocabulary import ModeKeys

DAMAGE: Final = (ValueError, KeyError, IndexError, TypeError, OverflowError, RecursionError)
"""Errors that `decode_table` raises for bytes that are not a table."""

_MAGIC: Final = b"sagemaker_debug_ext index 2\n"
_LIMIT: Final = 1 << 63
_MODES: Final = tuple(ModeKeys)
_COLUMNS: Final = (
    ("steps", "q"),
    ("workers", "I"),
    ("modes", "B"),
    ("mode_steps", "q"),
    ("contents", "I"),
    ("events", "B"),
)


class IndexedFile(NamedTuple):
    """The content of one index file, with its version."""

    version: str
    step: int
    worker: str
    entry: IndexEntry


class _Table:
    """Assigns numbers to values in the order of their first occurrence."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def encode_table(files: Iterable[IndexedFile], label: str) -> bytes:
    """Return the bytes of a table; files with unusual names and files without a version are skipped.

    Args:
        files: The index files to store.
        label: Text to store with them.
    """
    names, shapes, workers, contents = _Table(), _Table(), _Table(), _Table()
    columns = {name: array(code) for name, code in _COLUMNS}
    versions: list[str] = []
    mangled: dict[str, str] = {}
    for file in files:
        version, step, worker, (mode, mode_step, event_file, content) = file
        if worker not in mangled:
            mangled[worker] = _mangle(worker)
        if not _can_be_kept(file, mangled[worker]):
            continue
        columns["steps"].append(step)
        columns["workers"].append(workers.number(worker))
        columns["modes"].append(_MODES.index(mode))
        columns["mode_steps"].append(mode_step)
        columns["contents"].append(contents.number(content))
        columns["events"].append(event_file is not None)
        versions.append(version)
    places = array("Q")
    layouts = []
    for content in contents.numbers:
        layouts.append((names.number(content.names), shapes.number(content.shapes), len(content.places)))
        places.extend(content.places)
    head = {
        "label": label,
        "num_files": len(versions),
        "names": list(names.numbers),
        "shapes": list(shapes.numbers),
        "workers": list(workers.numbers),
        "contents": layouts,
        "versions": versions,
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    parts = [
        len(text).to_bytes(8, "little"),
        text,
        *(column.tobytes() for column in columns.values()),
        places.tobytes(),
    ]
    body = b"".join(parts)
    return _MAGIC + masked_crc(body).to_bytes(4, "little") + body


def _mangle(worker: str) -> str:
    try:
        return mangle_worker(worker)
    except SMDebugValueError:  # not a name that writers of this package use
        return ""


def _can_be_kept(file: IndexedFile, mangled: str) -> bool:
    usual = join_event_key(file.step, mangled)
    numbers = (file.step, file.entry.mode_step)
    return bool(
        file.version
        and mangled
        and file.entry.event_file in (None, usual)
        and all(-_LIMIT <= n < _LIMIT for n in numbers)
    )


def decode_table(data: bytes) -> tuple[str, dict[str, IndexedFile]]:
    """Return the label and key → content of each index file; the inverse of `encode_table`.

    Raises:
        ValueError: The bytes are not a table; the other errors in `DAMAGE` mean the same.
    """
    start = len(_MAGIC) + 4
    body = memoryview(data)[start:]
    if not data.startswith(_MAGIC) or int.from_bytes(data[start - 4 : start], "little") != masked_crc(body):
        raise ValueError("not a kept index, or a damaged one")
    at = 8 + int.from_bytes(body[:8], "little")
    head = json.loads(bytes(body[8:at]))
    columns: list[array[int]] = []
    for _, code in _COLUMNS:
        column = array(code)
        end = at + head["num_files"] * column.itemsize
        column.frombytes(body[at:end])
        columns.append(column)
        at = end
    contents = _contents(head, body[at:])
    found: dict[str, IndexedFile] = {}
    workers = [(worker, mangle_worker(worker)) for worker in head["workers"]]
    versions = map(_text, head["versions"])
    for version, step, worker_number, mode, mode_step, number, has_events in zip(versions, *columns, strict=True):
        worker, mangled = workers[worker_number]
        if contents[number].names and not has_events:
            raise ValueError("records are listed, but no file that holds them")
        event_file = join_event_key(step, mangled) if has_events else None
        entry = IndexEntry(_MODES[mode], mode_step, event_file, contents[number])
        found[join_index_key(step, mangled)] = IndexedFile(version, step, worker, entry)
    return str(head["label"]), found


def _contents(head: dict[str, Any], data: memoryview) -> list[IndexContent]:
    names = [tuple(map(_text, group)) for group in head["names"]]
    shapes = [
        tuple((_text(name), SavedShape(tuple(map(_count, shape)), _text(original))) for name, (shape, original) in row)
        for row in head["shapes"]
    ]
    contents = []
    at = 0
    for names_number, shapes_number, num_places in head["contents"]:
        places = array("Q")
        places.frombytes(data[at : at + 8 * num_places])
        at += 8 * num_places
        if len(places) != 2 * len(names[names_number]):
            raise ValueError("as many places as names must be kept")
        contents.append(IndexContent(names[names_number], places, shapes[shapes_number]))
    return contents


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected (got {value!r})")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise TypeError(f"a whole number from 0 was expected (got {value!r})")
    return value
