"""`BlockLoader`: read or stream the tensors of a block of steps, and have rules screen them."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs
import numpy as np

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.screening import Screen, Screener, Screening, undecided
from sagemaker_debug_ext.rules.reading.series import Chunk, Positions, SeriesChunk, SummarizedChunk, TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import numeric_value
from sagemaker_debug_ext.trials.values.series_summary import SummaryRequest
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

_LATEST_BYTES: Final = 256 * 2**20
"""Size limit of `PreviousValues`; values beyond it are read again."""

KnownSteps: TypeAlias = tuple[Positions, Screening]
"""Positions in a block, and their screening."""


@attrs.frozen
class LoadedBlock:
    """Result of one loading task: series by tensor name, and screenings by the `id` of the rule."""

    series: Mapping[str, TensorSeries]
    screenings: Mapping[int, Sequence[KnownSteps]]


class PreviousValues:
    """Cache of the last value of large tensors in a block, to which the next block is compared. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._series: dict[str, tuple[int, TensorSeries]] = {}
        self._num_bytes = 0

    def of(self, name: str, step: int) -> TensorSeries | None:
        """Return the series of a tensor's value at a step; None if it is not cached."""
        with self._lock:
            found = self._series.get(name)
        return None if found is None or found[0] != step else found[1]

    def keep(self, name: str, step: int, series: TensorSeries) -> None:
        """Cache the series of a tensor's last value in place of the previous one, if the size limit allows."""
        with self._lock:
            if name in self._series:
                self._num_bytes -= self._series.pop(name)[1].num_bytes
            if self._num_bytes + series.num_bytes <= _LATEST_BYTES:
                self._series[name] = (step, series)
                self._num_bytes += series.num_bytes


