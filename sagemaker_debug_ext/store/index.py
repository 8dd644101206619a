"""Index files: which tensor lies where in the event file of one step and worker (store format, section 4)."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import attrs

from sagemaker_debug_ext.errors import IndexReaderException
from sagemaker_debug_ext.store.keys import EVENTS_PREFIX
from sagemaker_debug_ext.vocabulary import ModeKeys


class Location(NamedTuple):
    """Where a record lies in its event file, in bytes, framing included."""

    start: int
    length: int


class SavedShape(NamedTuple):
    """A shape that was saved instead of, or beside, a value; the framework's own name of the tensor may differ."""

    shape: tuple[int, ...]
    original_name: str


@attrs.frozen
class IndexFile:
    """What one worker saved at one step.

    Args:
        mode: Mode of the step.
        mode_step: Step within the mode.
        event_file: Key of the records; None if only shapes were saved.
        tensors: Stored name, reductions included → place of its record.
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
        """Read the text of a file.

        A name that occurs twice means its last entry; unknown keys are ignored (section 12).

        Args:
            text: The whole file.
            where: What to call it in an error.

        Raises:
            IndexReaderException: The text is no index file.
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
        event_file = meta.get("event_file_name")
        if event_file is not None:
            _check_event_file(event_file)
        tensors = {
            _text(entry["tensorname"]): Location(_count(entry["start_idx"]), _count(entry["length"]))
            for entry in content.get("tensor_payload") or ()
        }
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
        return cls(ModeKeys[meta["mode"].strip()], mode_step, event_file, tensors, shapes)


class IndexContent:
    """What an index file lists, without the step it belongs to; files with the same text share one.

    Args:
        names: Names of the records, reductions included.
        places: Start and length of each record, one after the other.
        shapes: Names and saved shapes.

    Attributes:
        end: Where the last record ends in the event file.
    """

    __slots__ = ("end", "names", "places", "shapes")

    def __init__(
        self, names: tuple[str, ...], places: array[int], shapes: tuple[tuple[str, SavedShape], ...] = ()
    ) -> None:
        self.names = names
        self.places = places
        self.shapes = shapes
        self.end = max((start + length for start, length in zip(places[::2], places[1::2], strict=True)), default=0)

    def location(self, position: int) -> Location:
        """Return where the record at a position of `names` lies."""
        return Location(self.places[2 * position], self.places[2 * position + 1])


class IndexEntry(NamedTuple):
    """One index file, in the form that is kept: see `IndexFile`."""

    mode: ModeKeys
    mode_step: int
    event_file: str | None
    content: IndexContent

    @classmethod
    def of(cls, file: IndexFile) -> IndexEntry:
        """Return the same in the form that is kept.

        Raises:
            OverflowError: A place is beyond what a file can hold.
        """
        places = array("Q", (number for location in file.tensors.values() for number in location))
        content = IndexContent(tuple(file.tensors), places, tuple(file.shapes.items()))
        return cls(file.mode, file.mode_step, file.event_file, content)


_HEAD: Final = re.compile(
    rb'\{"meta": \{"mode": "(TRAIN|EVAL|PREDICT|GLOBAL)", "mode_step": (\d{1,18})'
    rb'(?:, "event_file_name": "(events/[0-9A-Za-z_./-]+)")?\}, (?="tensor_payload": )'
)
"""How the files of all known writers begin; what follows is often the same for many steps."""

_MAX_KEPT_BYTES: Final = 4 << 20


class IndexParser:
    """Reads index files, fast where many are alike: what follows the step is read once for all files that share it.

    Not locked: its owner is.
    """

    def __init__(self) -> None:
        self._contents: dict[bytes, IndexContent] = {}
        self._kept_bytes = 0

    def parse(self, text: bytes, where: str) -> IndexEntry:
        """Read the text of a file, as `IndexFile.from_json` does.

        Raises:
            IndexReaderException: The text is no index file.
        """
        head = _HEAD.match(text)
        if head is None:
            return self._parse(text, where)
        tail = text[head.end() :]
        content = self._contents.get(tail)
        event_file = None if head[3] is None else head[3].decode()
        if content is None or (content.names and event_file is None) or ".." in (event_file or ""):
            entry = self._parse(text, where)
            self._keep(tail, entry.content)
            return entry
        return IndexEntry(ModeKeys[head[1].decode()], int(head[2]), event_file, content)

    def _parse(self, text: bytes, where: str) -> IndexEntry:
        try:
            return IndexEntry.of(IndexFile.from_json(text, where))
        except OverflowError as error:
            raise IndexReaderException(f"{where}: a record lies beyond 2^64 bytes") from error

    def _keep(self, tail: bytes, content: IndexContent) -> None:
        if (b"meta" in tail or b"\\u" in tail) and "meta" in json.loads(b"{" + tail):
            return  # says again, and otherwise, which step this is
        if self._kept_bytes > _MAX_KEPT_BYTES:
            self._contents.clear()
            self._kept_bytes = 0
        self._contents[tail] = content
        self._kept_bytes += len(tail)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a name must be a text (got {value!r})")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"a place or size must be a whole number from 0 (got {value!r})")
    return value


def _check_event_file(key: object) -> None:
    """Refuse names that would lead out of the trial."""
    if not isinstance(key, str) or not key.startswith(EVENTS_PREFIX) or ".." in key.split("/"):
        raise ValueError(f"event_file_name must lie below {EVENTS_PREFIX!r} (got {key!r})")
