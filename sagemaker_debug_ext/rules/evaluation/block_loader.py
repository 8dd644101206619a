"""`BlockLoader`: read or stream the tensors of a block of steps, and have rules screen them."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.series import UNSURE, Screening, SeriesChunk, SummarizedChunk, TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import numeric_value
from sagemaker_debug_ext.trials.values.series_summary import SummaryRequest
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.reading.screening import Screener
    from sagemaker_debug_ext.trials import Trial

_LATEST_BYTES: Final = 256 * 2**20
"""How many bytes of large tensors are kept for the comparison with the next block; others are read again."""

KnownSteps: TypeAlias = tuple[npt.NDArray[np.intp], Screening]
"""Positions in a block, and what is known there."""


@attrs.frozen
class LoadedBlock:
    """What a thread has found out about some tensors of a block: their columns, and what rules know of them."""

    columns: Mapping[str, TensorSeries]
    screenings: Mapping[int, Sequence[KnownSteps]]


class PreviousValues:
    """The last value of large tensors in a block, for the comparison with the next one; threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._columns: dict[str, tuple[int, TensorSeries]] = {}
        self._num_bytes = 0

    def of(self, name: str, step: int) -> TensorSeries | None:
        """Return the column of a tensor's value at a step; None if that is not kept."""
        with self._lock:
            found = self._columns.get(name)
        return None if found is None or found[0] != step else found[1]

    def keep(self, name: str, step: int, column: TensorSeries) -> None:
        """Keep the column of a tensor's last value, in place of the one before, if there is room for it."""
        with self._lock:
            if name in self._columns:
                self._num_bytes -= self._columns.pop(name)[1].num_bytes
            if self._num_bytes + column.num_bytes <= _LATEST_BYTES:
                self._columns[name] = (step, column)
                self._num_bytes += column.num_bytes


