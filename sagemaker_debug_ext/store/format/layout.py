"""Layout of the records of a step, computed once for all steps of the same kind.

Steps of one job mostly hold the same tensors in the same shapes. Their records then differ only in time, step number
and content, and their index files in two numbers. Everything else is encoded once.
"""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.store.backends.base import Buffer
from sagemaker_debug_ext.store.format.index import IndexFile, Location, SavedShape
from sagemaker_debug_ext.store.format.messages import Array, array_bytes, encode_record
from sagemaker_debug_ext.vocabulary import ModeKeys

Spec: TypeAlias = tuple[np.dtype[Any], tuple[int, ...]]
"""dtype and shape of a tensor."""

_Positions: TypeAlias = npt.NDArray[np.intp]

_WALL_TIME: Final = struct.Struct("<d")
_WALL_TIME_START: Final = 13
"""Offset of the time in every record, after the framing and the field number (section 2.3)."""

_STEP_START: Final = _WALL_TIME_START + _WALL_TIME.size
_INDEX_SPLIT: Final = ', "tensor_payload": '
_MIN_OWN_PART_BYTES: Final = 1 << 14
"""Smaller contents are copied into one buffer, because copying costs less than passing many buffers."""


class StepKind(NamedTuple):
    """Kind of a step; steps with the same names, dtypes, shapes and lengths of numbers share a layout."""

    names: tuple[str, ...]
    specs: tuple[Spec, ...]
    numbers: tuple[tuple[tuple[str, ...], np.dtype[Any]], ...]
    shapes: tuple[tuple[str, tuple[int, ...], str], ...]
    mode: ModeKeys
    step_bytes: int
    mode_step_digits: int


class Entry(NamedTuple):
    """Name, value and time of a record to write."""

    name: str
    value: Array
    wall_time: float


_NOTHING: Final = np.zeros((), np.uint8)


def record_tail(mode: ModeKeys, mode_step: int) -> bytes:
    """Return the end of every record of a step: mode, step within the mode, and footer."""
    return encode_record("", _NOTHING, 0, mode, mode_step, 0.0)[2]


class _Part(NamedTuple):
    """The content of one tensor: its start in the template and its length there; None if it is not in it."""

    entry: int
    start: int
    end: int | None


class _Group(NamedTuple):
    """The contents of numbers of one dtype: which of them are written, and the place of each byte."""

    rows: _Positions
    places: _Positions


