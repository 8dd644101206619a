"""How the records of one step lie behind each other, worked out once for all steps that look alike.

Steps of one job mostly hold the same tensors in the same shapes. Their records then differ in time, step number and
content alone, and their index in two numbers, so everything else is encoded once.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import attrs
import numpy as np

from sagemaker_debug_ext.store.backends.base import Buffer
from sagemaker_debug_ext.store.index import IndexFile, Location, SavedShape
from sagemaker_debug_ext.store.messages import Array, array_bytes, encode_record
from sagemaker_debug_ext.vocabulary import ModeKeys

Spec: TypeAlias = tuple[np.dtype[Any], tuple[int, ...]]
"""dtype and shape of a tensor."""

_WALL_TIME: Final = struct.Struct("<d")
_WALL_TIME_START: Final = 13
"""Where the time stands in every record: behind the framing and the number of its field (section 2.3)."""

_WALL_TIME_END: Final = _WALL_TIME_START + _WALL_TIME.size
_INDEX_SPLIT: Final = ', "tensor_payload": '
_MIN_OWN_PART_BYTES: Final = 1 << 14
"""Smaller contents are joined with their neighbours: copying them costs less than handing them over one by one."""


class StepKind(NamedTuple):
    """Steps of one kind share a layout: same names, dtypes and shapes, and numbers of the same length."""

    names: tuple[str, ...]
    specs: tuple[Spec, ...]
    shapes: tuple[tuple[str, tuple[int, ...], str], ...]
    mode: ModeKeys
    step_bytes: int
    mode_step_digits: int


class Entry(NamedTuple):
    """One record to come: its name, value and time."""

    name: str
    value: Array
    wall_time: float


_NOTHING: Final = np.zeros((), np.uint8)


def record_tail(mode: ModeKeys, mode_step: int) -> bytes:
    """Return what ends every record of a step: mode, step within the mode, footer."""
    return encode_record("", _NOTHING, 0, mode, mode_step, 0.0)[2]


@attrs.frozen
class StepLayout:
    """Where the records of a step lie, and all of them that does not change from step to step.

    Of entries with the same name the last one counts; `kept` lists the indices of those that are written.
    """

    kept: tuple[int, ...]
    heads: tuple[tuple[bytes, bytes], ...]
    index_end: str
    num_bytes: int

    @classmethod
    def build(cls, entries: Sequence[Entry], kind: StepKind, step: int, mode_step: int) -> StepLayout:
        """Encode a step once, and keep what all steps of its kind share."""
        last = {entry.name: at for at, entry in enumerate(entries)}
        kept = tuple(sorted(last.values()))
        heads = []
        locations = {}
        end = 0
        for at in kept:
            name, value, wall_time = entries[at]
            head, content, tail = encode_record(name, value, step, kind.mode, mode_step, wall_time)
            heads.append((head[:_WALL_TIME_START], head[_WALL_TIME_END + kind.step_bytes :]))
            length = len(head) + array_bytes(content) + len(tail)
            locations[name] = Location(end, length)
            end += length
        shapes = {name: SavedShape(shape, original_name) for name, shape, original_name in kind.shapes}
        text = IndexFile(kind.mode, mode_step, "events/" if locations else None, locations, shapes).to_json()
        return cls(kept, tuple(heads), text[text.index(_INDEX_SPLIT) :], end)

    def records(
        self, contents: Sequence[Buffer], wall_times: Sequence[float], step_field: bytes, tail: bytes
    ) -> list[Buffer]:
        """Return a step's records as buffers to be written one after the other; large contents are not copied.

        Args:
            contents: The bytes of each entry, those left out included.
            wall_times: The time of each entry.
            step_field: The step as records spell it.
            tail: What ends each record of this step, see `record_tail`.
        """
        parts: list[Buffer] = []
        run: list[Buffer] = []
        for at, (before, after) in zip(self.kept, self.heads, strict=True):
            content = contents[at]
            run += (before, _WALL_TIME.pack(wall_times[at]), step_field, after)
            if len(content) < _MIN_OWN_PART_BYTES:
                run.append(content)
            else:
                parts += (b"".join(run), content)
                run.clear()
            run.append(tail)
        parts.append(b"".join(run))
        return parts

    def index(self, mode: ModeKeys, mode_step: int, event_file: str | None) -> bytes:
        """Return the text of a step's index file."""
        meta: dict[str, Any] = {"mode": mode.name, "mode_step": mode_step}
        if event_file is not None:
            meta["event_file_name"] = event_file
        return f'{{"meta": {json.dumps(meta)}{self.index_end}'.encode()
