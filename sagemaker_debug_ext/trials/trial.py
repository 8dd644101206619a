"""The saved output of one job, opened for reading: `Trial`, and how to open one."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext._s3_urls import SCHEME, split_s3_url
from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.errors import (
    SMDebugNotImplementedError,
    SMDebugTypeError,
    SMDebugValueError,
    TensorUnavailable,
    TrialNotFoundError,
)
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.consolidated.index import consolidate
from sagemaker_debug_ext.store.format.keys import PROGRAM_PREFIX, index_key
from sagemaker_debug_ext.store.format.program import ProgramRecord, read_program
from sagemaker_debug_ext.trials.arguments import (
    check_name,
    check_step,
    path_text,
)
from sagemaker_debug_ext.trials.collections import TrialCollections
from sagemaker_debug_ext.trials.following import JobState, StepWaiter
from sagemaker_debug_ext.trials.index.cache import IndexCache, cache_folder
from sagemaker_debug_ext.trials.index.completeness import StepState
from sagemaker_debug_ext.trials.index.reader import TrialReader
from sagemaker_debug_ext.trials.open_collections import wait_for_collections
from sagemaker_debug_ext.trials.problems import Problem, Problems
from sagemaker_debug_ext.trials.queries import StepQueries, ValueQueries, compile_patterns
from sagemaker_debug_ext.trials.repr import trial_to_html, trial_to_text
from sagemaker_debug_ext.trials.step_range import StepRange
from sagemaker_debug_ext.trials.tensors import Tensor
from sagemaker_debug_ext.trials.values.comparison import Comparison, compare_trials
from sagemaker_debug_ext.trials.waiting import (
    DEFAULT_POLL_SECONDS,
    DEFAULT_REMOTE_POLL_SECONDS,
    DEFAULT_SILENCE_SECONDS,
    Polling,
)
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.store.backends.s3 import S3Options

LOG = logging.getLogger(__name__)

_MOST_PROGRAM_READS: Final = 20
"""Number of times to read the record of a program again, because hooks learn of losses at their first call."""


class Trial(StepQueries, ValueQueries):
    """The saved output of one job. Only `consolidate` writes; most users open a trial with `create_trial`.

    A trial may be opened while the job is running. Methods that say so look for new steps before they return, unless
    `dynamic_refresh` is False or the job has ended and everything has been read (`loaded_all_steps`).

    Every ``mode`` argument names the mode in which steps count; the default, GLOBAL, counts over all modes. Steps come
    in ascending order, names and workers sorted. Trials may be used from several threads.

    Args:
        name: Label of the trial.
        backend: The back end that holds the files of the trial.
        range_steps: Pair ``(begin, end)`` of global steps, `begin` inclusive and `end` exclusive; other steps are
            ignored. A bound of None means no bound.
        check: Accepted for compatibility; every check is always made.
        index_mode: False for a trial that only reads its collections.
        cache: Whether tensors cache the values they have read.
        wait_seconds: How long to wait for the collections files of all workers; 0 does not wait. By default until the
            job has been silent for an hour.
        polling: How to poll; by default every 0.05 seconds, and every 2 seconds on S3.
        index_cache: Whether to cache the index on this machine for the next time the trial is opened. The cache lies
            under ``$XDG_CACHE_HOME`` or ``~/.cache``, or in the folder in ``SAGEMAKER_DEBUG_EXT_CACHE_DIR``, where
            ``off`` disables it.

    Attributes:
        name: Label of the trial.
        path: URL or folder of the trial.
        collection_manager: The collections of the trial.
        num_workers: Number of workers that write to the trial.
        worker_set: Names of the workers that wrote a collections file; if none did, of those that saved a tensor.
        dynamic_refresh: Whether queries look for new steps first.
        range_steps: As given.
        cache: As given.
        index_reader: Reader of the trial's files.
        logger: Logger of the trial.

    Raises:
        TrialNotFoundError: There is no trial.
        MissingCollectionFiles: Collections files are still missing after `wait_seconds`, or the job has ended without
            any step.
        SMDebugTypeError: `range_steps` is not a pair of integers, or another argument has a wrong type.
        SMDebugValueError: `range_steps` is empty or has a negative bound.
    """

    def __init__(
        self,
        name: str,
        backend: Backend,
        range_steps: Sequence[int | None] | None = None,
        check: bool = False,  # noqa: ARG002 - part of the API
        index_mode: bool = True,
        cache: bool = False,
        *,
        wait_seconds: float | None = None,
        polling: Polling | None = None,
        index_cache: bool = True,
    ) -> None:
        if not isinstance(backend, Backend):
            raise SMDebugTypeError(f"backend must be a Backend; create_trial opens a path (got {backend!r})")
        if not isinstance(polling, (Polling, NoneType)):
            raise SMDebugTypeError(f"polling must be a Polling, such as Polling(poll_seconds=1) (got {polling!r})")
        self._step_range = StepRange.parse(range_steps)
        self.name = name
        self.path = backend.url
        self.range_steps = range_steps
        self.cache = cache
        self.dynamic_refresh = index_mode
        self.logger = LOG
        self._backend = backend
        self._program: ProgramRecord | None = None
        self._program_news = -1
        self._num_program_reads = _MOST_PROGRAM_READS
        self._is_program_final = False
        self._problems = Problems(backend.url)
        self._polling = polling or Polling(
            poll_seconds=DEFAULT_REMOTE_POLL_SECONDS if backend.is_remote else DEFAULT_POLL_SECONDS
        )
        self._tensors: dict[str, Tensor] = {}
        found = wait_for_collections(backend, self._problems, self._polling, wait_seconds)
        self.num_workers = found.num_workers
        self._collections = TrialCollections(backend, self._problems, found)
        self.collection_manager = self._collections.manager
        self.worker_set = self._collections.worker_set
        folder = cache_folder() if index_cache and backend.cache_key else None
        kept = IndexCache(folder, backend.cache_key) if folder and backend.cache_key else None
        self.index_reader = TrialReader(
            backend, self._problems, self.num_workers, self._step_range, self._polling, kept
        )
        self._waiter = StepWaiter(self.index_reader, self._polling, self._step_range, self.path)
        if index_mode:
            self.maybe_refresh()
            self.index_reader.keep_index()

    # --- following a running job -------------------------------------------------------------------------------------

    @property
    def loaded_all_steps(self) -> bool:
        """Whether the job has ended and all its steps have been read."""
        return self.index_reader.completeness.has_ended

    @property
    def last_complete_step(self) -> int:
        """Highest global step that all workers wrote or that the trial no longer waits for; -1 at the start."""
        return self.index_reader.completeness.last_complete_step

    @property
    def last_index_token(self) -> str | None:
        """Where the last index file of the last step that all workers wrote lies; None at the start.

        The value is a path of this machine, relative if the trial was opened so, or a key within the bucket.
        """
        step = self.index_reader.completeness.last_awaited_step
        if step < 0:
            return None
        return "/".join(part for part in (self._folder.rstrip("/"), index_key(step, max(self.worker_set))) if part)

    @property
    def _folder(self) -> str:
        """The folder as given, or the prefix within the bucket."""
        return split_s3_url(self.path)[1] if self.path.startswith(SCHEME) else self.path

    @property
    def _global_to_mode(self) -> dict[int, tuple[ModeKeys, int]]:
        """Global step → mode and step within the mode, which scripts for smdebug read."""
        with self.index_reader.lock:
            index = self.index_reader.index
            return {step: found for step in index.steps() if (found := index.mode_step(step)) is not None}

    def maybe_refresh(self, name: str | None = None) -> None:  # noqa: ARG002 - part of the API
        """Look for new steps and the end of the job, unless all steps are read or `dynamic_refresh` is False."""
        if not self.dynamic_refresh:
            return
        if self.loaded_all_steps:
            self.index_reader.read_failed()
        elif self.index_reader.follow():
            self._read_end()
        else:
            self._collections.read_with_new_tensors(self.index_reader.index.num_names)

    def _read_end(self) -> None:
        """Read the collections and cache the index, because neither changes after the end of the job."""
        if self._collections.read_at_end():
            self.index_reader.keep_index()

    def refresh_data(self) -> None:
        """Look for new steps and for replaced files, even if the job has ended."""
        self.index_reader.refresh(everything=True)

    def refresh_tensor(self, tname: str, steps: Iterable[int] | None = None) -> None:  # noqa: ARG002 - part of the API
        """Look for new steps, as `refresh_data` does."""
        self.refresh_data()

    def consolidate(self) -> int:
        """Write a consolidated index: one object with the content of all index files, so that opening needs one read.

        smdebug ignores this object. Readers use it for index files that have not changed since, by checksum on S3 and
        by size and time in a folder, and read the others. A trial writes nothing else.

        Returns:
            Number of index files in the consolidated index.

        Raises:
            OSError: The index cannot be read or the object cannot be written; `StorageError` on S3.
        """
        return consolidate(self._backend)

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems with files of the trial, each with its path; all other files can still be read."""
        return self._problems.all()

    # --- waiting for steps --------------------------------------------------------------------------------------------

    def has_passed_step(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> StepState:
        """Return whether a step is available, may become available, or never will; looks for new steps first."""
        check_step(step)
        self.maybe_refresh()
        return self._waiter.state(step, mode)

    def job_state(self, silence_seconds: float = DEFAULT_SILENCE_SECONDS) -> JobState:
        """Return whether the job runs, has ended, or saved nothing for `silence_seconds`; looks for new steps first."""
        self.maybe_refresh()
        return self._waiter.job_state(silence_seconds)

    def follow(
        self,
        mode: ModeKeys = ModeKeys.GLOBAL,
        begin: int = 0,
        silence_seconds: float = DEFAULT_SILENCE_SECONDS,
    ) -> Iterator[int]:
        """Yield the steps as they become complete; looks for new steps even if `dynamic_refresh` is False.

        The iteration stops when the job has ended and all its steps have been yielded. It also stops when the job has
        saved nothing for `silence_seconds`, by default an hour, because it may have died; `job_state` returns which.
        Incomplete steps are skipped unless the job has marked its end; `steps` can list them. The thread that trains
        does not wait for its own open hook: it gets the steps saved so far, and a warning.

        Args:
            mode: The mode the steps count in.
            begin: First step to yield.
            silence_seconds: How long the job may save nothing.

        Yields:
            Each step once, in ascending order except for steps that are listed late.
        """
        check_step(begin, "begin")
        for step in self._waiter.follow(mode, begin, silence_seconds):
            if self.loaded_all_steps:
                self._read_end()
            yield step
        if self.loaded_all_steps:
            self._read_end()

    def wait_for_steps(
        self,
        required_steps: Iterable[int],
        mode: ModeKeys = ModeKeys.GLOBAL,
        timeout_seconds: float | None = None,
    ) -> None:
        """Wait until all required steps are available; looks for new steps even if `dynamic_refresh` is False.

        Args:
            required_steps: The steps.
            mode: The mode the steps count in.
            timeout_seconds: How long to wait; None waits until the job has saved nothing for an hour.

        Raises:
            StepUnavailable: A step was not saved and never will be.
            NoMoreData: The job has ended before a step.
            StepNotYetAvailable: A step is still missing at the timeout; or at once, on the thread that trains.
        """
        self._waiter.wait(required_steps, mode, timeout_seconds)

    # --- tensors -----------------------------------------------------------------------------------------------------

    def tensor_names(
        self,
        show_prefixed_tensors: bool = False,
        *,
        step: int | None = None,
        mode: ModeKeys = ModeKeys.GLOBAL,
        regex: str | Iterable[str] | None = None,
        collection: str | Collection | None = None,
    ) -> list[str]:
        """Return names of tensors; looks for new steps first.

        Args:
            show_prefixed_tensors: Has no effect; stored reductions are never listed as tensors.
            step: Only list tensors saved at this step of `mode`.
            mode: Only list tensors saved in this mode.
            regex: Only list names in which this pattern, or any of several patterns, is found.
            collection: Only list tensors of this collection.

        Raises:
            SMDebugTypeError: An argument has a wrong type, such as a pattern given without its keyword.
            SMDebugValueError: Both `regex` and `collection` are given, or a pattern is not a regular expression.
        """
        if show_prefixed_tensors not in (True, False):
            raise SMDebugTypeError(
                f"show_prefixed_tensors must be a boolean (got {show_prefixed_tensors!r}); "
                f"did you mean regex={show_prefixed_tensors!r}?"
            )
        if step is not None:
            check_step(step)
        if regex is not None and collection is not None:
            raise SMDebugValueError(f"regex and collection exclude each other (got {regex!r} and {collection!r})")
        patterns = None if regex is None else compile_patterns(regex)
        group = None if collection is None else self._group(collection)
        self.maybe_refresh()
        with self.index_reader.lock:
            index = self.index_reader.index
            names = index.tensor_names_of_mode(mode) if step is None else index.tensor_names_at(step, mode)
        if patterns is not None:
            names = [name for name in names if any(pattern.search(name) for pattern in patterns)]
        elif group is not None:
            names = [name for name in names if group.matches(name)]
        if not names and step is None:  # many steps lack some tensors
            if group is not None:
                LOG.warning("no tensor of trial %r is in collection %r", self.name, group.name)
            elif regex is not None:
                LOG.warning("no tensor of trial %r matches %r", self.name, regex)
        return names

    def _group(self, collection: str | Collection) -> Collection:
        if isinstance(collection, str):
            return self._collections.get(collection, self.name)
        if isinstance(collection, Collection):
            return collection
        raise SMDebugTypeError(f"collection must be a Collection or the name of one (got {collection!r})")

    def has_tensor(self, tname: str) -> bool:
        """Return whether a tensor was saved at any step; looks for new steps only if it is unknown."""
        check_name(tname, "tname")
        reader = self.index_reader
        with reader.lock:
            if not reader.index.has_tensor(tname):
                self.maybe_refresh()
            return reader.index.has_tensor(tname)

    def tensor(self, tname: str) -> Tensor:
        """Return a tensor; looks for new steps only if it is unknown.

        Raises:
            TensorUnavailable: No tensor of that name has been saved so far.
            SMDebugTypeError: `tname` is not a string.
        """
        if not self.has_tensor(tname):
            with self.index_reader.lock:
                raise TensorUnavailable(tname, self.index_reader.index.tensor_names())
        return self._tensors.setdefault(tname, Tensor(tname, self, self.index_reader, self.cache))

    def compare(
        self,
        other: Trial | str | os.PathLike[str],
        regex: str | Iterable[str] | None = None,
        mode: ModeKeys = ModeKeys.GLOBAL,
        rtol: float = 0.0,
        atol: float = 0.0,
    ) -> Comparison:
        """Compare with another trial: find the tensors and steps that only one has, and the values that differ.

        Args:
            other: The other trial, or its path.
            regex: Only compare tensors in whose names a pattern is found.
            mode: The mode the steps count in.
            rtol: Relative tolerance, with respect to the other trial's values.
            atol: Absolute tolerance; NaN equals NaN.

        Raises:
            SMDebugTypeError: `other` is neither a trial nor a path.
            TrialNotFoundError: There is no trial at the path.
        """
        if isinstance(other, (str, os.PathLike)):
            other = create_trial(other, wait_seconds=0)
        elif not isinstance(other, Trial):
            raise SMDebugTypeError(f"other must be a Trial or the path of one (got {other!r})")
        return compare_trials(self, other, regex, mode, rtol, atol)

    # --- the program and its collections -----------------------------------------------------------------------------

    @property
    def program(self) -> ProgramRecord | None:
        """The model, losses and optimizers of the first worker as they were built; None if no hook recorded them."""
        news, has_ended = self.index_reader.num_news, self.loaded_all_steps
        is_news = self._num_program_reads > 0 and news != self._program_news
        if is_news or (has_ended and not self._is_program_final):  # the end of a job adds what its script reported
            self._is_program_final = has_ended
            self._program_news = news
            self._num_program_reads -= 1
            try:
                self._program = read_program(self._backend)
            except (SMDebugValueError, OSError) as error:
                self._problems.note(PROGRAM_PREFIX, str(error))
            if self._program is not None and self._program.is_complete:
                self._num_program_reads = 0
        return self._program

    def collections(self) -> dict[str, Collection]:
        """Return name → collection."""
        return self.collection_manager.get_collections()

    def collection(self, coll_name: str) -> Collection:
        """Return a collection; if it is unknown, an empty one is made and kept, which `tensor_names` then knows."""
        check_name(coll_name, "coll_name")
        return self._collections.get(coll_name, self.name, create=True)

    # --- the object itself -------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trial):
            return NotImplemented
        return self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return trial_to_text(self)

    def _repr_html_(self) -> str:
        return trial_to_html(self)


class LocalTrial(Trial):
    """A trial in a folder of this machine.

    Args:
        name: Label of the trial.
        dirname: The folder; ``~`` is expanded.
        parallel: Accepted for compatibility.

    All other arguments are those of `Trial`.

    Attributes:
        trial_dir: The folder.

    Raises:
        TrialNotFoundError: The folder does not hold a trial, or not within `wait_seconds`.
    """

    def __init__(
        self,
        name: str,
        dirname: str | os.PathLike[str],
        range_steps: Sequence[int | None] | None = None,
        parallel: bool = True,  # noqa: ARG002 - part of the API
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
        *,
        wait_seconds: float | None = None,
        polling: Polling | None = None,
        index_cache: bool = True,
    ) -> None:
        self.trial_dir = os.path.expanduser(path_text(dirname))
        backend = open_backend(self.trial_dir)
        if os.path.exists(self.trial_dir) and not os.path.isdir(self.trial_dir):
            raise TrialNotFoundError(self.trial_dir, "it is a file")
        if wait_seconds == 0 and not os.path.isdir(self.trial_dir):
            raise TrialNotFoundError(self.trial_dir, "there is no such folder")
        super().__init__(
            name,
            backend,
            range_steps,
            check,
            index_mode,
            cache,
            wait_seconds=wait_seconds,
            polling=polling,
            index_cache=index_cache,
        )

    @property
    def _folder(self) -> str:
        return self.trial_dir


class S3Trial(Trial):
    """A trial on S3.

    Args:
        name: Label of the trial.
        bucket_name: The bucket.
        prefix_name: Prefix of the trial's keys in the bucket.
        s3: How to connect to S3.

    All other arguments are those of `Trial`.

    Attributes:
        bucket_name: As given.
        prefix_name: As given, ending in a slash.

    Raises:
        TrialNotFoundError: There is no trial.
        StorageError: S3 cannot be reached or denies access.
    """

    def __init__(
        self,
        name: str,
        bucket_name: str,
        prefix_name: str,
        range_steps: Sequence[int | None] | None = None,
        check: bool = False,
        index_mode: bool = True,
        cache: bool = False,
        *,
        s3: S3Options | None = None,
        wait_seconds: float | None = None,
        polling: Polling | None = None,
        index_cache: bool = True,
    ) -> None:
        check_name(bucket_name, "bucket_name")
        check_name(prefix_name, "prefix_name")
        self.bucket_name = bucket_name
        self.prefix_name = prefix_name.strip("/") + "/"
        super().__init__(
            name,
            open_backend(f"s3://{bucket_name}/{self.prefix_name}", s3),
            range_steps,
            check,
            index_mode,
            cache,
            wait_seconds=wait_seconds,
            polling=polling,
            index_cache=index_cache,
        )


def create_trial(
    path: str | os.PathLike[str],
    name: str | None = None,
    profiler: bool = False,
    output_dir: str | os.PathLike[str] = "/opt/ml/processing/outputs/",  # noqa: ARG001 - part of the API
    **kwargs: Any,
) -> Trial:
    """Open the saved output of a job, finished or still running.

    The call waits for a job that has not begun to write, and for the collections files of all its workers. It logs a
    warning that names the missing files. The wait ends after an hour without a new step, or with an interrupt;
    ``wait_seconds=0`` raises at once.

    Args:
        path: The folder that holds ``collections``, ``index`` and ``events``, on this machine or at
            ``s3://bucket/prefix``.
        name: Label of the trial; by default the last part of the path.
        profiler: Must be False, because profiler data are not read.
        output_dir: Has no effect; only profiler data would use it.
        **kwargs: ``range_steps``, ``check``, ``index_mode``, ``cache``, ``wait_seconds``, ``polling``, ``index_cache``,
            and ``parallel`` as for `LocalTrial` or ``s3`` as for `S3Trial`.

    Raises:
        TrialNotFoundError: The path does not hold a trial, or not within `wait_seconds`.
        MissingCollectionFiles: Collections files are still missing after `wait_seconds`, or the job has ended without
            any step.
        SMDebugNotImplementedError: `profiler` is True.
        SMDebugTypeError: The path or an option has a wrong type.
        SMDebugValueError: The path is of an unsupported kind, or an option has a value that is not allowed.
        StorageError: S3 cannot be reached or denies access.
        TypeError: An option is unknown.
    """
    if profiler:
        raise SMDebugNotImplementedError("profiler data are not read: open the tensors of the job with profiler=False")
    text = path_text(path)
    if not text:
        raise TrialNotFoundError(text, "the path is empty")
    if text.startswith(SCHEME):
        bucket, _ = split_s3_url(text, "s3://bucket/prefix")
        prefix = text.removeprefix(SCHEME + bucket)  # `S3Trial.prefix_name` keeps repeated slashes
        return S3Trial(os.path.basename(text) if name is None else name, bucket, prefix, **kwargs)
    return LocalTrial(os.path.basename(text) if name is None else name, text, **kwargs)
