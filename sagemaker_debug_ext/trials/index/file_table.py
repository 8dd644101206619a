"""Columns with one row per index file, in the order in which the files were found.

A trial may have millions of index files, so there is no object per file: a row takes about 110 bytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.format.index import IndexContent, IndexEntry
from sagemaker_debug_ext.store.format.keys import join_event_key, mangle_worker
from sagemaker_debug_ext.trials.index.entries import IndexEntryFile, IndexLayout
from sagemaker_debug_ext.vocabulary import ModeKeys

Steps: TypeAlias = npt.NDArray[np.int64]
"""Global steps, ascending."""

_MAX_FILES: Final = 1024
"""Limit of the rows that are remembered as objects, about 500 bytes each."""

_MODES: Final = tuple(ModeKeys)
_MODE_NUMBERS: Final = {mode: number for number, mode in enumerate(_MODES)}


class FileTable:
    """Facts about index files, by row.

    Attributes:
        steps: Global step of each row.
        mode_steps: Step within the mode of each row.
        layouts: Layout of each row.
        contents: Names and locations of the records of each row; rows share equal ones.
    """

    def __init__(self) -> None:
        self.steps = array("q")
        self.mode_steps = array("q")
        self.layouts: list[IndexLayout] = []
        self.contents: list[IndexContent] = []
        self._files: dict[int, IndexEntryFile] = {}
        self._modes = bytearray()
        self._workers = array("I")
        self._modified_at = array("d")
        self._versions = _Texts()
        self._odd_event_files: dict[int, str | None] = {}
        self._worker_numbers: dict[str, int] = {}
        self._worker_names: list[str] = []
        self._mangled: list[str | None] = []

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[IndexEntryFile]:
        return map(self._make_file, range(len(self)))

    def append(
        self, step: int, worker: str, entry: IndexEntry, layout: IndexLayout, version: str, modified_at: float
    ) -> int:
        """Add a row; return its number."""
        row = len(self.steps)
        mode, mode_step, event_file, content = entry
        self.mode_steps.append(mode_step)  # first, because it is not checked to fit
        self.steps.append(step)
        self.layouts.append(layout)
        self.contents.append(content)
        self._modes.append(_MODE_NUMBERS[mode])
        self._workers.append(self._number(worker))
        self._modified_at.append(modified_at)
        self._versions.append(version)
        self._set_event_file(row, event_file)
        return row

    def replace(self, row: int, entry: IndexEntry, layout: IndexLayout, version: str, modified_at: float) -> None:
        """Change all of a row but its step and worker."""
        mode, mode_step, event_file, content = entry
        self._files.pop(row, None)
        self.mode_steps[row] = mode_step
        self.layouts[row] = layout
        self.contents[row] = content
        self._modes[row] = _MODE_NUMBERS[mode]
        self._modified_at[row] = modified_at
        self._versions.replace(row, version)
        self._set_event_file(row, event_file)

    def file(self, row: int) -> IndexEntryFile:
        """Return a row as an object."""
        file = self._files.get(row)
        if file is None:
            if len(self._files) >= _MAX_FILES:
                self._files.clear()
            file = self._files[row] = self._make_file(row)
        return file

    def steps_by_mode(self, rows: Sequence[array[int]], worker: str | None = None) -> dict[ModeKeys, Steps]:
        """Return mode → global steps, ascending, of some rows, of one worker or of all."""
        chosen = np.concatenate([np.array(some, np.intp) for some in (array("I"), *rows)])
        if worker is not None:
            chosen = chosen[np.array(self._workers)[chosen] == self._worker_numbers.get(worker, -1)]
        steps, modes = np.array(self.steps)[chosen], np.array(self._modes)[chosen]
        return {_MODES[number]: np.unique(steps[modes == number]) for number in np.unique(modes).tolist()}

    def _make_file(self, row: int) -> IndexEntryFile:
        return IndexEntryFile(
            self.steps[row],
            self.worker(row),
            self.layouts[row],
            (self.mode(row), self.mode_steps[row]),
            self._event_file(row),
            self.contents[row],
            self._versions[row],
            self._modified_at[row],
        )

    def mode(self, row: int) -> ModeKeys:
        """Return the mode of a row."""
        return _MODES[self._modes[row]]

    def worker(self, row: int) -> str:
        """Return the worker of a row."""
        return self._worker_names[self._workers[row]]

    def _number(self, worker: str) -> int:
        number = self._worker_numbers.get(worker)
        if number is None:
            number = self._worker_numbers[worker] = len(self._worker_names)
            self._worker_names.append(worker)
            self._mangled.append(_mangle(worker))
        return number

    def _usual_event_file(self, row: int) -> str | None:
        mangled = self._mangled[self._workers[row]]
        return None if mangled is None else join_event_key(self.steps[row], mangled)

    def _set_event_file(self, row: int, event_file: str | None) -> None:
        if event_file == self._usual_event_file(row):
            self._odd_event_files.pop(row, None)
        else:
            self._odd_event_files[row] = event_file

    def _event_file(self, row: int) -> str | None:
        return self._odd_event_files[row] if row in self._odd_event_files else self._usual_event_file(row)


def _mangle(worker: str) -> str | None:
    try:
        return mangle_worker(worker)
    except SMDebugValueError:  # not a name that writers of this package use
        return None


class _Texts:
    """Short texts by row, one after the other in one buffer; the text before a replaced one stays in the buffer."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._starts = array("Q")
        self._lengths = array("I")

    def __getitem__(self, row: int) -> str:
        start = self._starts[row]
        return self._bytes[start : start + self._lengths[row]].decode()

    def append(self, text: str) -> None:
        encoded = text.encode()
        self._starts.append(len(self._bytes))
        self._lengths.append(len(encoded))
        self._bytes += encoded

    def replace(self, row: int, text: str) -> None:
        encoded = text.encode()
        self._starts[row] = len(self._bytes)
        self._lengths[row] = len(encoded)
        self._bytes += encoded
