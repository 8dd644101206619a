"""Read a trial's files: the index is kept in memory and refreshed, values are read on request."""

from __future__ import annotations

import bisect
import os
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sagemaker_debug_ext.errors import CorruptRecordError, SMDebugValueError
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.store.open_writers import settle_own
from sagemaker_debug_ext.store.reader import EventReader
from sagemaker_debug_ext.trials.index.cache import IndexCache
from sagemaker_debug_ext.trials.index.completeness import Completeness
from sagemaker_debug_ext.trials.index.entries import (
    IndexEntryFile,
    IndexLayout,
    ReductionKey,
    SavedTensor,
    StoredRecord,
)
from sagemaker_debug_ext.trials.index.refresh import IndexReader
from sagemaker_debug_ext.trials.index.step_sequence import StepSequence, nearest_steps
from sagemaker_debug_ext.trials.index.trial_index import TrialIndex
from sagemaker_debug_ext.trials.problems import Problems
from sagemaker_debug_ext.trials.step_range import StepRange
from sagemaker_debug_ext.trials.values import bulk_reader
from sagemaker_debug_ext.trials.values.series_summary import SeriesSummary, SummaryRequest, summarize_series
from sagemaker_debug_ext.trials.waiting import Polling
from sagemaker_debug_ext.vocabulary import ModeKeys

_WINDOW_VARIABLE: Final = "SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW"
_DEFAULT_WINDOW: Final = 1000

_RETRIES_VARIABLE: Final = "SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT"
_DEFAULT_RETRIES: Final = 100

_END_DELAY_VARIABLE: Final = "SMDEBUG_TRAINING_END_DELAY_REFRESH"
_DEFAULT_END_DELAY_SECONDS: Final = 0

_LOOK_AT_ALL_SECONDS: Final = 30.0
"""Interval between looks at the files of complete steps, where listing costs requests."""


