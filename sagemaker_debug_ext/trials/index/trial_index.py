"""The index of a trial in memory: which worker saved which tensor at which step, and where the record is stored.

This module holds data and look-ups only; `trials.index.refresh` reads the index files. A trial may have millions of
entries, so there is no object per entry. Files that list the same names share one `IndexLayout`, and the places of a
file's records are one array of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from sagemaker_debug_ext.errors import SMDebugTypeError, meant_mode
from sagemaker_debug_ext.store.format.index import IndexContent, IndexEntry
from sagemaker_debug_ext.trials.index.entries import (
    IndexEntryFile,
    IndexLayout,
    ModeStep,
    SavedTensor,
    StoredRecord,
)
from sagemaker_debug_ext.trials.index.step_sequence import StepSequence, StepsOfMode
from sagemaker_debug_ext.vocabulary import ModeKeys


class TrialIndex:
    """Which worker saved which tensors at which step. Callers must hold the owner's lock."""

    def __init__(self) -> None:
        self._files: dict[int, dict[str, IndexEntryFile]] = {}
        self._in_order: list[IndexEntryFile] = []
        self._sequence = StepSequence()
        self._modes: dict[ModeKeys, StepsOfMode] = {}
        self._layouts: dict[tuple[tuple[str, ...], tuple[str, ...]], IndexLayout] = {}
        self._layouts_of: dict[str, list[IndexLayout]] = {}
        self._layout_of_content: dict[IndexContent, IndexLayout] = {}
        self._last_steps: dict[str, int] = {}
        self._sequences: dict[tuple[str, ModeKeys], StepSequence] = {}

    # --- filling -----------------------------------------------------------------------------------------------------

    def add(
        self, step: int, worker: str, entry: IndexEntry, version: str = "", modified_at: float = 0.0
    ) -> IndexEntryFile | None:
        """Add the entry of one index file.

        Returns:
            The earlier entry of the same step and worker that this entry replaces.
        """
        mode, mode_step, event_file, content = entry
        files = self._files.get(step)
        if files is None:
            files = self._files[step] = {}
            self._sequence.add(step, step)
        replaced = self._remove(files, worker) if worker in files else None
        layout = self._layout(content)
        layout.steps[step] = layout.steps.get(step, 0) + 1
        file = IndexEntryFile(step, worker, layout, (mode, mode_step), event_file, content, version, modified_at)
        files[worker] = file
        self._in_order.append(file)
        steps_of_mode = self._modes.get(mode)
        if steps_of_mode is None:
            steps_of_mode = self._modes[mode] = StepsOfMode()
        steps_of_mode.add(mode_step, step)
        if step >= self._last_steps.get(worker, 0):
            self._last_steps[worker] = step
        return replaced

    def _layout(self, content: IndexContent) -> IndexLayout:
        layout = self._layout_of_content.get(content)
        if layout is None:
            layout = self._layout_of_content[content] = self._layout_of_names(
                content.names, tuple(name for name, _ in content.shapes)
            )
        return layout

    def _layout_of_names(self, names: tuple[str, ...], shape_names: tuple[str, ...]) -> IndexLayout:
        layout = self._layouts.get((names, shape_names))
        if layout is None:
            layout = self._layouts[names, shape_names] = IndexLayout(names, shape_names)
            for tensor_name in layout.slots:
                self._layouts_of.setdefault(tensor_name, []).append(layout)
        return layout

    def _remove(self, files: dict[str, IndexEntryFile], worker: str) -> IndexEntryFile:
        file = files.pop(worker)
        steps = file.layout.steps
        steps[file.step] -= 1
        if not steps[file.step]:
            del steps[file.step]
        mode, mode_step = file.mode_step
        if all(other.mode_step != file.mode_step for other in files.values()):
            self._modes[mode].remove(mode_step, file.step)
        self._in_order = [other for other in self._in_order if other is not file]
        self._sequences.clear()
        return file

    def files(self) -> list[IndexEntryFile]:
        """Return the entries of all index files, in the order in which they were added."""
        return list(self._in_order)

    # --- steps -------------------------------------------------------------------------------------------------------

    def steps(self, mode: ModeKeys = ModeKeys.GLOBAL) -> list[int]:
        """Return the steps of a mode, ascending; global steps for GLOBAL. Callers must not modify or keep the list."""
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
            return [step] if step in self._files else []
        return self._of_mode(mode).global_steps.get(step, [])

    def modes(self) -> list[ModeKeys]:
        """Return the modes of the saved steps, without GLOBAL, which stands for steps saved without a mode."""
        return [mode for mode in ModeKeys if mode is not ModeKeys.GLOBAL and self.steps(mode)]

    def mode_step(self, global_step: int) -> ModeStep | None:
        """Return mode and mode step of a global step; if workers disagree, those of the first worker in sort order."""
        files = self._files.get(global_step)
        return files[min(files)].mode_step if files else None

    def num_writers(self, global_step: int) -> int:
        """Return the number of workers that saved a tensor at a global step."""
        return len(self._files.get(global_step, ()))

    def writers(self, global_step: int) -> list[str]:
        """Return the workers that saved a tensor at a global step, sorted."""
        return sorted(self._files.get(global_step, ()))

    def workers(self) -> list[str]:
        """Return all workers that saved a tensor, sorted."""
        return sorted(self._last_steps)

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
        return _names(layout for layout in self._layouts.values() if layout.steps)

    def tensor_names_of_mode(self, mode: ModeKeys) -> list[str]:
        """Return the names of the tensors saved in a mode, sorted."""
        if mode is ModeKeys.GLOBAL:
            return self.tensor_names()
        files = (file for step in self._all_global_steps(mode) for file in self._files[step].values())
        return _names(file.layout for file in files if file.mode_step[0] is mode)

    def tensor_names_at(self, step: int, mode: ModeKeys) -> list[str]:
        """Return the names of the tensors saved at a step of a mode, sorted."""
        return _names(file.layout for file in self._files_at(step, mode))

    def has_tensor(self, name: str) -> bool:
        """Return whether a tensor, a reduction of it or its shape was saved at any step."""
        return any(layout.steps for layout in self._layouts_of.get(name, ()))

    def sequence_of_tensor(self, name: str, mode: ModeKeys) -> StepSequence:
        """Return the steps of a mode at which a tensor was saved. Callers must not modify or keep the sequence."""
        sequence = self._sequences.get((name, mode))
        if sequence is None:
            self._of_mode(mode)  # raises if it is not a mode
            if name not in self._layouts_of:
                return StepSequence()
            sequence = self._sequences[name, mode] = self._make_sequence(name, mode)
        in_order = self._in_order
        for position in range(sequence.num_seen, len(in_order)):
            file = in_order[position]
            if name in file.layout.slots:
                if mode is ModeKeys.GLOBAL:
                    sequence.add(file.step, file.step)
                elif file.mode_step[0] is mode:
                    sequence.add(file.mode_step[1], file.step)
        sequence.num_seen = len(in_order)
        return sequence

    def _make_sequence(self, name: str, mode: ModeKeys) -> StepSequence:
        """Build the sequence from all files in a tight loop, because there may be many thousands."""
        layouts = set(self._layouts_of[name])
        first: dict[int, int] = {}
        if mode is ModeKeys.GLOBAL:
            for layout in layouts:
                first.update(zip(layout.steps, layout.steps, strict=True))
        else:
            in_mode = [file for file in self._in_order if file.mode_step[0] is mode and file.layout in layouts]
            for file in in_mode:
                step = file.mode_step[1]
                if file.step < first.get(step, file.step + 1):
                    first[step] = file.step
        sequence = StepSequence.of(first)
        sequence.num_seen = len(self._in_order)
        return sequence

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
        if mode is ModeKeys.GLOBAL:
            files = self._files.get(step)
            if files is None:
                return None
            if worker is not None:
                file = files.get(worker)
                return file if file is not None and name in file.layout.slots else None
            if len(files) == 1:
                (file,) = files.values()
                return file if name in file.layout.slots else None
        found = [
            file
            for file in self._files_at(step, mode)
            if name in file.layout.slots and (worker is None or file.worker == worker)
        ]
        if worker is not None:  # the last global step counts if several are the same step of the mode
            return found[-1] if found else None
        first = min((file.worker for file in found), default=None)
        return next((file for file in reversed(found) if file.worker == first), None)

    def files_at(self, step: int, mode: ModeKeys) -> list[IndexEntryFile]:
        """Return each worker's last entry at a step of a mode, sorted by worker."""
        if mode is ModeKeys.GLOBAL:
            files = self._files.get(step, {})
            return list(files.values()) if len(files) < 2 else [files[worker] for worker in sorted(files)]
        return [file for _, file in sorted({file.worker: file for file in self._files_at(step, mode)}.items())]

    def record(self, name: str, step: int, worker: str) -> StoredRecord | None:
        """Return the record that a worker wrote under a stored name at a global step; None if there is none."""
        file = self._files.get(step, {}).get(worker)
        if file is None or name not in file.layout.names:
            return None
        return file.record(file.layout.names.index(name))

    def smallest_value_bytes(self, name: str) -> float:
        """Return the length of the shortest value record of a tensor, from one file per layout; infinity if none."""
        sizes = [math.inf]
        for layout in self._layouts_of.get(name, ()):
            position = layout.slots[name].value
            if position >= 0 and layout.steps:
                files = self._files[next(iter(layout.steps))].values()
                sizes.extend(file.content.location(position).length for file in files if file.layout is layout)
        return min(sizes)

    def original_name(self, name: str) -> str | None:
        """Return a tensor's name in its framework; None if no shape, which carries it, was saved."""
        for layout in self._layouts_of.get(name, ()):
            position = layout.slots[name].shape
            if position >= 0 and layout.steps:
                files = self._files[next(iter(layout.steps))].values()
                return next(file.content.shapes[position][1].original_name for file in files if file.layout is layout)
        return None

    def _all_global_steps(self, mode: ModeKeys) -> Iterator[int]:
        for global_steps in self._of_mode(mode).global_steps.values():
            yield from global_steps

    def _files_at(self, step: int, mode: ModeKeys) -> Iterator[IndexEntryFile]:
        for global_step in self.global_steps(mode, step):
            for file in self._files[global_step].values():
                if mode is ModeKeys.GLOBAL or file.mode_step == (mode, step):
                    yield file


def _names(layouts: Iterable[IndexLayout]) -> list[str]:
    return sorted({name for layout in set(layouts) for name in layout.slots})
