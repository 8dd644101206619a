"""The saved output of one job, opened for reading: `Trial`, and how to open one."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, KeysView, Sequence
from typing import Any, Final

from sagemaker_debug_ext.config.groups import Collection, compile_pattern
from sagemaker_debug_ext.errors import (
    NoMoreData,
    SMDebugNotImplementedError,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    StepUnavailable,
    TensorUnavailable,
    TrialNotFoundError,
)
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.keys import index_key
from sagemaker_debug_ext.store.messages import Array
from sagemaker_debug_ext.trials.collections import CollectionManager, FoundCollections, find_collections
from sagemaker_debug_ext.trials.opening import await_collections
from sagemaker_debug_ext.trials.problems import Problem, Problems
from sagemaker_debug_ext.trials.ranges import StepRange
from sagemaker_debug_ext.trials.reader import TrialReader
from sagemaker_debug_ext.trials.steps import StepState
from sagemaker_debug_ext.trials.tensors import Tensor
from sagemaker_debug_ext.trials.waiting import Polling
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)

_NUMERIC_SUFFIX: Final = re.compile(r"\d+$")


class Trial:
    """The saved output of one job. It only reads; most users open one with `create_trial`.

    A trial may be opened while the job is running. Methods that say so look for new steps before they answer, unless
    `dynamic_refresh` is False or the job has ended and everything has been read (`loaded_all_steps`).

    Every ``mode`` argument names the mode in which steps count; the default, GLOBAL, counts over all modes. Steps come
    in ascending order, names and workers sorted. Trials may be used from several threads.

    Args:
        name: Label of the trial.
        backend: Where its files lie.
        range_steps: Pair ``(begin, end)``: only global steps from `begin`, inclusive, to `end`, exclusive, are looked
            at; None in it means no bound.
        check: Accepted for compatibility; everything that can be checked always is.
        index_mode: False for a trial that knows its collections only.
        cache: Whether tensors keep values once read.
        wait_seconds: How long to wait for the collections files of all workers. By default 10 seconds if the job has
            begun to write, else not at all.
        polling: How to wait for anything.

    Attributes:
        name: Label of the trial.
        path: Where its files lie.
        collection_manager: Its collections.
        num_workers: How many workers write to it.
        worker_set: Names of the workers that wrote a collections file.
        dynamic_refresh: Whether queries look for new steps by themselves.
        range_steps: As given.
        cache: As given.
        index_reader: What reads its files.
        logger: Where it logs.

    Raises:
        TrialNotFoundError: Nothing of a trial is there.
        MissingCollectionFiles: Collections files are missing, and the job has ended or the time is over.
        SMDebugTypeError: `range_steps` is no pair of whole numbers.
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
    ) -> None:
        self._step_range = StepRange.parse(range_steps)
        self.name = name
        self.path = backend.url
        self.range_steps = range_steps
        self.cache = cache
        self.dynamic_refresh = index_mode
        self.logger = LOG
        self.collection_manager = CollectionManager()
        self._backend = backend
        self._problems = Problems(backend.url)
        self._polling = polling or Polling()
        self._tensors: dict[str, Tensor] = {}
        found = await_collections(backend, self._problems, self._polling, wait_seconds)
        self.num_workers = found.num_workers
        self.worker_set = set(found.workers)
        self.collection_manager.set_num_workers(found.num_workers)
        self._take_in(found)
        self.index_reader = TrialReader(backend, self._problems, self.num_workers, self._step_range, self._polling)
        if index_mode:
            self.maybe_refresh()

    # --- following a running job -------------------------------------------------------------------------------------

    @property
    def loaded_all_steps(self) -> bool:
        """Whether the job has ended and everything it saved is known."""
        return self.index_reader.completeness.has_ended

    @property
    def last_complete_step(self) -> int:
        """Highest global step that all workers have written, or that is no longer waited for; -1 at the start."""
        return self.index_reader.completeness.last_complete_step

    @property
    def last_index_token(self) -> str:
        """Key of the last index file of the last complete step; empty at the start."""
        step = self.last_complete_step
        return index_key(step, max(self.worker_set)) if step >= 0 else ""

    def maybe_refresh(self, name: str | None = None) -> None:  # noqa: ARG002 - part of the API
        """Look for new steps and for the end of the job, unless all is known or `dynamic_refresh` is False."""
        if not self.dynamic_refresh or self.loaded_all_steps:
            return
        if self.index_reader.follow():
            self._take_in(find_collections(self._backend, self._problems))

    def _take_in(self, found: FoundCollections | None) -> None:
        """Add what is new of the collections, which writers may write anew; what a user changed stays changed."""
        for collection in found.collections if found else ():
            known = self.collections().setdefault(collection.name, collection)
            known.tensor_names |= collection.tensor_names

    def refresh_data(self) -> None:
        """Look for new steps, whatever is known."""
        self.index_reader.refresh()

    def refresh_tensor(self, tname: str, steps: Iterable[int] | None = None) -> None:  # noqa: ARG002 - part of the API
        """Look for new steps, as `refresh_data` does."""
        self.refresh_data()

    def problems(self) -> tuple[Problem, ...]:
        """Return what is wrong with files of the trial, each with its path; none of it stops the rest being read."""
        return self._problems.all()

    # --- steps -------------------------------------------------------------------------------------------------------

    def steps(self, mode: ModeKeys = ModeKeys.GLOBAL, show_incomplete_steps: bool = False) -> list[int]:
        """Return the steps of a mode; looks for new ones first.

        Args:
            mode: The mode; GLOBAL for the global steps of all modes.
            show_incomplete_steps: Also list steps that some worker has yet to write.
        """
        self.maybe_refresh()
        return self.index_reader.steps(mode, show_incomplete_steps)

    def modes(self) -> KeysView[ModeKeys]:
        """Return the modes that steps were saved in, without GLOBAL, which means that none was set."""
        with self.index_reader.lock:
            return dict.fromkeys(self.index_reader.index.modes()).keys()

    def mode(self, global_step: int) -> ModeKeys | None:
        """Return the mode of a global step; None if it was not saved. Looks for new steps only if it is unknown."""
        return self.mode_modestep(global_step)[0]

    def mode_step(self, global_step: int) -> int | None:
        """Return what a global step counts as in its mode; None if it was not saved."""
        return self.mode_modestep(global_step)[1]

    def mode_modestep(self, global_step: int) -> tuple[ModeKeys, int] | tuple[None, None]:
        """Return mode and mode step of a global step; ``(None, None)`` if it was not saved."""
        reader = self.index_reader
        with reader.lock:
            found = reader.index.mode_step(global_step)
            if found is None:
                self.maybe_refresh()
                found = reader.index.mode_step(global_step)
        return found or (None, None)

    def global_step(self, mode: ModeKeys, mode_step: int) -> int | None:
        """Return the global step of a step of a mode; None if it was not saved. GLOBAL steps are returned as given."""
        if mode is ModeKeys.GLOBAL:
            return mode_step
        reader = self.index_reader
        with reader.lock:
            if not reader.index.global_steps(mode, mode_step):
                self.maybe_refresh()
            return next(iter(reader.index.global_steps(mode, mode_step)), None)

    def has_passed_step(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> StepState:
        """Tell whether a step is there, may still come, or never will; looks for new steps first."""
        self.maybe_refresh()
        return self._state(step, mode)

    def _state(self, step: int, mode: ModeKeys) -> StepState:
        if mode is ModeKeys.GLOBAL and step not in self._step_range:
            return StepState.UNAVAILABLE
        with self.index_reader.lock:
            return self.index_reader.completeness.state(step, mode)

    def wait_for_steps(
        self,
        required_steps: Iterable[int],
        mode: ModeKeys = ModeKeys.GLOBAL,
        timeout_seconds: float | None = None,
    ) -> None:
        """Wait until all of some steps are there; looks for new steps even if `dynamic_refresh` is False.

        Args:
            required_steps: The steps.
            mode: The mode they count in.
            timeout_seconds: How long to wait. None waits as long as it takes, for ever if the job died without marking
                its end.

        Raises:
            StepUnavailable: One of them was not saved and never will be.
            NoMoreData: The job has ended before one of them.
            StepNotYetAvailable: The time is over.
        """
        steps = list(required_steps)
        missing = [step for step in steps if self._state(step, mode) is not StepState.AVAILABLE]

        def look() -> bool:
            self.index_reader.follow()
            missing[:] = [step for step in missing if not self._is_there(step, mode)]
            return not missing

        if missing and not self._polling.wait_until(look, timeout_seconds):
            raise StepNotYetAvailable(missing[0], mode)

    def _is_there(self, step: int, mode: ModeKeys) -> bool:
        """Tell whether a step is there.

        Raises:
            StepUnavailable: It never will be.
            NoMoreData: Nor will any later one.
        """
        state = self._state(step, mode)
        if state is StepState.UNAVAILABLE:
            with self.index_reader.lock:
                last_step = self.index_reader.index.last_step(mode)
            if self.loaded_all_steps and (last_step is None or step > last_step):
                raise NoMoreData(step, mode, last_step)
            raise StepUnavailable(step, mode)
        return state is StepState.AVAILABLE

    def workers(self) -> list[str]:
        """Return the workers that wrote a collections file."""
        return sorted(self.worker_set)

    def workers_for_global_step(self, global_step: int) -> list[str]:
        """Return the workers that saved something at a global step."""
        with self.index_reader.lock:
            return self.index_reader.index.writers(global_step)

    # --- tensors -----------------------------------------------------------------------------------------------------

    def tensor_names(
        self,
        show_prefixed_tensors: bool = False,  # noqa: ARG002 - part of the API
        *,
        step: int | None = None,
        mode: ModeKeys = ModeKeys.GLOBAL,
        regex: str | Iterable[str] | None = None,
        collection: str | Collection | None = None,
    ) -> list[str]:
        """Return names of tensors; looks for new steps first.

        Args:
            show_prefixed_tensors: Has no effect; reductions are never listed under names of their own.
            step: Only tensors saved at that step of `mode`.
            mode: Only tensors saved in that mode.
            regex: Only names in which the pattern, or one of the patterns, is found.
            collection: Only tensors of that collection.

        Raises:
            SMDebugTypeError: `regex` or `collection` is of another type.
            SMDebugValueError: Both are given, or a pattern is no regular expression.
        """
        if regex is not None and collection is not None:
            raise SMDebugValueError(f"regex and collection exclude each other (got {regex!r} and {collection!r})")
        patterns = None if regex is None else _patterns(regex)
        group = None if collection is None else self._group(collection)
        self.maybe_refresh()
        with self.index_reader.lock:
            index = self.index_reader.index
            names = index.tensor_names_of_mode(mode) if step is None else index.tensor_names_at(step, mode)
        if patterns is not None:
            names = [name for name in names if any(pattern.search(name) for pattern in patterns)]
        elif group is not None:
            names = [name for name in names if group.matches(name)]
        if not names and (regex is not None or collection is not None):
            LOG.warning("no tensor of trial %r matches %r", self.name, regex if collection is None else collection)
        return names

    def _group(self, collection: str | Collection) -> Collection:
        if isinstance(collection, str):
            return self.collection(collection)
        if isinstance(collection, Collection):
            return collection
        raise SMDebugTypeError(f"collection must be a Collection or the name of one (got {collection!r})")

    def has_tensor(self, tname: str) -> bool:
        """Tell whether a tensor was saved at any step; looks for new steps only if it is unknown."""
        reader = self.index_reader
        with reader.lock:
            if not reader.index.has_tensor(tname):
                self.maybe_refresh()
            return reader.index.has_tensor(tname)

    def tensor(self, tname: str) -> Tensor:
        """Return a tensor; looks for new steps only if it is unknown.

        Raises:
            TensorUnavailable: No tensor of that name has been saved so far.
        """
        if not self.has_tensor(tname):
            raise TensorUnavailable(tname)
        return self._tensors.setdefault(tname, Tensor(tname, self, self.index_reader, self.cache))

    def inputs(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[Array]:
        """Return the values, at a step, of the collection ``inputs``, by the number that the names end in."""
        names = self.tensor_names(step=step, mode=mode, collection=CollectionKeys.INPUTS)
        return self._values_in_order(names, step, mode)

    def labels(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[Array]:
        """Return the values, at a step, of the tensors named ``labels…``, by the number that the names end in."""
        return self._values_in_order(self.tensor_names(step=step, mode=mode, regex="labels*"), step, mode)

    def predictions(self, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> list[Array]:
        """Return the values, at a step, of the tensors ``predictions…``, by the number that the names end in."""
        return self._values_in_order(self.tensor_names(step=step, mode=mode, regex="predictions*"), step, mode)

    def _values_in_order(self, names: Iterable[str], step: int, mode: ModeKeys) -> list[Array]:
        return [self.tensor(name).value(step, mode) for name in sorted(names, key=_numeric_suffix)]

    # --- collections -------------------------------------------------------------------------------------------------

    def collections(self) -> dict[str, Collection]:
        """Return name → collection."""
        return self.collection_manager.get_collections()

    def collection(self, coll_name: str) -> Collection:
        """Return a collection; an empty one, which the trial does not keep, if it is unknown."""
        collections = self.collections()
        if coll_name not in collections:
            LOG.warning("trial %r has no collection %r, only %s", self.name, coll_name, ", ".join(sorted(collections)))
            return Collection(coll_name)
        return collections[coll_name]

    # --- the object itself -------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trial):
            return NotImplemented
        return (self.name, self.path) == (other.name, other.path)

    def __hash__(self) -> int:
        return hash((self.name, self.path))

    def __repr__(self) -> str:
        reader = self.index_reader
        with reader.lock:
            steps = reader.index.steps()
            num_complete = sum(map(reader.completeness.is_complete, steps))
            by_mode = {mode.name: reader.index.steps(mode) for mode in reader.index.modes()}
            num_tensors = len(reader.index.tensor_names())
        lines = [
            f"<{type(self).__name__} {self.name!r} at {self.path}",
            f"job: {'ended' if self.loaded_all_steps else 'running, or ended without a mark'}",
            f"steps: {_span(steps)}" + (f", {num_complete} of them complete" if num_complete < len(steps) else ""),
            *(f"  {mode}: {_span(mode_steps)}" for mode, mode_steps in by_mode.items()),
            f"workers: {len(self.worker_set)} of {self.num_workers} ({', '.join(self.workers())})",
            f"tensors: {num_tensors}",
            f"collections: {', '.join(sorted(self.collections())) or 'none'}",
        ]
        problems = self.problems()
        if problems:
            lines.append(f"problems: {len(problems)}, see problems()")
        return "\n  ".join(lines) + ">"


class LocalTrial(Trial):
    """A trial in a folder of this machine.

    Args:
        name: Label of the trial.
        dirname: The folder; ``~`` is expanded.
        range_steps: See `Trial`.
        parallel: Accepted for compatibility.
        check: See `Trial`.
        index_mode: See `Trial`.
        cache: See `Trial`.
        wait_seconds: See `Trial`.
        polling: See `Trial`.

    Attributes:
        trial_dir: The folder.

    Raises:
        TrialNotFoundError: The folder is not there, or holds nothing of a trial.
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
    ) -> None:
        self.trial_dir = os.path.expanduser(os.fspath(dirname).strip())
        backend = open_backend(self.trial_dir)
        if wait_seconds is None and not os.path.isdir(self.trial_dir):
            found = "it is a file" if os.path.exists(self.trial_dir) else "there is no such folder"
            raise TrialNotFoundError(self.trial_dir, found)
        super().__init__(
            name,
            backend,
            range_steps,
            check,
            index_mode,
            cache,
            wait_seconds=wait_seconds,
            polling=polling,
        )


def create_trial(
    path: str | os.PathLike[str],
    name: str | None = None,
    profiler: bool = False,
    output_dir: str | os.PathLike[str] = "/opt/ml/processing/outputs/",  # noqa: ARG001 - part of the API
    **kwargs: Any,
) -> Trial:
    """Open the saved output of a job, finished or still running.

    A path that holds no trial is refused at once. Where a job has begun to write, the collections files of all its
    workers are waited for, 10 seconds at most; give `wait_seconds` to wait for a job that has yet to begin.

    Args:
        path: The folder that holds ``collections``, ``index`` and ``events``.
        name: Label of the trial; by default the last part of the path.
        profiler: Must be False: profiler data are not read.
        output_dir: Only means something for profiler data.
        **kwargs: ``range_steps``, ``parallel``, ``check``, ``index_mode``, ``cache``, ``wait_seconds`` and ``polling``,
            as for `LocalTrial`.

    Raises:
        TrialNotFoundError: There is no such folder, or it holds nothing of a trial.
        MissingCollectionFiles: Collections files are missing, and the job has ended or the time is over.
        SMDebugNotImplementedError: `profiler` is True.
        SMDebugValueError: The path names a place this version cannot reach, or an option is not allowed.
        TypeError: There is no such option.
    """
    if profiler:
        raise SMDebugNotImplementedError("profiler data are not read: open the tensors of the job with profiler=False")
    text = os.fspath(path).strip()
    return LocalTrial(os.path.basename(text) if name is None else name, text, **kwargs)


def _patterns(regex: str | Iterable[str]) -> list[re.Pattern[str]]:
    patterns = [regex] if isinstance(regex, str) else regex
    if not isinstance(patterns, Iterable):
        raise SMDebugTypeError(f"regex must be a pattern or a list of patterns (got {regex!r})")
    return [compile_pattern(pattern, "regex") for pattern in patterns]


def _numeric_suffix(name: str) -> tuple[int, str]:
    found = _NUMERIC_SUFFIX.search(name)
    return (int(found[0]) if found else 0, name)


def _span(steps: Sequence[int]) -> str:
    if not steps:
        return "none"
    return f"1 ({steps[0]})" if len(steps) == 1 else f"{len(steps)} ({steps[0]} to {steps[-1]})"