class TrialReader:
    """Reads the index and the values of one trial. May be used from several threads.

    Three limits are read from the environment at construction:

    * ``SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW`` (default 1000): number of steps that may wait for missing workers; if
      there are more, half as many become complete at each refresh.
    * ``SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT`` (default 100): number of attempts, one per polling interval, to find an
      event file that an index file names. It is not waited for once the job has ended or its worker has written a later
      step.
    * ``SMDEBUG_TRAINING_END_DELAY_REFRESH`` (default 0): seconds after which an ended trial is refreshed once more, for
      storage that lists new files with a delay.

    Args:
        backend: The back end that holds the trial.
        problems: Records the files that cannot be read.
        num_workers: Number of workers that write.
        step_range: The global steps to read; others are ignored.
        polling: How to poll.
        cache: Cache of the index on disk; None for no cache.

    Attributes:
        lock: Must be held while `index` or `completeness` is used.
        index: The index of all tensors saved so far.
        completeness: Tracks which steps are complete.
        events: Reader of event files.
        num_news: Counter that grows when a refresh finds a change or the end of the job.
    """

    def __init__(
        self,
        backend: Backend,
        problems: Problems,
        num_workers: int,
        step_range: StepRange,
        polling: Polling,
        cache: IndexCache | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.index = TrialIndex()
        self.completeness = Completeness(
            self.index, num_workers, _limit_from_environment(_WINDOW_VARIABLE, _DEFAULT_WINDOW)
        )
        self.events = EventReader(backend)
        self.num_news = 0
        self._num_retries = _limit_from_environment(_RETRIES_VARIABLE, _DEFAULT_RETRIES)
        self._end_delay_seconds = _limit_from_environment(_END_DELAY_VARIABLE, _DEFAULT_END_DELAY_SECONDS, least=0)
        self._backend = backend
        self._problems = problems
        self._polling = polling
        self._index_reader = IndexReader(backend, self.index, problems, step_range, cache, self._forget)
        self._looked_at_all_at = self._alive_at = self._retry_at = polling.clock()

    def _forget(self, file: IndexEntryFile) -> None:
        if file.event_file is not None:
            self.events.forget(file.event_file)

    def refresh(self, everything: bool = False) -> None:
        """Read the index files that are new or have changed.

        Args:
            everything: Whether to check the files of complete steps too, which are otherwise only checked now and then.
        """
        with self.lock:
            now = self._polling.clock()
            if everything or now - self._looked_at_all_at >= _LOOK_AT_ALL_SECONDS:
                everything, self._looked_at_all_at = True, now
            changed = self._index_reader.refresh(self.completeness.last_complete_step, everything)
            if changed:
                # Files found first may be old; files found later prove that the job is alive, whatever their time.
                age_seconds = 0.0 if self.num_news else self._index_reader.age_seconds()
                self._alive_at = now - age_seconds
                self.num_news += 1
            self.completeness.update(changed)

    def silent_seconds(self) -> float:
        """Return the time since the last new file, as far as is known."""
        return self._polling.clock() - self._alive_at

    def follow(self) -> bool:
        """Refresh, and check whether the job has ended.

        Returns:
            Whether the job has ended and all its files have been read.
        """
        with self.lock:
            if not self.completeness.has_ended:
                # Checked before the refresh, so that the refresh finds every file written before the marker.
                ended = has_ended(self._backend)
                self.refresh(everything=ended)
                if ended:
                    if self._end_delay_seconds:
                        self._polling.sleep(self._end_delay_seconds)
                        self.refresh(everything=True)
                    self.completeness.finish()
                    self.num_news += 1
            return self.completeness.has_ended

    def is_written_here(self) -> bool:
        """Return whether the calling thread itself writes the trial, so that no new step can come while it waits.

        All complete steps of the thread are visible then. False once the job has ended.
        """
        return not self.completeness.has_ended and settle_own(self._backend.url)

    def read_failed(self) -> None:
        """After the end of the job, try files that could not be read once more: at once, and then every 30 s."""
        with self.lock:
            now = self._polling.clock()
            if self._index_reader.has_failed and now >= self._retry_at:
                self.refresh(everything=True)
                self.completeness.finish()
                self._retry_at = now + _LOOK_AT_ALL_SECONDS

    def keep_index(self) -> None:
        """Cache the index for the next reader of the trial."""
        with self.lock:
            self._index_reader.keep()

    def steps(self, mode: ModeKeys, show_incomplete_steps: bool) -> list[int]:
        """Return the steps of a mode, ascending, as a new list."""
        return self.step_array(mode, show_incomplete_steps).tolist()

    def step_array(self, mode: ModeKeys = ModeKeys.GLOBAL, show_incomplete_steps: bool = False) -> array[int]:
        """Return the steps of a mode, ascending, as a new array, which takes a fifth of the memory of a list."""
        with self.lock:
            return self._saved_so_far(self.index.sequence(mode), show_incomplete_steps)

    def _saved_so_far(self, sequence: StepSequence, show_incomplete_steps: bool) -> array[int]:
        if show_incomplete_steps or self.completeness.has_ended:
            return sequence.steps[:]
        return sequence.up_to(self.completeness.last_complete_step)

    def steps_of_tensor(self, name: str, mode: ModeKeys, show_incomplete_steps: bool) -> list[int]:
        """Return the steps of a mode at which a tensor was saved, ascending, as a new list."""
        with self.lock:
            sequence = self.index.sequence_of_tensor(name, mode)
            return self._saved_so_far(sequence, show_incomplete_steps).tolist()

    def steps_near(self, step: int, mode: ModeKeys, name: str | None = None) -> tuple[int, ...]:
        """Return the nearest saved steps of a mode before and after `step`; with a name, those of that tensor."""
        with self.lock:
            sequence = self.index.sequence(mode) if name is None else self.index.sequence_of_tensor(name, mode)
            return nearest_steps(sequence.steps, step)

    def find(self, name: str, step: int, mode: ModeKeys) -> dict[str, SavedTensor]:
        """Return worker → saved tensor at a step of a mode, sorted by worker."""
        with self.lock:
            return self.index.find(name, step, mode)

    def file_of(self, name: str, step: int, mode: ModeKeys, worker: str | None) -> IndexEntryFile | None:
        """Return the index entry in which a worker, or the first one, saved a tensor; None if it did not."""
        with self.lock:
            return self.index.file_of(name, step, mode, worker)

    def visible_since(self, step: int) -> float | None:
        """Return the time of the last index file of a global step, in seconds since the epoch; None if unknown."""
        with self.lock:
            times = [file.modified_at for file in self.index.files_at(step, ModeKeys.GLOBAL)]
        return max(times, default=0.0) or None

    def step_after(self, step: int) -> int | None:
        """Return the first complete global step after `step`; None if there is none so far."""
        with self.lock:
            steps = self.index.sequence(ModeKeys.GLOBAL).steps
            position = bisect.bisect_right(steps, step)
            found = steps[position] if position < len(steps) else None
            is_complete = self.completeness.has_ended or found is None or found <= self.completeness.last_complete_step
        return found if is_complete else None

    def steps_by_tensor(self, names: Iterable[str], worker: str) -> dict[str, list[int]]:
        """Return, for each tensor, the complete global steps at which a worker saved it, ascending."""
        wanted = dict.fromkeys(names)
        found: dict[str, list[int]] = {}
        there: dict[IndexLayout, list[str]] = {}
        with self.lock:
            for step in self.steps(ModeKeys.GLOBAL, show_incomplete_steps=False):
                for file in self.index.files_at(step, ModeKeys.GLOBAL):
                    if file.worker == worker:
                        if file.layout not in there:
                            there[file.layout] = [name for name in wanted if name in file.layout.slots]
                        for name in there[file.layout]:
                            found.setdefault(name, []).append(step)
        return found

    def reductions_at(self, step: int) -> dict[ReductionKey, list[str]]:
        """Return, for each saved reduction, the tensors whose first worker in sort order saved it at a global step."""
        found: dict[ReductionKey, list[str]] = {}
        seen: set[str] = set()
        with self.lock:
            for file in self.index.files_at(step, ModeKeys.GLOBAL):
                new = [(name, slot) for name, slot in file.layout.slots.items() if name not in seen]
                seen.update(name for name, _ in new)
                for name, slot in new:
                    for key in slot.reductions:
                        found.setdefault(key, []).append(name)
        return found

    def workers(self) -> list[str]:
        """Return all workers that saved a tensor, sorted."""
        with self.lock:
            return self.index.workers()

    def original_name(self, name: str) -> str | None:
        """Return a tensor's name in its framework, if it is known."""
        with self.lock:
            return self.index.original_name(name)

    # --- values ------------------------------------------------------------------------------------------------------

    def read(self, records: Sequence[StoredRecord], may_refresh: bool) -> Iterator[Array]:
        """Read values, in the order of their records.

        Args:
            records: The records to read.
            may_refresh: Whether to refresh if a record is damaged, because it may have been rewritten.

        Yields:
            Read-only arrays.

        Raises:
            FileNotFoundError: The event file of the next record is missing.
            CorruptRecordError: The next record is damaged.
        """
        for record in records:
            yield self.read_one(record, may_refresh)

    def read_columns(
        self,
        names: Iterable[str],
        steps: Sequence[int] | None,
        mode: ModeKeys,
        worker: str | None,
        reduction: ReductionKey | None = None,
    ) -> Iterator[bulk_reader.Values]:
        """Read the values, or one saved reduction, of many tensors at many steps; reads each event file once.

        Args:
            names: The tensors.
            steps: Steps of the mode; None for all complete ones.
            mode: The mode the steps count in.
            worker: Worker whose values to read; None for, at each step, the first in sort order that saved the value.
            reduction: The reduction to read; None for the values themselves.

        Yields:
            Values in no particular order, under the names of their records; None for a value that must be read alone.
            Values that were not saved are skipped.
        """
        return bulk_reader.read_uniform(self.events, self._find_files(names, steps, mode, worker, reduction))

    def read_digests(
        self, wishes: Mapping[str, SummaryRequest], steps: Sequence[int], mode: ModeKeys
    ) -> Iterator[tuple[str, SeriesSummary]]:
        """Summarize values without keeping them; reads each event file once; see `summarize_series`.

        Args:
            wishes: The summary to compute of each tensor.
            steps: Steps of the mode.
            mode: The mode the steps count in.

        Yields:
            Names and summaries, in step order for each name. Values are those of each step's first worker in sort order
            that saved the tensor. Values without a summary must be read.
        """
        if self._backend.is_remote:
            return
        for columns, files in self._find_files(wishes, steps, mode, None, None).items():
            for content, rows in bulk_reader.alike(files).items():
                yield from summarize_series(
                    self.events, content, {column: wishes[column[0]] for column in columns}, rows
                ).items()

    def _find_files(
        self,
        names: Iterable[str],
        steps: Sequence[int] | None,
        mode: ModeKeys,
        worker: str | None,
        reduction: ReductionKey | None,
    ) -> dict[bulk_reader.Columns, list[bulk_reader.WantedFile]]:
        """Return the columns to read, with the files that hold them; see `read_columns`."""
        wanted: dict[bulk_reader.Columns, list[bulk_reader.WantedFile]] = {}
        all_names = tuple(dict.fromkeys(names))
        known: dict[tuple[int, IndexLayout], tuple[list[bulk_reader.WantedFile] | None, tuple[str, ...]]] = {}
        with self.lock:
            for step in self.steps(mode, show_incomplete_steps=False) if steps is None else steps:
                missing = all_names
                for file in self.index.files_at(step, mode):
                    if worker is not None and file.worker != worker:
                        continue
                    key = (id(missing), file.layout)
                    if key not in known:
                        columns, rest = _split(missing, file, reduction)
                        known[key] = (wanted.setdefault(columns, []) if columns else None, rest)
                    files, missing = known[key]
                    if files is not None:
                        files.append(bulk_reader.WantedFile(step, file))
                    if not missing:
                        break
        return wanted

    def is_gone(self) -> bool:
        """Return whether the folder of the trial is not there any more; False if unknown."""
        return self._backend.is_gone()

    def read_one(self, record: StoredRecord, may_refresh: bool) -> Array:
        """Read one value; see `read`."""
        try:
            return self._read_or_wait(record)
        except FileNotFoundError:
            raise
        except OSError as error:
            self._problems.note(record.event_file, f"cannot be read: {error}")
            raise
        except CorruptRecordError as error:
            newer = self._find_newer(record) if may_refresh else None
            if newer is None:
                self._problems.note(record.event_file, str(error))
                raise
        return self.read_one(newer, may_refresh=False)

    def _find_newer(self, record: StoredRecord) -> StoredRecord | None:
        with self.lock:
            self.refresh(everything=True)
            newer = self.index.record(record.name, record.step, record.worker)
        # The same record is read again where its bytes may have been spoiled on their way.
        return newer if newer != record or self._backend.is_remote else None

    def _read_or_wait(self, record: StoredRecord) -> Array:
        try:
            return self._read_now(record)
        except FileNotFoundError:
            timeout_seconds = self._num_retries * self._polling.poll_seconds
            self._polling.wait_until(lambda: not self._may_still_come(record), timeout_seconds)
        try:
            return self._read_now(record)
        except FileNotFoundError:
            self._problems.note(record.event_file, "an index file names this event file, but it is not there")
            raise

    def _read_now(self, record: StoredRecord) -> Array:
        event_file, location, name, step, _, file_end = record
        return self.events.value(event_file, location, name, step, file_end)

    def _may_still_come(self, record: StoredRecord) -> bool:
        if self._backend.exists(record.event_file) or has_ended(self._backend) or self.is_gone():
            return False
        with self.lock:
            return not self.index.has_later_step(record.worker, record.step)


def _split(
    names: tuple[str, ...], file: IndexEntryFile, reduction: ReductionKey | None
) -> tuple[bulk_reader.Columns, tuple[str, ...]]:
    """Return the columns of a file that hold the tensors, and the names of tensors that the file lacks entirely."""
    slots = file.layout.slots
    there = {name: slots[name] for name in names if name in slots}
    missing = tuple(name for name in names if name not in there) if there else names
    if reduction is None:
        return tuple((name, slot.value) for name, slot in there.items() if slot.value >= 0), missing
    positions = [slot.reductions[reduction] for slot in there.values() if reduction in slot.reductions]
    return tuple((file.layout.names[position], position) for position in positions), missing


def _limit_from_environment(name: str, default: int, least: int = 1) -> int:
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isdecimal() or int(text) < least:
        raise SMDebugValueError(f"{name} must be a whole number of at least {least} (got {text!r})")
    return int(text)
