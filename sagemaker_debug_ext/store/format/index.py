"""Index files: where each tensor lies in the event file of one step and worker (store format, section 4)."""

from __future__ import annotations

import hashlib
import json
import operator
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.errors import IndexReaderException
from sagemaker_debug_ext.store.format.keys import STEP_LIMIT
from sagemaker_debug_ext.vocabulary import ModeKeys

UNNAMED_EVENT_FILE: Final = "events/unnamed.tfevents"
"""Key of the event file of an index file that names none; no writer uses it, so that the values count as missing."""


class Location(NamedTuple):
    """Start and length of a record in its event file, in bytes, including framing."""

    start: int
    length: int


class SavedShape(NamedTuple):
    """A shape saved instead of or besides a value, with the framework's name of the tensor, which may differ."""

    shape: tuple[int, ...]
    original_name: str


@attrs.frozen
class IndexFile:
    """Content of an index file: the records and shapes that one worker saved at one step.

    Args:
        mode: Mode of the step.
        mode_step: Step within the mode.
        event_file: Key of the event file; None if only shapes were saved.
        tensors: Stored name, including reductions → location of the record.
        shapes: Tensor name → saved shape.
    """

    mode: ModeKeys
    mode_step: int
    event_file: str | None
    tensors: Mapping[str, Location]
    shapes: Mapping[str, SavedShape] = attrs.field(factory=dict)

    def to_json(self) -> str:
        """Return the text of the file."""
        meta: dict[str, Any] = {"mode": self.mode.name, "mode_step": self.mode_step}
        if self.event_file is not None:
            meta["event_file_name"] = self.event_file
        payload = [
            {"tensorname": name, "start_idx": start, "length": length} for name, (start, length) in self.tensors.items()
        ]
        shapes = [
            {"tensorname": name, "originalname": saved.original_name, "shape": list(saved.shape)}
            for name, saved in self.shapes.items()
        ]
        return json.dumps({"meta": meta, "tensor_payload": payload, "shape_payload": shapes})

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> IndexFile:
        """Parse the text of a file.

        If a name occurs twice, the last entry counts; unknown keys are ignored (section 12).

        Args:
            text: The whole file.
            where: Name of the file in errors.

        Raises:
            IndexReaderException: The text is not an index file.
        """
        try:
            return cls._from_object(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise IndexReaderException(f"{where}: not an index file: {error!r}") from error

    @classmethod
    def _from_object(cls, content: Any) -> IndexFile:
        meta = content["meta"]
        if "tensor_payload" not in content and "shape_payload" not in content:
            raise ValueError("neither tensor_payload nor shape_payload is there")
        event_file = UNNAMED_EVENT_FILE if meta.get("event_file_name") == "" else meta.get("event_file_name")
        if event_file is not None:
            _check_event_file(event_file)
        tensors = {
            _text(entry["tensorname"]): Location(_count(entry["start_idx"]), _count(entry["length"]))
            for entry in content.get("tensor_payload") or ()
        }
        _last_end([start for start, _ in tensors.values()], [length for _, length in tensors.values()])
        if tensors and event_file is None:
            raise ValueError("tensors are listed, but event_file_name is missing")
        shapes = {
            _text(entry["tensorname"]): SavedShape(
                tuple(_count(size) for size in entry["shape"]),
                _text(entry.get("originalname", entry["tensorname"])),
            )
            for entry in content.get("shape_payload") or ()
        }
        mode_step = int(meta["mode_step"])
        if not -STEP_LIMIT <= mode_step < STEP_LIMIT:
            raise ValueError(f"mode_step must be a whole number of at most 64 bits (got {mode_step})")
        return cls(ModeKeys[meta["mode"].strip()], mode_step, event_file, tensors, shapes)


class IndexContent:
    """Content of an index file without its step; files with the same text share one instance.

    Args:
        names: Names of the records, including reductions.
        places: Start and length of each record, one after the other.
        shapes: Names and saved shapes.

    Attributes:
        end: End of the last record in the event file.

    Raises:
        ValueError: A record is empty, or lies beyond the largest possible file.
    """

    __slots__ = ("end", "names", "places", "shapes")

    def __init__(
        self, names: tuple[str, ...], places: array[int], shapes: tuple[tuple[str, SavedShape], ...] = ()
    ) -> None:
        self.names = names
        self.places = places
        self.shapes = shapes
        self.end = _last_end(places[::2], places[1::2])

    def location(self, position: int) -> Location:
        """Return the location of the record at a position in `names`."""
        return Location(self.places[2 * position], self.places[2 * position + 1])


class IndexEntry(NamedTuple):
    """Compact form of an `IndexFile`, which is kept in memory."""

    mode: ModeKeys
    mode_step: int
    event_file: str | None
    content: IndexContent

    @classmethod
    def of(cls, file: IndexFile) -> IndexEntry:
        """Return the compact form of an index file.

        Raises:
            ValueError: A record cannot be where the file says.
            OverflowError: A location is beyond 2^64 bytes.
        """
        places = array("Q", (number for location in file.tensors.values() for number in location))
        content = IndexContent(tuple(file.tensors), places, tuple(file.shapes.items()))
        return cls(file.mode, file.mode_step, file.event_file, content)


_MAX_END: Final = (1 << 63) - 1
"""Size of the largest possible file."""

_MAX_KEY_BYTES: Final = 1024
"""Longest key of S3."""

_HEAD: Final = re.compile(
    rb'\{"meta": \{"mode": "(TRAIN|EVAL|PREDICT|GLOBAL)", "mode_step": (\d{1,18})'
    rb'(?:, "event_file_name": "(events/[0-9A-Za-z_./-]{1,1000})")?\}, (?="tensor_payload": )'
)
"""Start of the files of all known writers; the rest is often the same for many steps."""

_TEXT: Final = rb'"([^"\\\x00-\x1f]{0,4096}(?:\\.[^"\\\x00-\x1f]{0,4096}){0,1000})"'
_PLACES: Final = b'"tensor_payload": ['
_SHAPES: Final = b', "shape_payload": ['
_COUNT: Final = rb"(?:0|[1-9]\d{0,18})"
_PLACE: Final = re.compile(
    rb'\{"tensorname": ' + _TEXT + rb', "start_idx": (' + _COUNT + rb'), "length": (' + _COUNT + rb")\}"
)
_SHAPE: Final = re.compile(
    rb'\{"tensorname": ' + _TEXT + rb', "originalname": ' + _TEXT + rb', "shape": \[((?:' + _COUNT
    + rb"(?:, " + _COUNT + rb"){0,63})?)\]\}"
)  # fmt: skip
"""Form in which all known writers write an entry. Matching it needs no intermediate objects, unlike a JSON parser."""

_MAX_KEPT_BYTES: Final = 4 << 20
_LONG_BYTES: Final = 16 << 10


class IndexParser:
    """Parses index files; text after the step that several files share is parsed once.

    Callers must hold a lock.
    """

    def __init__(self) -> None:
        self._contents: dict[bytes, IndexContent] = {}
        self._kept_bytes = 0

    def parse(self, text: bytes, where: str) -> IndexEntry:
        """Parse the text of a file, as `IndexFile.from_json` does.

        Parsing takes at most twice the file's size in memory for the form that all known writers use. Files of another
        form need memory for the objects of their JSON.

        Raises:
            IndexReaderException: The text is not an index file.
        """
        head = _HEAD.match(text)
        if head is None:
            return self._parse(text, where)
        tail = _key(text, head.end())
        content = self._contents.get(tail)
        if content is None:
            content = _read_plainly(text, head.end())
            if content is None:
                entry = self._parse(text, where)
                if not _tells_the_step(text[head.end() :]):
                    self._keep(tail, entry.content, len(text))
                return entry
            self._keep(tail, content, len(text))
        event_file = None if head[3] is None else head[3].decode()
        if (content.names and event_file is None) or ".." in (event_file or ""):
            return self._parse(text, where)
        return IndexEntry(ModeKeys[head[1].decode()], int(head[2]), event_file, content)

    def _parse(self, text: bytes, where: str) -> IndexEntry:
        try:
            return IndexEntry.of(IndexFile.from_json(text, where))
        except (ValueError, OverflowError) as error:
            raise IndexReaderException(f"{where}: not an index file: {error}") from error

    def _keep(self, tail: bytes, content: IndexContent, num_bytes: int) -> None:
        if self._kept_bytes > _MAX_KEPT_BYTES:
            self._contents.clear()
            self._kept_bytes = 0
        self._contents[tail] = content
        self._kept_bytes += num_bytes


def _key(text: bytes, at: int) -> bytes:
    """Return a key that identifies the rest of a file: the bytes themselves, or a digest if they are long."""
    if len(text) - at <= _LONG_BYTES:
        return text[at:]
    return hashlib.blake2b(memoryview(text)[at:]).digest()


def _tells_the_step(tail: bytes) -> bool:
    """Return whether the rest of a file repeats the keys of the step, possibly with other values."""
    return (b"meta" in tail or b"\\u" in tail) and "meta" in json.loads(b"{" + tail)


def _read_plainly(text: bytes, at: int) -> IndexContent | None:
    """Parse the text after the step entry by entry; None if it does not have the form of the known writers."""
    names: list[str] = []
    places = array("Q")
    shapes: list[tuple[str, SavedShape]] = []

    def take_place(entry: re.Match[bytes]) -> None:
        names.append(_decode(entry[1]))
        places.extend((int(entry[2]), int(entry[3])))

    def take_shape(entry: re.Match[bytes]) -> None:
        shape = tuple(int(size) for size in entry[3].split(b", ")) if entry[3] else ()
        shapes.append((_decode(entry[1]), SavedShape(shape, _decode(entry[2]))))

    try:
        at = _read_list(text, at, _PLACES, _PLACE, take_place)
        if text.startswith(_SHAPES, at):
            at = _read_list(text, at, _SHAPES, _SHAPE, take_shape)
        if text[at : at + 2] != b"}" or _has_duplicates(names) or _has_duplicates([name for name, _ in shapes]):
            return None
        return IndexContent(tuple(names), places, tuple(shapes))
    except ValueError:
        return None


def _read_list(
    text: bytes, at: int, begin: bytes, pattern: re.Pattern[bytes], take: Callable[[re.Match[bytes]], object]
) -> int:
    """Parse the entries of a list; return the position of its end.

    Raises:
        ValueError: The list has another form.
    """
    if not text.startswith(begin, at):
        raise ValueError("another list was expected")
    at += len(begin)
    separator = b""
    while not text.startswith(b"]", at):
        entry = pattern.match(text, at + len(separator)) if text.startswith(separator, at) else None
        if entry is None:
            raise ValueError("an entry is of another form")
        take(entry)
        at, separator = entry.end(), b", "
    return at + 1


def _decode(text: bytes) -> str:
    return text.decode() if b"\\" not in text else str(json.loads(b'"' + text + b'"'))


def _has_duplicates(names: Sequence[str]) -> bool:
    """Return whether a name may occur twice, using only a few bytes of memory per name."""
    hashes = np.fromiter(map(hash, names), np.int64, len(names))
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a name must be a text (got {value!r})")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"a place or size must be a whole number from 0 (got {value!r})")
    return value


def _last_end(starts: Sequence[int], lengths: Sequence[int]) -> int:
    """Return the end of the last record in the event file, in bytes; raise if a record cannot be there."""
    end = max(map(operator.add, starts, lengths), default=0)
    if end > _MAX_END or 0 in lengths:
        raise ValueError("each record must have at least one byte, and end before byte 2^63")
    return end


def _check_event_file(key: object) -> None:
    """Raise if an event file name leads out of the trial, or cannot be that of an object."""
    if not isinstance(key, str) or key.startswith("/") or ".." in key.split("/"):
        raise ValueError(f"event_file_name must be a path within the trial (got {key!r})")
    if len(key.encode()) > _MAX_KEY_BYTES or "\\" in key or "\0" in key:
        raise ValueError(f"event_file_name must be a key of at most {_MAX_KEY_BYTES} bytes (got {key[:100]!r})")
