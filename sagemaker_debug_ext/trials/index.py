"""What a trial holds, in memory: which worker saved what of which tensor at which step, and where it lies.

Only data and look-ups; where index files come from is the business of `trials.refreshing`. A trial may have millions of
entries, so nothing here is an object for each of them: the names of one file are kept once for all files that list the
same names (`Layout`), and the places of its records in one array of numbers.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import attrs

from sagemaker_debug_ext.errors import IndexReaderException, SMDebugTypeError
from sagemaker_debug_ext.store.index import IndexFile, Location, SavedShape
from sagemaker_debug_ext.store.keys import split_reduction_name
from sagemaker_debug_ext.vocabulary import ModeKeys

ReductionKey: TypeAlias = tuple[str, bool]
"""Operation, and whether it is of the absolute values."""

ModeStep: TypeAlias = tuple[ModeKeys, int]
"""A mode, and a step counted within it."""


class StoredRecord(NamedTuple):
    """A record that holds a value, and which worker wrote it at which global step."""

    event_file: str
    location: Location
    name: str
    step: int
    worker: str


@attrs.frozen
class SavedTensor:
    """What one worker saved of one tensor at one step.

    Args:
        value: The record of the tensor itself; None if it was not saved.
        reductions: The records of its reductions.
        shape: Its saved shape; None if it was not saved.
    """

    value: StoredRecord | None
    reductions: Mapping[ReductionKey, StoredRecord]
    shape: SavedShape | None


class _Slot:
    """Positions, in the files of a layout, of what belongs to one tensor; -1 for what was not saved."""

    __slots__ = ("reductions", "shape", "value")

    def __init__(self) -> None:
        self.value = -1
        self.shape = -1
        self.reductions: dict[ReductionKey, int] = {}


class Layout:
    """The names of an index file, shared by all files that list the same names in the same order.

    Attributes:
        names: Names of the records, reductions included.
        slots: Tensor name → positions of what belongs to it.
        steps: Global step → how many files of this layout it has.
    """

    __slots__ = ("names", "slots", "steps")

    def __init__(self, names: tuple[str, ...], shape_names: tuple[str, ...]) -> None:
        self.names = names
        self.slots: dict[str, _Slot] = {}
        self.steps: dict[int, int] = {}
        for position, name in enumerate(names):
            reduction = split_reduction_name(name)
            if reduction is None:
                self._slot(name).value = position
            else:
                operation, absolute, tensor_name = reduction
                self._slot(tensor_name).reductions[operation, absolute] = position
        for position, name in enumerate(shape_names):
            self._slot(name).shape = position

    def _slot(self, tensor_name: str) -> _Slot:
        return self.slots.setdefault(tensor_name, _Slot())


class _File:
    """One index file: what one worker saved at one step."""

    __slots__ = ("event_file", "layout", "mode_step", "places", "shapes")

    def __init__(
        self,
        layout: Layout,
        mode_step: ModeStep,
        event_file: str | None,
        places: array[int],
        shapes: tuple[SavedShape, ...],
    ) -> None:
        self.layout = layout
        self.mode_step = mode_step
        self.event_file = event_file
        self.places = places
        self.shapes = shapes

    def record(self, position: int, step: int, worker: str) -> StoredRecord:
        assert self.event_file is not None  # files that list records name their event file
        location = Location(self.places[2 * position], self.places[2 * position + 1])
        return StoredRecord(self.event_file, location, self.layout.names[position], step, worker)

    def saved(self, slot: _Slot, step: int, worker: str) -> SavedTensor:
        return SavedTensor(
            self.record(slot.value, step, worker) if slot.value >= 0 else None,
            {key: self.record(position, step, worker) for key, position in slot.reductions.items()},
            self.shapes[slot.shape] if slot.shape >= 0 else None,
        )


class _StepsOfMode:
    """The steps of one mode, ascending, and at which global steps each was saved.

    Usually that is one global step; workers that take unequal numbers of batches give several.
    """

    __slots__ = ("global_steps", "steps")

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.global_steps: dict[int, list[int]] = {}

    def add(self, step: int, global_step: int) -> None:
        if step not in self.global_steps:
            self.global_steps[step] = [global_step]
            insort(self.steps, step)
        elif global_step not in self.global_steps[step]:
            insort(self.global_steps[step], global_step)

    def remove(self, step: int, global_step: int) -> None:
        self.global_steps[step].remove(global_step)
        if not self.global_steps[step]:
            del self.global_steps[step]
            self.steps.remove(step)


class TrialIndex:
    """Which worker saved which tensors at which step. Not locked: its owner is."""

    def __init__(self) -> None:
        self._files: dict[int, dict[str, _File]] = {}
        self._steps: list[int] = []
        self._modes: dict[ModeKeys, _StepsOfMode] = {}
        self._layouts: dict[tuple[tuple[str, ...], tuple[str, ...]], Layout] = {}
        self._layouts_of: dict[str, list[Layout]] = {}
        self._shapes: dict[tuple[SavedShape, ...], tuple[SavedShape, ...]] = {}
        self._last_steps: dict[str, int] = {}

    # --- filling -----------------------------------------------------------------------------------------------------

    def add(self, step: int, worker: str, content: IndexFile) -> None:
        """Take in one index file; an earlier one of the same step and worker is replaced.

        Raises:
            IndexReaderException: A place is beyond what a file can hold.
        """
        try:
            places = array("Q", (number for location in content.tensors.values() for number in location))
        except OverflowError as error:
            raise IndexReaderException(f"a record lies beyond 2^64 bytes (step {step} of {worker})") from error
        if worker in self._files.get(step, ()):
            self._remove(step, worker)
        layout = self._layout(tuple(content.tensors), tuple(content.shapes))
        layout.steps[step] = layout.steps.get(step, 0) + 1
        shapes = tuple(content.shapes.values())
        mode_step = (content.mode, content.mode_step)
        if step not in self._files:
            insort(self._steps, step)
        files = self._files.setdefault(step, {})
        files[worker] = _File(layout, mode_step, content.event_file, places, self._shapes.setdefault(shapes, shapes))
        self._modes.setdefault(content.mode, _StepsOfMode()).add(content.mode_step, step)
        self._last_steps[worker] = max(step, self._last_steps.get(worker, step))

    def _layout(self, names: tuple[str, ...], shape_names: tuple[str, ...]) -> Layout:
        layout = self._layouts.get((names, shape_names))
        if layout is None:
            layout = self._layouts[names, shape_names] = Layout(names, shape_names)
            for tensor_name in layout.slots:
                self._layouts_of.setdefault(tensor_name, []).append(layout)
        return layout

    def _remove(self, step: int, worker: str) -> None:
        file = self._files[step].pop(worker)
        steps = file.layout.steps
        steps[step] -= 1
        if not steps[step]:
            del steps[step]
        mode, mode_step = file.mode_step
        if all(other.mode_step != file.mode_step for other in self._files[step].values()):
            self._modes[mode].remove(mode_step, step)

    # --- steps -------------------------------------------------------------------------------------------------------

    def steps(self, mode: ModeKeys = ModeKeys.GLOBAL) -> list[int]:
        """Return the steps of a mode, ascending; global steps for GLOBAL."""
        return self._steps if mode is ModeKeys.GLOBAL else self._of_mode(mode).steps

    def last_step(self, mode: ModeKeys = ModeKeys.GLOBAL) -> int | None:
        """Return the highest step of a mode; None if it has none."""
        steps = self.steps(mode)
        return steps[-1] if steps else None

    def global_steps(self, mode: ModeKeys, step: int) -> list[int]:
        """Return the global steps at which a step of a mode was saved, ascending; usually one."""
        if mode is ModeKeys.GLOBAL:
            return [step] if step in self._files else []
        return self._of_mode(mode).global_steps.get(step, [])

    def modes(self) -> list[ModeKeys]:
        """Return the modes that steps were saved in; GLOBAL, which means none was set, is not one of them."""
        return [mode for mode in ModeKeys if mode is not ModeKeys.GLOBAL and self.steps(mode)]

    def mode_step(self, global_step: int) -> ModeStep | None:
        """Return mode and mode step of a global step; if workers disagree, those of the first worker in sort order."""
        files = self._files.get(global_step)
        return files[min(files)].mode_step if files else None

    def num_writers(self, global_step: int) -> int:
        """Return how many workers saved something at a global step."""
        return len(self._files.get(global_step, ()))

    def writers(self, global_step: int) -> list[str]:
        """Return the workers that saved something at a global step, sorted."""
        return sorted(self._files.get(global_step, ()))

    def workers(self) -> list[str]:
        """Return all workers that saved something, sorted."""
        return sorted(self._last_steps)

    def has_later_step(self, worker: str, global_step: int) -> bool:
        """Tell whether a worker saved something after a global step."""
        return self._last_steps.get(worker, -1) > global_step

    def _of_mode(self, mode: ModeKeys) -> _StepsOfMode:
        if not isinstance(mode, ModeKeys):
            raise SMDebugTypeError(f"mode must be one of {', '.join(map(str, ModeKeys))} (got {mode!r})")
        return self._modes.get(mode) or _StepsOfMode()

    # --- tensors -----------------------------------------------------------------------------------------------------

    def tensor_names(self) -> list[str]:
        """Return the names of all tensors, sorted; a reduction counts as its tensor."""
        return _names(layout for layout in self._layouts.values() if layout.steps)

    def tensor_names_of_mode(self, mode: ModeKeys) -> list[str]:
        """Return the names of the tensors saved in a mode, sorted."""
        if mode is ModeKeys.GLOBAL:
            return self.tensor_names()
        files = (file for step in self._all_global_steps(mode) for file in self._files[step].values())
        return _names(file.layout for file in files if file.mode_step[0] is mode)

    def tensor_names_at(self, step: int, mode: ModeKeys) -> list[str]:
        """Return the names of the tensors saved at a step of a mode, sorted."""
        return _names(file.layout for _, _, file in self._files_at(step, mode))

    def has_tensor(self, name: str) -> bool:
        """Tell whether a tensor, a reduction or the shape of it, was saved at any step."""
        return any(layout.steps for layout in self._layouts_of.get(name, ()))

    def steps_of_tensor(self, name: str, mode: ModeKeys) -> list[tuple[int, int]]:
        """Return the steps of a mode at which a tensor was saved, ascending, each with its first global step."""
        global_steps = sorted({step for layout in self._layouts_of.get(name, ()) for step in layout.steps})
        if mode is ModeKeys.GLOBAL:
            return [(step, step) for step in global_steps]
        found: dict[int, int] = {}
        for global_step in global_steps:
            for file in self._files[global_step].values():
                if file.mode_step[0] is mode and name in file.layout.slots:
                    found.setdefault(file.mode_step[1], global_step)
        return sorted(found.items())

    def find(self, name: str, step: int, mode: ModeKeys) -> dict[str, SavedTensor]:
        """Return what was saved of a tensor at a step of a mode: worker → what it saved, sorted by worker."""
        found: dict[str, SavedTensor] = {}
        for global_step, worker, file in self._files_at(step, mode):
            slot = file.layout.slots.get(name)
            if slot is not None:
                found[worker] = file.saved(slot, global_step, worker)
        return dict(sorted(found.items()))

    def record(self, name: str, step: int, worker: str) -> StoredRecord | None:
        """Return the record that a worker wrote under a stored name at a global step; None if there is none."""
        file = self._files.get(step, {}).get(worker)
        if file is None or name not in file.layout.names:
            return None
        return file.record(file.layout.names.index(name), step, worker)

    def original_name(self, name: str) -> str | None:
        """Return a tensor's name in its framework; None if no shape, which carries it, was saved."""
        for layout in self._layouts_of.get(name, ()):
            position = layout.slots[name].shape
            if position >= 0 and layout.steps:
                files = self._files[next(iter(layout.steps))].values()
                return next(file.shapes[position].original_name for file in files if file.layout is layout)
        return None

    def _all_global_steps(self, mode: ModeKeys) -> Iterator[int]:
        for global_steps in self._of_mode(mode).global_steps.values():
            yield from global_steps

    def _files_at(self, step: int, mode: ModeKeys) -> Iterator[tuple[int, str, _File]]:
        for global_step in self.global_steps(mode, step):
            for worker, file in self._files[global_step].items():
                if mode is ModeKeys.GLOBAL or file.mode_step == (mode, step):
                    yield global_step, worker, file


def _names(layouts: Iterable[Layout]) -> list[str]:
    return sorted({name for layout in set(layouts) for name in layout.slots})


def first_at_or_after(steps: list[int], step: int) -> int | None:
    """Return the first of some ascending steps that is not before `step`; None if all are."""
    position = bisect_left(steps, step)
    return steps[position] if position < len(steps) else None
