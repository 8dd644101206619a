"""Read a trial's files: its index is held in memory and followed, values are read when asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Final

from sagemaker_debug_ext.errors import CorruptRecordError, SMDebugValueError
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.manifest import has_ended
from sagemaker_debug_ext.store.messages import Array
from sagemaker_debug_ext.store.reader import read_tensor
from sagemaker_debug_ext.trials.index import SavedTensor, StoredRecord, TrialIndex
from sagemaker_debug_ext.trials.problems import Problems
from sagemaker_debug_ext.trials.ranges import StepRange
from sagemaker_debug_ext.trials.refreshing import IndexReader
from sagemaker_debug_ext.trials.steps import Completeness
from sagemaker_debug_ext.trials.waiting import Polling
from sagemaker_debug_ext.vocabulary import ModeKeys

_WINDOW_VARIABLE: Final = "SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW"
_DEFAULT_WINDOW: Final = 1000

_RETRIES_VARIABLE: Final = "SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT"
_DEFAULT_RETRIES: Final = 100


class TrialReader:
    """Knows what one trial holds and reads it. May be used from several threads.

    The environment sets two limits when an object is made. ``SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW`` (default 1000): how
    many steps may wait for workers that have not written them. ``SMDEBUG_MISSING_EVENT_FILE_RETRY_LIMIT`` (default
    100): how often, with the polling time in between, to look for an event file that an index file names and that is
    not there; once the job has ended, or the worker has written a later step, it is not waited for.

    Args:
        backend: Where the trial lies.
        problems: Where to note what cannot be read.
        num_workers: How many workers write.
        step_range: Only global steps of it are looked at.
        polling: How to wait.

    Attributes:
        lock: Hold it while using `index` or `completeness`.
        index: What was saved so far.
        completeness: Which steps are complete.
    """

    def __init__(
        self, backend: Backend, problems: Problems, num_workers: int, step_range: StepRange, polling: Polling
    ) -> None:
        self.lock = threading.RLock()
        self.index = TrialIndex()
        self.completeness = Completeness(
            self.index, num_workers, _limit_from_environment(_WINDOW_VARIABLE, _DEFAULT_WINDOW)
        )
        self._num_retries = _limit_from_environment(_RETRIES_VARIABLE, _DEFAULT_RETRIES)
        self._backend = backend
        self._problems = problems
        self._polling = polling
        self._index_reader = IndexReader(backend, self.index, problems, step_range)

    def refresh(self) -> None:
        """Read the index files that are new or have changed."""
        with self.lock:
            self.completeness.update(self._index_reader.refresh())

    def follow(self) -> bool:
        """Refresh, and take note if the job has ended.

        Returns:
            Whether everything there will ever be has been read.
        """
        with self.lock:
            if not self.completeness.has_ended:
                ended = has_ended(self._backend)  # before the refresh: what was written before the marker is then seen
                self.refresh()
                if ended:
                    self.completeness.finish()
            return self.completeness.has_ended

    def steps(self, mode: ModeKeys, show_incomplete_steps: bool) -> list[int]:
        """Return the steps of a mode, ascending."""
        with self.lock:
            steps = self.index.steps(mode)
            if show_incomplete_steps:
                return list(steps)
            return [step for step in steps if self.completeness.is_complete(self.index.global_steps(mode, step)[0])]

    def steps_of_tensor(self, name: str, mode: ModeKeys, show_incomplete_steps: bool) -> list[int]:
        """Return the steps of a mode at which a tensor was saved, ascending."""
        with self.lock:
            found = self.index.steps_of_tensor(name, mode)
            return [
                step
                for step, global_step in found
                if show_incomplete_steps or self.completeness.is_complete(global_step)
            ]

    def find(self, name: str, step: int, mode: ModeKeys) -> dict[str, SavedTensor]:
        """Return what was saved of a tensor at a step of a mode: worker → what it saved, sorted by worker."""
        with self.lock:
            return self.index.find(name, step, mode)

    def original_name(self, name: str) -> str | None:
        """Return a tensor's name in its framework, if it is known."""
        with self.lock:
            return self.index.original_name(name)

    def read(self, records: Sequence[StoredRecord], may_refresh: bool) -> Iterator[Array]:
        """Read values, in the order of their records; every value of a trial is read here.

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
            yield self._read(record, may_refresh)

    def _read(self, record: StoredRecord, may_refresh: bool) -> Array:
        try:
            return self._read_or_wait(record)
        except CorruptRecordError as error:
            newer = self._find_newer(record) if may_refresh else None
            if newer is None:
                self._problems.note(record.event_file, str(error))
                raise
        return self._read(newer, may_refresh=False)

    def _find_newer(self, record: StoredRecord) -> StoredRecord | None:
        with self.lock:
            self.refresh()
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
        return read_tensor(self._backend, record.event_file, record.location, record.name)

    def _may_still_come(self, record: StoredRecord) -> bool:
        if self._backend.exists(record.event_file) or has_ended(self._backend):
            return False
        with self.lock:
            return not self.index.has_later_step(record.worker, record.step)


def _limit_from_environment(name: str, default: int) -> int:
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isdecimal() or not int(text):
        raise SMDebugValueError(f"{name} must be a whole number of at least 1 (got {text!r})")
    return int(text)
