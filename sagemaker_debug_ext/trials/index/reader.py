"""Read a trial's files: its index is held in memory and followed, values are read when asked for."""

from __future__ import annotations

import bisect
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from sagemaker_debug_ext.errors import CorruptRecordError, SMDebugValueError
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.job_end import has_ended
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
from sagemaker_debug_ext.trials.index.step_sequence import nearest_steps
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
"""How often files of steps that were complete are looked for, where that costs requests."""


class TrialReader:
    """Knows what one trial holds and reads it. May be used from several threads.

    The environment sets three limits when an object is made. ``SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW`` (default 1000):
    how many steps may wait for workers that have not written them. ``SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT`` (default
    100): how often, with the polling time in between, to look for an event file that an index file names and that is
    not there; once the job has ended, or the worker has written a later step, it is not waited for.
    ``SMDEBUG_TRAINING_END_DELAY_REFRESH`` (default 0): seconds after which an ended trial is looked at once more, for
    places that list what was written only after a while.

    Args:
        backend: Where the trial lies.
        problems: Where to note what cannot be read.
        num_workers: How many workers write.
        step_range: Only global steps of it are looked at.
        polling: How to wait.
        cache: Where the index is kept on disk; None for nowhere.

    Attributes:
        lock: Hold it while using `index` or `completeness`.
        index: What was saved so far.
        completeness: Which steps are complete.
        events: What reads records.
        num_news: Grows whenever a refresh finds something new, or the end of the job.
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
        self._looked_at_all_at = self._alive_at = polling.clock()

    def _forget(self, file: IndexEntryFile) -> None:
        if file.event_file is not None:
            self.events.forget(file.event_file)

    def refresh(self, everything: bool = False) -> None:
        """Read the index files that are new or have changed.

        Args:
            everything: Look at all of them, where by default those of complete steps are looked at now and then only.
        """
        with self.lock:
            now = self._polling.clock()
            if everything or now - self._looked_at_all_at >= _LOOK_AT_ALL_SECONDS:
                everything, self._looked_at_all_at = True, now
            changed = self._index_reader.refresh(self.completeness.last_complete_step, everything)
            if changed:
                # At first what is there may be old; what comes later is a sign of life, whatever its time says.
                age_seconds = 0.0 if self.num_news else self._index_reader.age_seconds()
                self._alive_at = now - age_seconds
                self.num_news += 1
            self.completeness.update(changed)

    def silent_seconds(self) -> float:
        """Return for how long nothing new has come, as far as is known."""
        return self._polling.clock() - self._alive_at

    def follow(self) -> bool:
        """Refresh, and take note if the job has ended.

        Returns:
            Whether everything there will ever be has been read.
        """
        with self.lock:
            if not self.completeness.has_ended:
                ended = has_ended(self._backend)  # before the refresh: what was written before the marker is then seen
                self.refresh(everything=ended)
                if ended:
                    if self._end_delay_seconds:
                        self._polling.sleep(self._end_delay_seconds)
                        self.refresh(everything=True)
                    self.completeness.finish()
                    self.num_news += 1
            return self.completeness.has_ended

    def keep_index(self) -> None:
        """Keep what was read of the index for the next reader of the trial."""
        with self.lock:
            self._index_reader.keep()

    def steps(self, mode: ModeKeys, show_incomplete_steps: bool) -> list[int]:
        """Return the steps of a mode, ascending, as a new list."""
        with self.lock:
            sequence = self.index.sequence(mode)
            if show_incomplete_steps or self.completeness.has_ended:
                return list(sequence.steps)
            return sequence.up_to(self.completeness.last_complete_step)

    def steps_of_tensor(self, name: str, mode: ModeKeys, show_incomplete_steps: bool) -> list[int]:
        """Return the steps of a mode at which a tensor was saved, ascending, as a new list."""
        with self.lock:
            sequence = self.index.sequence_of_tensor(name, mode)
            if show_incomplete_steps or self.completeness.has_ended:
                return list(sequence.steps)
            return sequence.up_to(self.completeness.last_complete_step)

    def steps_near(self, step: int, mode: ModeKeys, name: str | None = None) -> tuple[int, ...]:
        """Return the steps of a mode right before and after one at which anything, or that tensor, was saved."""
        with self.lock:
            sequence = self.index.sequence(mode) if name is None else self.index.sequence_of_tensor(name, mode)
            return nearest_steps(sequence.steps, step)

    def find(self, name: str, step: int, mode: ModeKeys) -> dict[str, SavedTensor]:
        """Return what was saved of a tensor at a step of a mode: worker → what it saved, sorted by worker."""
        with self.lock:
            return self.index.find(name, step, mode)

    def file_of(self, name: str, step: int, mode: ModeKeys, worker: str | None) -> IndexEntryFile | None:
        """Return where a worker, or the first one, saved anything of a tensor; None if it did not."""
        with self.lock:
            return self.index.file_of(name, step, mode, worker)

    def visible_since(self, step: int) -> float | None:
        """Return when the last index file of a global step was written, in seconds since the epoch; None if unknown."""
        with self.lock:
            times = [file.modified_at for file in self.index.files_at(step, ModeKeys.GLOBAL)]
        return max(times, default=0.0) or None

    def step_after(self, step: int) -> int | None:
        """Return the first complete global step after another; None if there is none so far."""
        with self.lock:
            steps = self.index.sequence(ModeKeys.GLOBAL).steps
            position = bisect.bisect_right(steps, step)
            found = steps[position] if position < len(steps) else None
            is_complete = self.completeness.has_ended or found is None or found <= self.completeness.last_complete_step
        return found if is_complete else None

    def steps_by_tensor(self, names: Iterable[str], worker: str) -> dict[str, list[int]]:
        """Return the complete global steps at which a worker saved anything of each tensor, ascending."""
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

    def workers(self) -> list[str]:
        """Return all workers that saved something, sorted."""
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
            records: What to read.
            may_refresh: Whether to look if a record that is damaged has been written anew.

        Yields:
            Read-only arrays.

        Raises:
            FileNotFoundError: The event file of the next record is lost.
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
        """Read the values of tensors, or a saved reduction of each, at many steps, each event file once.

        Args:
            names: The tensors.
            steps: Steps of the mode; None for all complete ones.
            mode: The mode the steps count in.
            worker: Whose values; None for each step's first worker, in sort order, that saved the tensor's value.
            reduction: Which reduction; None for the values themselves.

        Yields:
            Values in no particular order, under the names that their records have, None for one that has to be read
            alone. What was not saved is left out.
        """
        return bulk_reader.read_uniform(self.events, self._find_files(names, steps, mode, worker, reduction))

    def read_digests(
        self, wishes: Mapping[str, SummaryRequest], steps: Sequence[int], mode: ModeKeys
    ) -> Iterator[tuple[str, SeriesSummary]]:
        """Go through values that need not be kept, each event file once; see `digests.summarize_series`.

        Args:
            wishes: What to find out of each tensor.
            steps: Steps of the mode.
            mode: The mode the steps count in.

        Yields:
            Names and what was found, those of a name in the order of the steps. Values are of each step's first worker,
            in sort order, that saved the tensor's value; those that are left out have to be read.
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
        """Return what of which files `read_columns` is to read."""
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
        return None if newer == record else newer

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
        if self._backend.exists(record.event_file) or has_ended(self._backend):
            return False
        with self.lock:
            return not self.index.has_later_step(record.worker, record.step)


def _split(
    names: tuple[str, ...], file: IndexEntryFile, reduction: ReductionKey | None
) -> tuple[bulk_reader.Columns, tuple[str, ...]]:
    """Return what of the tensors a file has values of, and the names of which it has nothing, not even reductions."""
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