class BlockLoader:
    """Reads the tensors of a block and screens them. Thread-safe.

    Args:
        trial: The trial.
        steps: Global steps of the block, ascending.
        wanted: The tensors to read, each with the rules that screen it.
        saved: Positions in the block at which each tensor was saved.
        latest: Last values of the previous block, replaced by those of this one.
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
        # local values are not kept, because reading one again is faster than allocating memory for each
        self._keeps_all = trial.index_reader.events.backend.is_remote
        self._modes = {position: _mode_of(trial, step) for position, step in enumerate(steps)}

    def load(self, names: Sequence[str], *, are_large: bool = False) -> LoadedBlock:
        """Read tensors, each event file once, and screen them.

        Args:
            names: The tensors.
            are_large: Summarize the values instead of keeping them.
        """
        all_series: dict[str, TensorSeries] = {}
        screenings: dict[int, list[KnownSteps]] = {}
        with np.errstate(all="ignore"):  # rules look for infinities and overflow, so they are no accidents here
            for name, chunks in (self._summarize_all if are_large else self._read_all)(names).items():
                is_complete = sum(len(chunk.positions) for chunk in chunks) == len(self._saved[name])
                series = TensorSeries(
                    name, chunks, self._modes, is_complete=is_complete, before=self._before(name, are_large)
                )
                undecided_at = self._screen(series, screenings)
                if are_large:
                    self._remember(name, series)
                    all_series[name] = series if self._keeps_all else series.only_at(undecided_at)
                else:
                    all_series[name] = series
        return LoadedBlock(all_series, screenings)

    def _read_all(self, names: Sequence[str]) -> dict[str, list[Chunk]]:
        chunks: dict[str, list[Chunk]] = {name: [] for name in names}
        place = {step: position for position, step in enumerate(self._steps)}
        reader = self._trial.index_reader
        try:
            for name, steps, values in reader.read_columns(names, self._steps, ModeKeys.GLOBAL, None):
                positions = np.array([place[step] for step in steps], np.intp)
                if isinstance(values, np.ndarray):
                    chunks[name].append(SeriesChunk(positions, values))
                    continue
                for position, step, value in zip(positions.tolist(), steps, values, strict=True):
                    found = self._read(name, step) if value is None else value
                    if found is not None:
                        chunks[name].append(SeriesChunk(np.array([position]), found[np.newaxis]))
        except (
            OSError,
            DebugExtError,
        ):  # unreadable values stay undecided, so that the rule raises the error when it evaluates the step
            return {name: [] for name in names}
        return chunks

    def _summarize_all(self, names: Sequence[str]) -> dict[str, list[Chunk]]:
        """Summarize large tensors; read the values that cannot be streamed."""
        chunks: dict[str, list[Chunk]] = {name: [] for name in names}
        missing = {name: set(self._saved[name]) for name in names}
        place = {step: position for position, step in enumerate(self._steps)}
        requests = {name: self._request(name) for name in names}
        try:
            for name, summary in self._trial.index_reader.read_digests(requests, self._steps, ModeKeys.GLOBAL):
                positions = [place[step] for step in summary.steps]
                chunks[name].append(SummarizedChunk(np.array(positions, np.intp), summary))
                missing[name].difference_update(positions)
        except (
            OSError,
            DebugExtError,
        ):  # unreadable values stay undecided, so that the rule raises the error when it evaluates the step
            return {name: [] for name in names}
        for name in names:
            for position in sorted(missing[name]):
                found = self._read(name, self._steps[position])
                if found is not None:
                    chunks[name].append(SeriesChunk(np.array([position]), found[np.newaxis]))
        return chunks

    def _request(self, name: str) -> SummaryRequest:
        """Return what the rules that screen a tensor need of its summary."""
        rules = self._wanted[name]
        return SummaryRequest(
            num_leading=lambda num_entries: max((rule.num_leading(num_entries) for rule in rules), default=0),
            has_sums=any(rule.screen_needs_sums for rule in rules),
        )

    def _before(self, name: str, is_large: bool) -> TensorSeries | None:
        """Return the series of the value saved before the block, summarized if large; None if no rule needs it."""
        if not any(rule.compares_with_previous for rule in self._wanted[name]):
            return None
        reader = self._trial.index_reader
        with reader.lock:
            steps = reader.index.sequence_of_tensor(name, ModeKeys.GLOBAL).steps
            place = bisect.bisect_left(steps, self._steps[0]) - 1
            step = steps[place] if place >= 0 else None
        if step is None:
            return None
        known = self._latest.of(name, step)
        if known is not None:
            return known
        # summaries are compared with summaries only, because their samples come from other places
        chunk = (self._summarize(name, step) if is_large else None) or self._read_chunk(name, step)
        return None if chunk is None else TensorSeries(name, [chunk], {0: _mode_of(self._trial, step)})

    def _summarize(self, name: str, step: int) -> SummarizedChunk | None:
        """Return the summary of one value; None if it cannot be streamed."""
        try:
            summaries = dict(
                self._trial.index_reader.read_digests({name: self._request(name)}, [step], ModeKeys.GLOBAL)
            )
        except (OSError, DebugExtError):  # as above
            return None
        summary = summaries.get(name)
        return SummarizedChunk(np.array([0]), summary) if summary is not None and summary.steps else None

    def _read_chunk(self, name: str, step: int) -> SeriesChunk | None:
        value = self._read(name, step)
        return None if value is None else SeriesChunk(np.array([0]), value[np.newaxis])

    def _remember(self, name: str, series: TensorSeries) -> None:
        """Cache the last value for the next block, if a rule compares with it."""
        position = self._saved[name][-1]
        # the last saved value may be empty or unreadable
        if position in series.positions[-1:] and any(rule.compares_with_previous for rule in self._wanted[name]):
            self._latest.keep(name, self._steps[position], series.only_last())

    def _read(self, name: str, step: int) -> Array | None:
        try:
            return numeric_value(self._trial, name, step)
        except (OSError, DebugExtError):  # as above
            return None

    def _screen(self, series: TensorSeries, screenings: dict[int, list[KnownSteps]]) -> set[int]:
        """Add the screenings of a tensor, and return the positions at which a rule is undecided."""
        positions = series.positions
        saved = self._saved[series.name]
        missing = np.empty(0, np.intp)
        if len(positions) < len(saved):  # such as steps at which only reductions were saved
            missing = np.setdiff1d(np.array(saved, np.intp), positions)
        undecided_at: set[int] = set()
        for rule in self._wanted[series.name]:
            known = screenings.setdefault(id(rule), [])
            if len(missing):
                known.append((missing, undecided(len(missing))))
            if len(positions):
                screening = rule.screen(series)
                known.append((positions, screening))
                undecided_at.update(positions[screening == Screen.UNDECIDED].tolist())
        return undecided_at


def _mode_of(trial: Trial, step: int) -> tuple[ModeKeys, int | None]:
    mode, mode_step = trial.mode_modestep(step)
    return mode or ModeKeys.GLOBAL, mode_step