@attrs.frozen(eq=False)
class StepLayout:
    """Places of the records of a step, and the bytes that all steps of a kind share.

    If entries have the same name, the last one counts; `kept` lists the indices of the entries that are written.

    The template holds all records of a step except large contents, which are written without a copy. Times, step
    number, step within the mode and small contents are filled in for each step.
    """

    kept: _Positions
    template: bytes
    times: _Positions
    steps: _Positions
    digits: _Positions
    parts: tuple[_Part, ...]
    groups: tuple[_Group, ...]
    digit_places: tuple[int, ...]
    index_end: bytes

    @classmethod
    def build(cls, entries: Sequence[Entry], kind: StepKind, step: int, mode_step: int) -> StepLayout:
        """Encode a step and return the layout that all steps of its kind share."""
        last = {entry.name: at for at, entry in enumerate(entries)}
        kept = sorted(last.values())
        num_tensors = len(kind.names)
        pieces: list[Buffer] = []
        starts, tail_starts, contents = [], [], []
        parts = []
        locations = {}
        written = end = 0
        for at in kept:
            name, value, wall_time = entries[at]
            head, content, tail = encode_record(name, value, step, kind.mode, mode_step, wall_time)
            size = array_bytes(content)
            starts.append(written)
            written += len(head)
            contents.append(written)
            if size < _MIN_OWN_PART_BYTES:
                if at < num_tensors:
                    parts.append(_Part(at, written, written + size))
                pieces += (head, content, tail)
                written += size
            else:
                parts.append(_Part(at, written, None))
                pieces += (head, tail)
            tail_starts.append(written)
            written += len(tail)
            locations[name] = Location(end, len(head) + size + len(tail))
            end += len(head) + size + len(tail)
        shapes = {name: SavedShape(shape, original_name) for name, shape, original_name in kind.shapes}
        text = IndexFile(kind.mode, mode_step, "events/" if locations else None, locations, shapes).to_json()
        digit_places = _digit_places(kind)
        return cls(
            np.array(kept, np.intp),
            b"".join(pieces),
            _spans(starts, _WALL_TIME_START, _WALL_TIME.size),
            _spans(starts, _STEP_START, kind.step_bytes),
            _positions(tail_starts)[:, None] + _positions(digit_places),
            tuple(parts),
            _groups(kind, dict(zip(kept, contents, strict=True))),
            digit_places,
            text[text.index(_INDEX_SPLIT) :].encode(),
        )

    def records(
        self,
        contents: Sequence[Buffer],
        numbers: Sequence[Array],
        wall_times: npt.NDArray[np.float64],
        step_field: bytes,
        tail: bytes,
    ) -> list[Buffer]:
        """Return a step's records as consecutive buffers; large contents are not copied.

        Args:
            contents: The bytes of each tensor, including tensors that are not written.
            numbers: The numbers, one array per dtype.
            wall_times: The time of each tensor, then of each number.
            step_field: The step as encoded in records.
            tail: The end of each record of this step; see `record_tail`.
        """
        whole = bytearray(self.template)
        target = np.frombuffer(whole, np.uint8)
        target[self.times] = wall_times[self.kept].astype("<f8").view(np.uint8).reshape(-1, _WALL_TIME.size)
        target[self.steps] = np.frombuffer(step_field, np.uint8)
        target[self.digits] = [tail[place] for place in self.digit_places]
        for (rows, places), values in zip(self.groups, numbers, strict=True):
            target[places] = values.view(np.uint8).reshape(len(values), -1)[rows]
        view = memoryview(whole)
        found: list[Buffer] = []
        begin = 0
        for entry, start, end in self.parts:
            if end is not None:
                view[start:end] = contents[entry]
            else:
                found += (view[begin:start], contents[entry])
                begin = start
        found.append(view[begin:])
        return found

    def index(self, mode: ModeKeys, mode_step: int, event_file: str | None) -> bytes:
        """Return the text of a step's index file."""
        meta: dict[str, Any] = {"mode": mode.name, "mode_step": mode_step}
        if event_file is not None:
            meta["event_file_name"] = event_file
        return b"".join((b'{"meta": ', json.dumps(meta).encode(), self.index_end))


def _positions(numbers: Sequence[int]) -> _Positions:
    return np.array(numbers, np.intp)


def _spans(starts: Sequence[int], offset: int, length: int) -> _Positions:
    """Return the places of `length` bytes at `offset` after each start."""
    return _positions(starts)[:, None] + (offset + np.arange(length, dtype=np.intp))


def _digit_places(kind: StepKind) -> tuple[int, ...]:
    """Return the places, in the end of a record, of the digits of the step within the mode."""
    ones, twos = (record_tail(kind.mode, int(digit * kind.mode_step_digits)) for digit in "12")
    return tuple(at for at, (one, two) in enumerate(zip(ones, twos, strict=True)) if one != two)


def _groups(kind: StepKind, contents: dict[int, int]) -> tuple[_Group, ...]:
    """Return the places of the numbers.

    Args:
        kind: The kind of step.
        contents: Start of the content of each entry that is written.
    """
    found = []
    ends = itertools.accumulate((len(names) for names, _ in kind.numbers), initial=len(kind.names))
    for (names, dtype), first in zip(kind.numbers, ends, strict=False):  # the last end is that of all
        rows = [row for row in range(len(names)) if first + row in contents]
        starts = [contents[first + row] for row in rows]
        found.append(_Group(_positions(rows), _spans(starts, 0, dtype.itemsize)))
    return tuple(found)
