"""The index of a trial in memory: which worker saved which tensor at which step, and where the record is stored.

This module holds look-ups only: `trials.index.refresh` reads the index files, and `trials.index.file_table` holds what
they say. Files that list the same names share one `IndexLayout`, and the places of a file's records are one array of
numbers.
"""

from __future__ import annotations

import math
import operator
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final

from sagemaker_debug_ext.errors import SMDebugTypeError, meant_mode
from sagemaker_debug_ext.store.format.index import IndexContent, IndexEntry
from sagemaker_debug_ext.trials.index.entries import (
    IndexEntryFile,
    IndexLayout,
    ModeStep,
    SavedTensor,
    StoredRecord,
)
from sagemaker_debug_ext.trials.index.file_table import FileTable, Steps
from sagemaker_debug_ext.trials.index.step_sequence import StepSequence, StepsOfMode
from sagemaker_debug_ext.vocabulary import ModeKeys

_MAX_KNOWN_CONTENTS: Final = 4096
"""Limit of the contents whose layouts are remembered; files of most trials share a few contents."""

_MAX_STEPS_OF_TENSORS: Final = 4_000_000
"""Limit of the steps in all remembered sequences of tensors, 16 bytes each."""


class TrialIndex:
    """Which worker saved which tensors at which step. Callers must hold the owner's lock.

    The rows of one global step form a chain. `_first_rows` holds its start for each step, in the order of the steps;
    `_next_rows` holds the row after each row, or -1.
    """

    def __init__(self) -> None:
        self._table = FileTable()
        self._sequence = StepSequence()
        self._first_rows = array("q")
        self._num_writers = array("I")
        self._next_rows = array("q")
        self._modes: dict[ModeKeys, StepsOfMode] = {}
        self._layouts: dict[tuple[tuple[str, ...], tuple[str, ...]], IndexLayout] = {}
        self._layouts_of: dict[str, list[IndexLayout]] = {}
        self._layout_of_content: dict[IndexContent, IndexLayout] = {}
        self._last_steps: dict[str, int] = {}
        self._sequences: dict[tuple[str, ModeKeys], StepSequence] = {}
        self._num_in_sequences = 0

    # --- filling -----------------------------------------------------------------------------------------------------

    def add(
        self, step: int, worker: str, entry: IndexEntry, version: str = "", modified_at: float = 0.0
    ) -> IndexEntryFile | None:
        """Add the entry of one index file.

        Returns:
            The earlier entry of the same step and worker that this entry replaces.
        """
        layout = self._layout(entry.content)
        row = self._row(step, worker)
        replaced = None if row is None else self._table.file(row)
        if row is None:
            row = self._table.append(step, worker, entry, layout, version, modified_at)
            layout.rows.append(row)
            self._link(step, row)
        else:
            self._leave(row)
            self._table.replace(row, entry, layout, version, modified_at)
            layout.rows.append(row)
        self._modes.setdefault(entry.mode, StepsOfMode()).add(entry.mode_step, step)
        if step >= self._last_steps.get(worker, 0):
            self._last_steps[worker] = step
        return replaced

    def _layout(self, content: IndexContent) -> IndexLayout:
        layout = self._layout_of_content.get(content)
        if layout is None:
            layout = self._layout_of_names(content.names, tuple(name for name, _ in content.shapes))
            content.names = layout.names
            if len(self._layout_of_content) >= _MAX_KNOWN_CONTENTS:
                self._layout_of_content.clear()
            self._layout_of_content[content] = layout
        return layout

    def _layout_of_names(self, names: tuple[str, ...], shape_names: tuple[str, ...]) -> IndexLayout:
        layout = self._layouts.get((names, shape_names))
        if layout is None:
            layout = self._layouts[names, shape_names] = IndexLayout(names, shape_names)
            for tensor_name in layout.slots:
                self._layouts_of.setdefault(tensor_name, []).append(layout)
        return layout

    def _link(self, step: int, row: int) -> None:
        """Add a row to the chain of its global step."""
        steps = self._sequence.steps
        position = bisect_left(steps, step) if steps and step <= steps[-1] else len(steps)
        if position == len(steps) or steps[position] != step:
            self._sequence.add(step, step)
            self._first_rows.insert(position, -1)
            self._num_writers.insert(position, 0)
        self._next_rows.append(self._first_rows[position])
        self._first_rows[position] = row
        self._num_writers[position] += 1

    def _leave(self, row: int) -> None:
        """Remove the data that are derived from a row, because the row is about to change."""
        table = self._table
        table.layouts[row].rows.remove(row)
        step, mode, mode_step = table.steps[row], table.mode(row), table.mode_steps[row]
        if all(
            other == row or (table.mode(other), table.mode_steps[other]) != (mode, mode_step)
            for other in self._rows_at(step)
        ):
            self._modes[mode].remove(mode_step, step)
        self._sequences.clear()
        self._num_in_sequences = 0

    def _row(self, step: int, worker: str) -> int | None:
        """Return the row of a worker's file at a global step."""
        if step > self._last_steps.get(worker, -1):  # workers write in order, so this is the usual case of a new file
            return None
        return next((row for row in self._rows_at(step) if self._table.worker(row) == worker), None)

    def _rows_at(self, global_step: int) -> Iterator[int]:
        position = self._position(global_step)
        row = -1 if position is None else self._first_rows[position]
        while row >= 0:
            yield row
            row = self._next_rows[row]

    def _position(self, global_step: int) -> int | None:
        """Return the position of a global step among all."""
        steps = self._sequence.steps
        position = bisect_left(steps, global_step)
        return position if position < len(steps) and steps[position] == global_step else None

    @property
    def num_files(self) -> int:
        """Number of index files."""
        return len(self._table)

    def files(self) -> Iterator[IndexEntryFile]:
        """Return the entries of all index files, in the order in which they were found."""
        return iter(self._table)

    def layouts(self) -> list[IndexLayout]:
        """Return the layouts of all index files, in the order in which they were found."""
        return [layout for layout in self._layouts.values() if layout.rows]

    def steps_of_layouts(self, layouts: Iterable[IndexLayout], worker: str | None = None) -> dict[ModeKeys, Steps]:
        """Return mode → global steps, ascending, of the index files with some layouts, of one worker or of all."""
        return self._table.steps_by_mode([layout.rows for layout in layouts], worker)

    # --- steps -------------------------------------------------------------------------------------------------------

    def steps(self, mode: ModeKeys = ModeKeys.GLOBAL) -> Sequence[int]:
        """Return the steps of a mode, ascending; global steps for GLOBAL. Callers must not keep the sequence."""
        return self.sequence(mode).steps

    def sequence(self, mode: ModeKeys = ModeKeys.GLOBAL) -> StepSequence:
        """Return the steps of a mode. Callers must not modify or keep the sequence."""
        return self._sequence if mode is ModeKeys.GLOBAL else self._of_mode(mode).sequence

    def last_step(self, mode: ModeKeys = ModeKeys.GLOBAL) -> int | None:
        """Return the highest step of a mode; None if the mode has no steps."""
        steps = self.steps(mode)
        return steps[-1] if steps else None

    def global_steps(self, mode: ModeKeys, step: int) -> list[int]:
        """Return the global steps at which a step of a mode was saved, ascending; usually one."""
        if mode is ModeKeys.GLOBAL:
            return [] if self._position(step) is None else [step]
        return self._of_mode(mode).global_steps(step)

    def modes(self) -> list[ModeKeys]:
        """Return the modes of the saved steps, without GLOBAL, which stands for steps saved without a mode."""
        return [mode for mode in ModeKeys if mode is not ModeKeys.GLOBAL and self.steps(mode)]

    @property
    def only_mode(self) -> ModeKeys | None:
        """The mode of all index files, which is GLOBAL for those saved without one; None if there are several."""
        return next(iter(self._modes)) if len(self._modes) == 1 else None

    def mode_step(self, global_step: int) -> ModeStep | None:
        """Return mode and mode step of a global step; if workers disagree, those of the first worker in sort order."""
        first = min(self._rows_at(global_step), key=self._table.worker, default=None)
        return None if first is None else (self._table.mode(first), self._table.mode_steps[first])

    def num_writers(self, global_step: int) -> int:
        """Return the number of workers that saved a tensor at a global step."""
        position = self._position(global_step)
        return 0 if position is None else self._num_writers[position]

    def writers(self, global_step: int) -> list[str]:
        """Return the workers that saved a tensor at a global step, sorted."""
        return sorted(map(self._table.worker, self._rows_at(global_step)))

    def workers(self) -> list[str]:
        """Return all workers that saved a tensor, sorted."""
        return sorted(self._last_steps)

    def last_steps(self) -> dict[str, int]:
        """Return worker → its last global step, sorted by worker."""
        return dict(sorted(self._last_steps.items()))

    def has_later_step(self, worker: str, global_step: int) -> bool:
        """Return whether a worker saved a tensor after a global step."""
        return self._last_steps.get(worker, -1) > global_step

    def _of_mode(self, mode: ModeKeys) -> StepsOfMode:
        if not isinstance(mode, ModeKeys):
            raise SMDebugTypeError(
                f"mode must be one of {', '.join(map(str, ModeKeys))} (got {mode!r}){meant_mode(mode)}"
            )
        return self._modes.get(mode) or StepsOfMode()

    # --- tensors -----------------------------------------------------------------------------------------------------

    @property
    def num_names(self) -> int:
        """Number of tensor names ever added; it never decreases."""
        return len(self._layouts_of)

    def tensor_names(self) -> list[str]:
        """Return the names of all tensors, sorted; a reduction counts as its tensor."""
        return sorted(filter(self.has_tensor, self._layouts_of))

    def tensor_names_of_mode(self, mode: ModeKeys) -> list[str]:
        """Return the names of the tensors saved in a mode, sorted."""
        if mode is ModeKeys.GLOBAL:
            return self.tensor_names()
        self._of_mode(mode)  # raises if it is not a mode
        mode_of = self._table.mode
        return _names(layout for layout in self.layouts() if any(mode_of(row) is mode for row in layout.rows))

    def tensor_names_at(self, step: int, mode: ModeKeys) -> list[str]:
        """Return the names of the tensors saved at a step of a mode, sorted."""
        return _names(file.layout for file in self._files_at(step, mode))

    def has_tensor(self, name: str) -> bool:
        """Return whether a tensor, a reduction of it or its shape was saved at any step."""
        return any(layout.rows for layout in self._layouts_of.get(name, ()))

    def sequence_of_tensor(self, name: str, mode: ModeKeys) -> StepSequence:
        """Return the steps of a mode at which a tensor was saved. Callers must not modify or keep the sequence."""
        sequence = self._sequences.get((name, mode))
        if sequence is None:
            self._of_mode(mode)  # raises if it is not a mode
            if name not in self._layouts_of:
                return StepSequence()
            sequence = self._make_sequence(name, mode)
            self._remember(name, mode, sequence)
        table = self._table
        for row in range(sequence.num_seen, len(table)):
            if name in table.layouts[row].slots:
                if mode is ModeKeys.GLOBAL:
                    sequence.add(table.steps[row], table.steps[row])
                elif table.mode(row) is mode:
                    sequence.add(table.mode_steps[row], table.steps[row])
        sequence.num_seen = len(table)
        return sequence

    def _make_sequence(self, name: str, mode: ModeKeys) -> StepSequence:
        """Build the sequence from all files in a tight loop, because there may be many thousands."""
        steps, mode_steps, mode_of = self._table.steps, self._table.mode_steps, self._table.mode
        first: dict[int, int] = {}
        for layout in self._layouts_of[name]:
            if mode is ModeKeys.GLOBAL:
                found = array("q", map(steps.__getitem__, layout.rows))
                first.update(zip(found, found, strict=True))
                continue
            for row in layout.rows:
                if mode_of(row) is mode:
                    step, global_step = mode_steps[row], steps[row]
                    if global_step < first.get(step, global_step + 1):
                        first[step] = global_step
        sequence = StepSequence.of(first)
        sequence.num_seen = len(self._table)
        return sequence

    def _remember(self, name: str, mode: ModeKeys, sequence: StepSequence) -> None:
        if self._num_in_sequences > _MAX_STEPS_OF_TENSORS:
            self._sequences.clear()
            self._num_in_sequences = 0
        self._sequences[name, mode] = sequence
        self._num_in_sequences += len(sequence.steps)

    def steps_of_tensor(self, name: str, mode: ModeKeys) -> list[tuple[int, int]]:
        """Return the steps of a mode at which a tensor was saved, ascending, each with its first global step."""
        sequence = self.sequence_of_tensor(name, mode)
        return list(zip(sequence.steps, sequence.global_steps, strict=True))

    def find(self, name: str, step: int, mode: ModeKeys) -> dict[str, SavedTensor]:
        """Return worker → saved tensor at a step of a mode, sorted by worker."""
        found: dict[str, SavedTensor] = {}
        for file in self._files_at(step, mode):
            slot = file.layout.slots.get(name)
            if slot is not None:
                found[file.worker] = file.saved(slot)
        return dict(sorted(found.items()))

    def file_of(self, name: str, step: int, mode: ModeKeys, worker: str | None) -> IndexEntryFile | None:
        """Return the index entry in which a worker saved a tensor at a step of a mode; None if it did not.

        Without a worker, return the entry of the first worker in sort order that saved the tensor, a reduction of it or
        its shape. `find` reads a worker's tensor from the same entry.
        """
        rows = [
            row
            for row in self._rows_of(step, mode)
            if name in self._table.layouts[row].slots and (worker is None or self._table.worker(row) == worker)
        ]
        if len(rows) < 2:
            return self._table.file(rows[0]) if rows else None
        # The first worker counts, and its last global step if several are the same step of the mode.
        return self._table.file(min(rows, key=lambda row: (self._table.worker(row), -self._table.steps[row])))

    def files_at(self, step: int, mode: ModeKeys) -> list[IndexEntryFile]:
        """Return each worker's last entry at a step of a mode, sorted by worker."""
        if mode is ModeKeys.GLOBAL:
            files = self._files_at_global_step(step)
            return files if len(files) < 2 else sorted(files, key=operator.attrgetter("worker"))
        return [file for _, file in sorted({file.worker: file for file in self._files_at(step, mode)}.items())]

    def record(self, name: str, step: int, worker: str) -> StoredRecord | None:
        """Return the record that a worker wrote under a stored name at a global step; None if there is none."""
        row = self._row(step, worker)
        if row is None or name not in self._table.layouts[row].names:
            return None
        file = self._table.file(row)
        return file.record(file.layout.names.index(name))

    def smallest_value_bytes(self, name: str) -> float:
        """Return the length of the shortest value record of a tensor, from one file per layout; infinity if none."""
        sizes = [math.inf]
        for layout in self._layouts_of.get(name, ()):
            position = layout.slots[name].value
            if position >= 0 and layout.rows:
                sizes.append(self._table.contents[layout.rows[0]].location(position).length)
        return min(sizes)

    def bytes_of_tensors(self, layout: IndexLayout, names: Set[str]) -> int:
        """Return the size of all records of some tensors in one file of a layout; 0 if it has none of them."""
        slots = [slot for name, slot in layout.slots.items() if name in names]
        positions = [position for slot in slots for position in (slot.value, *slot.reductions.values())]
        location = self._table.contents[layout.rows[0]].location
        return sum(location(position).length for position in positions if position >= 0)

    def original_name(self, name: str) -> str | None:
        """Return a tensor's name in its framework; None if no shape, which carries it, was saved."""
        for layout in self._layouts_of.get(name, ()):
            position = layout.slots[name].shape
            if position >= 0 and layout.rows:
                return self._table.contents[layout.rows[0]].shapes[position][1].original_name
        return None

    def _files_at_global_step(self, global_step: int) -> list[IndexEntryFile]:
        position = self._position(global_step)
        if position is None:
            return []
        row = self._first_rows[position]
        if self._next_rows[row] < 0:  # the usual case: one worker
            return [self._table.file(row)]
        return list(map(self._table.file, self._rows_at(global_step)))

    def _files_at(self, step: int, mode: ModeKeys) -> Iterator[IndexEntryFile]:
        return map(self._table.file, self._rows_of(step, mode))

    def _rows_of(self, step: int, mode: ModeKeys) -> Iterator[int]:
        """Return the rows of a step of a mode, by global step."""
        if mode is ModeKeys.GLOBAL:
            return self._rows_at(step)
        table = self._table
        return (
            row
            for global_step in self.global_steps(mode, step)
            for row in self._rows_at(global_step)
            if table.mode_steps[row] == step and table.mode(row) is mode
        )


def _names(layouts: Iterable[IndexLayout]) -> list[str]:
    return sorted({name for layout in set(layouts) for name in layout.slots})