class BlockLoader:
    """Reads tensors at the steps of a block, and asks rules about them. Several threads may use one.

    Args:
        trial: The trial.
        steps: Global steps of the block, ascending.
        wanted: The tensors, and what rules can tell something of each.
        saved: At which positions of the block each of them was saved.
        latest: What is known of the values before, and what is to be known of them in the next block.
    """

    def __init__(
        self,
        trial: Trial,
        steps: Sequence[int],
        wanted: Mapping[str, Sequence[Screener]],
        saved: Mapping[str, Sequence[int]],
        *,
        latest: PreviousValues,
    ) -> None:
        self._trial = trial
        self._steps = steps
        self._wanted = wanted
        self._saved = saved
        self._latest = latest
        # from a disk, reading a value again takes less time than finding new memory for each one that is kept
        self._keeps_all = trial.index_reader.events.backend.is_remote
        self._modes = {position: _mode_of(trial, step) for position, step in enumerate(steps)}

    def load(self, names: Sequence[str], *, are_large: bool = False) -> LoadedBlock:
        """Read tensors, each event file once, and ask rules about them.

        Args:
            names: The tensors.
            are_large: Keep only what rules are asked about; values they may ask for, but seldom do.
        """
        columns: dict[str, TensorSeries] = {}
        screenings: dict[int, list[KnownSteps]] = {}
        with np.errstate(all="ignore"):  # infinities and overflow are what rules look for, not accidents
            for name, parts in (self._digest_all if are_large else self._read_all)(names).items():
                is_complete = sum(len(part.positions) for part in parts) == len(self._saved[name])
                column = TensorSeries(
                    name, parts, self._modes, is_complete=is_complete, before=self._before(name, are_large)
                )
                unsure = self._ask(column, screenings)
                if are_large:
                    self._remember(name, column)
                    columns[name] = column if self._keeps_all else column.only_at(unsure)
                else:
                    columns[name] = column
        return LoadedBlock(columns, screenings)

    def _read_all(self, names: Sequence[str]) -> dict[str, list[SeriesChunk | SummarizedChunk]]:
        parts: dict[str, list[SeriesChunk | SummarizedChunk]] = {name: [] for name in names}
        place = {step: position for position, step in enumerate(self._steps)}
        reader = self._trial.index_reader
        try:
            for name, steps, values in reader.read_columns(names, self._steps, ModeKeys.GLOBAL, None):
                positions = np.array([place[step] for step in steps], np.intp)
                if isinstance(values, np.ndarray):
                    parts[name].append(SeriesChunk(positions, values))
                    continue
                for position, step, value in zip(positions.tolist(), steps, values, strict=True):
                    found = self._read(name, step) if value is None else value
                    if found is not None:
                        parts[name].append(SeriesChunk(np.array([position]), found[np.newaxis]))
        except (OSError, DebugExtError):  # the rule that needs what cannot be read is to meet the error
            return {name: [] for name in names}
        return parts

    def _digest_all(self, names: Sequence[str]) -> dict[str, list[SeriesChunk | SummarizedChunk]]:
        """Go through large tensors; what cannot be gone through is read."""
        parts: dict[str, list[SeriesChunk | SummarizedChunk]] = {name: [] for name in names}
        missing = {name: set(self._saved[name]) for name in names}
        place = {step: position for position, step in enumerate(self._steps)}
        wishes = {name: self._wish(name) for name in names}
        try:
            for name, digest in self._trial.index_reader.read_digests(wishes, self._steps, ModeKeys.GLOBAL):
                positions = [place[step] for step in digest.steps]
                parts[name].append(SummarizedChunk(np.array(positions, np.intp), digest))
                missing[name].difference_update(positions)
        except (OSError, DebugExtError):  # the rule that needs what cannot be read is to meet the error
            return {name: [] for name in names}
        for name in names:
            for position in sorted(missing[name]):
                found = self._read(name, self._steps[position])
                if found is not None:
                    parts[name].append(SeriesChunk(np.array([position]), found[np.newaxis]))
        return parts

    def _wish(self, name: str) -> SummaryRequest:
        """Return what the rules that are asked about a tensor want to be found out of it."""
        rules = self._wanted[name]
        return SummaryRequest(
            num_leading=lambda num_entries: max((rule.num_leading(num_entries) for rule in rules), default=0),
            has_sums=any(rule.screen_needs_sums for rule in rules),
        )

    def _before(self, name: str, is_large: bool) -> TensorSeries | None:
        """Return the column of the value saved before the block, if a rule needs it; gone through if it is large."""
        if not any(rule.compares_with_previous for rule in self._wanted[name]):
            return None
        reader = self._trial.index_reader
        with reader.lock:
            steps = reader.index.course_of_tensor(name, ModeKeys.GLOBAL).steps
            place = bisect.bisect_left(steps, self._steps[0]) - 1
            step = steps[place] if place >= 0 else None
        if step is None:
            return None
        known = self._latest.of(name, step)
        if known is not None:
            return known
        # what is gone through cannot be compared with what is read
        part = (self._digest(name, step) if is_large else None) or self._read_part(name, step)
        return None if part is None else TensorSeries(name, [part], {0: _mode_of(self._trial, step)})

    def _digest(self, name: str, step: int) -> SummarizedChunk | None:
        """Go through one value; None if that cannot be done."""
        try:
            digests = dict(self._trial.index_reader.read_digests({name: self._wish(name)}, [step], ModeKeys.GLOBAL))
        except (OSError, DebugExtError):  # as above
            return None
        digest = digests.get(name)
        return SummarizedChunk(np.array([0]), digest) if digest is not None and digest.steps else None

    def _read_part(self, name: str, step: int) -> SeriesChunk | None:
        value = self._read(name, step)
        return None if value is None else SeriesChunk(np.array([0]), value[np.newaxis])

    def _remember(self, name: str, column: TensorSeries) -> None:
        """Keep the last value for the next block, if a rule looks back at it."""
        position = self._saved[name][-1]
        # what was saved last may be empty, or impossible to read
        if position in column.positions[-1:] and any(rule.compares_with_previous for rule in self._wanted[name]):
            self._latest.keep(name, self._steps[position], column.only_last())

    def _read(self, name: str, step: int) -> Array | None:
        try:
            return numeric_value(self._trial, name, step)
        except (OSError, DebugExtError):  # as above
            return None

    def _ask(self, column: TensorSeries, screenings: dict[int, list[KnownSteps]]) -> set[int]:
        """Add what rules know of a tensor, and return where one of them is not sure."""
        positions = column.positions
        saved = self._saved[column.name]
        missing = np.empty(0, np.intp)
        if len(positions) < len(saved):  # of some there are only reductions, say
            missing = np.setdiff1d(np.array(saved, np.intp), positions)
        unsure: set[int] = set()
        for rule in self._wanted[column.name]:
            known = screenings.setdefault(id(rule), [])
            if len(missing):
                known.append((missing, np.full(len(missing), UNSURE, np.int8)))
            if len(positions):
                screen = rule.screen(column)
                known.append((positions, screen))
                unsure.update(positions[screen == UNSURE].tolist())
        return unsure


def _mode_of(trial: Trial, step: int) -> tuple[ModeKeys, int | None]:
    mode, mode_step = trial.mode_modestep(step)
    return mode or ModeKeys.GLOBAL, mode_step
