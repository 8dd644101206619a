"""Update the index in memory from the index files of a trial."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sagemaker_debug_ext.errors import IndexReaderException
from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ByteRange, ObjectInfo
from sagemaker_debug_ext.store.consolidated.index import ConsolidatedIndex
from sagemaker_debug_ext.store.consolidated.table import IndexedFile
from sagemaker_debug_ext.store.format.index import IndexParser
from sagemaker_debug_ext.store.format.keys import INDEX_PREFIX, StepFile, last_index_key, parse_index_key
from sagemaker_debug_ext.trials.index.cache import IndexCache
from sagemaker_debug_ext.trials.index.entries import IndexEntryFile
from sagemaker_debug_ext.trials.index.trial_index import TrialIndex
from sagemaker_debug_ext.trials.problems import Problems
from sagemaker_debug_ext.trials.step_range import StepRange

_FILES_AT_ONCE: Final = 256

_WORTH_KEEPING: Final = 64
"""Minimum number of newly read files for which to cache the index."""

_WORTH_LOOKING: Final = 8
"""Minimum number of files to read for which to look for a consolidated index."""


class IndexReader:
    """Reads index files that are new or have changed since the last refresh, whatever their step.

    A file that cannot be read is recorded as a problem and retried when it changes.

    Args:
        backend: The back end that holds the trial.
        index: The index to update.
        problems: Records the files that cannot be read.
        step_range: The global steps to read; files of other steps are skipped.
        cache: Cache of the index on disk; None for no cache.
        on_replaced: Called with the old entry of each replaced index file.

    Attributes:
        has_failed: Whether the back end failed to read a file when it was last tried; a later refresh tries it again.
    """

    def __init__(
        self,
        backend: Backend,
        index: TrialIndex,
        problems: Problems,
        step_range: StepRange,
        cache: IndexCache | None = None,
        on_replaced: Callable[[IndexEntryFile], object] | None = None,
    ) -> None:
        self._backend = backend
        self._index = index
        self._problems = problems
        self._step_range = step_range
        self._cache = cache
        self._on_replaced = on_replaced
        self._cached: dict[str, IndexedFile] | None = None
        self._watch = backend.watch(INDEX_PREFIX)
        self._parser = IndexParser()
        self._unsettled: set[int] = set()
        self._num_read = 0
        self._youngest_at = 0.0
        self.has_failed = False

    def age_seconds(self) -> float:
        """Return the age of the newest index file; 0 if the back end gives no times."""
        return max(time.time() - self._youngest_at, 0.0) if self._youngest_at else 0.0

    def refresh(self, settled_step: int = -1, everything: bool = False) -> set[int]:
        """Read new and changed index files.

        Args:
            settled_step: Files of steps up to this one need not be checked at every refresh.
            everything: Whether to check them at this refresh.

        Returns:
            The global steps that changed and before which no file is missing. If the back end does not list at one
            instant, it is listed twice, because a newer file may appear without an older one. Steps that appear only in
            the second listing are returned by the next refresh.
        """
        watch = self._watch
        self.has_failed = self.has_failed and not everything
        changes = watch.look_at_all() if everything else watch.look(last_index_key(settled_step))
        steps = self._unsettled | self._take_in(changes.objects)
        self._unsettled = set()
        if not changes.is_snapshot:
            changes = watch.look(last_index_key(settled_step))
            later_steps = self._take_in(changes.objects)
            if changes.is_snapshot:
                steps |= later_steps
            else:
                self._unsettled = later_steps
        self._cached = {}
        return steps

    def keep(self) -> None:
        """Cache the index on disk if enough files were read to save the next reader time."""
        is_worth_it = self._num_read >= max(_WORTH_KEEPING, self._index.num_files / 10)
        if self._cache is not None and is_worth_it:
            self._cache.save(self._index.files())
            self._num_read = 0

    def _take_in(self, found: Iterable[ObjectInfo]) -> set[int]:
        wanted = [info for info in found if info.key.endswith(".json")]
        self._youngest_at = max([self._youngest_at, *[info.modified_at for info in wanted]])
        if self._cached is None:
            worth_it = self._cache is not None and len(wanted) >= _WORTH_KEEPING
            self._cached = self._cache.load() if self._cache is not None and worth_it else {}
        steps: set[int] = set()
        to_read: list[tuple[ObjectInfo, StepFile]] = []
        for info in wanted:
            known = self._cached.get(info.key)
            if known is not None and known.version == info.version:
                if known.step in self._step_range:
                    self._add(known, info, steps)
                continue
            step_file = self._parse_key(info.key)
            if step_file is not None and step_file.step in self._step_range:
                to_read.append((info, step_file))
        if len(to_read) >= _WORTH_LOOKING:
            to_read = self._take_consolidated(to_read, steps)
        for start in range(0, len(to_read), _FILES_AT_ONCE):
            self._read(to_read[start : start + _FILES_AT_ONCE], steps)
        return steps

    def _take_consolidated(
        self, files: Sequence[tuple[ObjectInfo, StepFile]], steps: set[int]
    ) -> list[tuple[ObjectInfo, StepFile]]:
        """Add the entries of the consolidated index; return the files that must still be read."""
        consolidated = ConsolidatedIndex.load(self._backend)
        if consolidated is None:
            return list(files)
        rest = []
        for info, step_file in files:
            known = consolidated.find(info)
            if known is None:
                rest.append((info, step_file))
            else:
                self._add(known, info, steps)
        if self._backend.is_remote:  # a kept index is quicker to fetch than a consolidated one
            self._num_read += len(files) - len(rest)
        return rest

    def _parse_key(self, key: str) -> StepFile | None:
        try:
            return parse_index_key(key)
        except IndexReaderException as error:
            self._problems.note(key, error.message)
            return None

    def _read(self, files: Sequence[tuple[ObjectInfo, StepFile]], steps: set[int]) -> None:
        contents = self._backend.read_many([ByteRange(info.key) for info, _ in files])
        for (info, step_file), content in zip(files, contents, strict=True):
            read = self._parse_or_note(info, step_file, content)
            if read is not None:
                self._problems.forget(info.key)
                self._add(read, info, steps)
                self._num_read += 1

    def _parse_or_note(
        self, info: ObjectInfo, step_file: StepFile, content: Buffer | OSError | None
    ) -> IndexedFile | None:
        """Return the content of a file; None if it cannot be read, which is recorded as a problem."""
        try:
            if isinstance(content, OSError):
                raise content
            return self._parse_or_read_again(info, step_file, content)
        except IndexReaderException as error:
            self._problems.note(info.key, error.message)
        except OSError as error:
            self._problems.note(info.key, f"cannot be read: {error}")
            self._watch.forget(info.key)  # retried at the next refresh, because access may be granted by then
            self.has_failed = True
        return None

    def _parse_or_read_again(self, info: ObjectInfo, step_file: StepFile, content: Buffer | None) -> IndexedFile:
        """Return the content of a file; a damaged one is read once more if it may have been spoiled on its way."""
        try:
            return self._parse(info, step_file, content)
        except IndexReaderException:
            if not self._backend.is_remote:
                raise
        return self._parse(info, step_file, self._backend.read(info.key))

    def _parse(self, info: ObjectInfo, step_file: StepFile, content: Buffer | None) -> IndexedFile:
        if content is None:
            raise IndexReaderException(f"{info.key}: the index file is gone")
        return IndexedFile(info.version, *step_file, self._parser.parse(bytes(content), info.key))

    def _add(self, file: IndexedFile, info: ObjectInfo, steps: set[int]) -> None:
        replaced = self._index.add(file.step, file.worker, file.entry, file.version, info.modified_at)
        if replaced is not None and self._on_replaced is not None:
            self._on_replaced(replaced)
        steps.add(file.step)
