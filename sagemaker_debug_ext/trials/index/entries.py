"""The entries of index files: where each tensor of a step is stored, and which steps share a layout."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import attrs

from sagemaker_debug_ext.store.format.index import IndexContent, Location, SavedShape
from sagemaker_debug_ext.store.format.keys import split_reduction_name
from sagemaker_debug_ext.vocabulary import ModeKeys

ReductionKey: TypeAlias = tuple[str, bool]
"""Name of a reduction, and whether it is of the absolute values."""

ModeStep: TypeAlias = tuple[ModeKeys, int]
"""A mode, and a step counted within it."""


class StoredRecord(NamedTuple):
    """A record with a value, and the worker and global step that it belongs to."""

    event_file: str
    location: Location
    name: str
    step: int
    worker: str
    file_end: int = 0
    """Where the last record of the event file ends, as far as is known."""


@attrs.frozen
class SavedTensor:
    """The records of one tensor that one worker saved at one step.

    Args:
        value: The record of the tensor itself; None if it was not saved.
        reductions: The records of its reductions.
        shape: Its saved shape; None if it was not saved.
    """

    value: StoredRecord | None
    reductions: Mapping[ReductionKey, StoredRecord]
    shape: SavedShape | None


class TensorSlots:
    """Positions of the records and the shape of one tensor in the files of a layout; -1 if not saved."""

    __slots__ = ("reductions", "shape", "value")

    def __init__(self) -> None:
        self.value = -1
        self.shape = -1
        self.reductions: dict[ReductionKey, int] = {}


class IndexLayout:
    """The names of an index file, shared by all files that list the same names in the same order.

    Attributes:
        names: Names of the records, reductions included.
        slots: Tensor name → positions of its records and shape.
        rows: The index files of this layout, as rows of the trial's `FileTable`.
    """

    __slots__ = ("names", "rows", "slots")

    def __init__(self, names: tuple[str, ...], shape_names: tuple[str, ...]) -> None:
        self.names = names
        self.slots: dict[str, TensorSlots] = {}
        self.rows = array("I")
        for position, name in enumerate(names):
            reduction = split_reduction_name(name)
            if reduction is None:
                self._slot(name).value = position
            else:
                operation, absolute, tensor_name = reduction
                self._slot(tensor_name).reductions[operation, absolute] = position
        for position, name in enumerate(shape_names):
            self._slot(name).shape = position

    def _slot(self, tensor_name: str) -> TensorSlots:
        return self.slots.setdefault(tensor_name, TensorSlots())


class IndexEntryFile:
    """One index file, which lists the records that one worker saved at one step.

    `modified_at` is the time at which it was written, in seconds since the epoch by the back end's clock; 0 if unknown.
    """

    __slots__ = ("content", "event_file", "layout", "mode_step", "modified_at", "step", "version", "worker")

    def __init__(
        self,
        step: int,
        worker: str,
        layout: IndexLayout,
        mode_step: ModeStep,
        event_file: str | None,
        content: IndexContent,
        version: str,
        modified_at: float,
    ) -> None:
        self.step = step
        self.worker = worker
        self.layout = layout
        self.mode_step = mode_step
        self.event_file = event_file
        self.content = content
        self.version = version
        self.modified_at = modified_at

    def record(self, position: int) -> StoredRecord:
        """Return the record at a position of the layout's names."""
        content = self.content
        assert self.event_file is not None  # files that list records name their event file
        location = content.location(position)
        return StoredRecord(self.event_file, location, content.names[position], self.step, self.worker, content.end)

    def saved(self, slot: TensorSlots) -> SavedTensor:
        """Return the saved records and shape of the tensor that a slot belongs to."""
        return SavedTensor(
            self.record(slot.value) if slot.value >= 0 else None,
            {key: self.record(position) for key, position in slot.reductions.items()},
            self.content.shapes[slot.shape][1] if slot.shape >= 0 else None,
        )
