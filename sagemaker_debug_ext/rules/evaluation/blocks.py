"""Blocks of steps: several threads read their tensors together and screen them; see `reading.screening`.

While the rules evaluate one block, the next one is read.
"""

from __future__ import annotations

import bisect
import concurrent.futures
import functools
import itertools
import os
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, TensorRule
from sagemaker_debug_ext.rules.evaluation.block_loader import BlockLoader, KnownSteps, LoadedBlock, PreviousValues
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.screening import Screen, join
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepReader
from sagemaker_debug_ext.trials.values.series_summary import can_digest, find_template
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.base import Rule
    from sagemaker_debug_ext.store.format.index import IndexContent, Location
    from sagemaker_debug_ext.trials.index.entries import IndexEntryFile

BLOCK_BYTES: Final = 512 * 2**20
"""Largest size of the tensors of a block, unless one step has more."""

_KEPT_BYTES: Final = 32 * 2**20
"""Largest size of the values that a block keeps, because they are small, not streamable, or remote."""

BLOCK_STEPS: Final = 256

_SMALL_BYTES: Final = 64 * 2**10
"""Tensors up to this size are read and kept; larger ones are summarized while they are streamed."""

_MAX_THREADS: Final = 4

_THREADED_BYTES: Final = 512 * 2**10
"""Tensors from this size are streamed in other threads; for smaller ones these would mostly wait for each other."""

Pool = concurrent.futures.ThreadPoolExecutor

T = TypeVar("T")


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def num_threads() -> int:
    """Return the number of threads that stream tensors: the number of cores, at most four.

    If several processes share the cores, ``OMP_NUM_THREADS`` limits the threads of each; Ray sets it for its workers,
    and `scaling.ProcessPool` for its processes.
    """
    cores = num_cores()
    allowed = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # a list has one number for each level
    return min(_MAX_THREADS, cores, max(int(allowed), 1) if allowed.isdecimal() else cores)


@attrs.frozen
class _Sizes:
    """Sizes in bytes at a step: of the tensors to read, of those to keep, and of each large one.

    Event files of which much is read are fetched first, as wholes.
    """

    total: int
    kept: int
    large: Mapping[str, int]
    is_fetched: bool


class StepBlock:
    """Consecutive steps of a trial.

    Args:
        steps: Global steps, ascending.
        rules: Rules that screen tensor by tensor.
        block_screeners: Rules that screen all their tensors together.
        parts: Functions that wait for loading tasks, each for a part of the tensors.
        release: Called when all parts are loaded.
        num_bytes: Size of the values that are kept.
        idle: Screenings for the other rules, by their `id`.
    """

    def __init__(
        self,
        steps: Sequence[int],
        rules: Sequence[TensorRule],
        block_screeners: Sequence[BuiltinRule],
        parts: Sequence[Callable[[], LoadedBlock]],
        release: Callable[[], object],
        num_bytes: int,
        idle: Mapping[int, list[int]],
    ) -> None:
        self.steps = steps
        self.num_bytes = num_bytes
        self._rules = rules
        self._block_screeners = block_screeners
        self._parts = parts
        self._release = release
        self._positions = {step: position for position, step in enumerate(steps)}
        self._series: dict[str, TensorSeries] | None = None
        self._screenings: dict[int, list[int]] = {}
        self._asked: Sequence[Rule] = ()
        self._rows: list[tuple[int, ...]] = []  # of the rules asked about last, for each step
        self._idle = idle

    def __contains__(self, step: int) -> bool:
        return step in self._positions

    def screenings(self, rules: Sequence[Rule], step: int) -> Sequence[int]:
        """Return a `Screen` of a step for each of the rules."""
        self._gather()
        if self._asked != rules:
            self._asked = rules
            undecided = [Screen.UNDECIDED] * len(self.steps)
            self._rows = list(zip(*(self._screenings.get(id(rule), undecided) for rule in rules), strict=True))
        return self._rows[self._positions[step]]

    def value(self, name: str, step: int) -> Array | None:
        """Return a tensor's value; None if the block does not keep it."""
        series = self._gather().get(name) if step in self._positions else None
        return None if series is None else series.value(self._positions[step])

    def _gather(self) -> dict[str, TensorSeries]:
        """Wait for the loading tasks, and join their results."""
        if self._series is not None:
            return self._series
        series: dict[str, TensorSeries] = {}
        self._series = series  # set first: if a rule fails below, values that are missing here are read from the trial
        known: dict[int, list[KnownSteps]] = {id(rule): [] for rule in self._rules}
        for part in self._parts:
            loaded = part()
            series.update(loaded.series)
            for key, screenings in loaded.screenings.items():
                known[key] += screenings
        self._parts = ()
        self._release()
        self._screenings = {key: join(len(self.steps), screenings).tolist() for key, screenings in known.items()}
        self._screenings.update(self._idle)
        with np.errstate(all="ignore"):
            for rule in self._block_screeners:
                screened = rule.screen_block(series, len(self.steps)).tolist()
                found = self._screenings.get(id(rule), screened)
                self._screenings[id(rule)] = list(map(min, found, screened))  # the lower member says more
        return series


class BlockReader:
    """Creates the blocks of one evaluation, which visits steps in order.

    Args:
        views: Reader that the rules share.
        end_step: Last global step, exclusive; None for no bound.
        only_steps: Global steps to evaluate; None for all.
    """

    def __init__(
        self, views: StepReader, end_step: int | None = None, only_steps: Container[int] | None = None
    ) -> None:
        self._views = views
        self._trial = views.trial
        self._end_step = end_step
        self._only_steps = only_steps
        self._current: StepBlock | None = None
        self._next: StepBlock | None = None
        self._pool: Pool | None = None
        self._latest = PreviousValues()
        self._is_remote = views.trial.index_reader.events.backend.is_remote

    def at(self, step: int, active: Sequence[Rule]) -> StepBlock | None:
        """Return the block of a global step; None if no rule can use one.

        Args:
            step: The step, which the trial has.
            active: The rules that have not ended.
        """
        if self._current is not None and step in self._current:
            return self._current
        rules = [rule for rule in active if isinstance(rule, BuiltinRule)]
        if not rules:
            return None
        block = self._next if self._next is not None and step in self._next else None
        self._current = block or self._make(step, rules)
        self._next = None
        self._views.use(self._current)
        last = self._current.steps[-1]
        if self._current.num_bytes <= _KEPT_BYTES:  # one block of huge steps fills the memory already
            upcoming = self._upcoming(last + 1)
            if upcoming:
                self._next = self._make(upcoming[0], rules)
        return self._current

    def close(self) -> None:
        """Shut the threads down."""
        self._current = self._next = None
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _upcoming(self, step: int) -> list[int]:
        reader = self._trial.index_reader
        with reader.lock:
            steps = reader.steps(ModeKeys.GLOBAL, show_incomplete_steps=False)
        begin = bisect.bisect_left(steps, step)
        found = steps[begin : begin + BLOCK_STEPS]
        if self._end_step is not None:
            found = [upcoming for upcoming in found if upcoming < self._end_step]
        # a block has no gap, so that each value in it follows the one before in the trial
        return found if self._only_steps is None else list(itertools.takewhile(self._only_steps.__contains__, found))

    def _make(self, step: int, rules: Sequence[BuiltinRule]) -> StepBlock:
        """Start to read the block that begins with a step."""
        tensor_rules = [rule for rule in rules if isinstance(rule, TensorRule)]
        screeners = [rule for rule in tensor_rules if rule.can_screen]
        others = [rule for rule in rules if rule.needs_tensors and rule not in screeners]
        wanted: dict[str, list[TensorRule]] = {}
        saved: dict[str, list[int]] = {}
        large: dict[str, int] = {}
        steps: list[int] = []
        total = kept = 0
        measured: dict[IndexContent, _Sizes] = {}
        chosen: dict[int, dict[str, list[TensorRule]]] = {}
        names_at: list[tuple[str, ...]] = []
        fetched: list[int] = []
        for block_step in self._upcoming(step) or [step]:
            names = self._views.names_at(block_step)
            if id(names) not in chosen:
                chosen[id(names)] = self._choose(names, rules, screeners)
            choice = chosen[id(names)]
            sizes = self._measure(block_step, choice, measured)
            if steps and (total + sizes.total > BLOCK_BYTES or kept + sizes.kept > _KEPT_BYTES):
                break
            total += sizes.total
            kept += sizes.kept
            for name, of_rules in choice.items():
                if of_rules or name not in sizes.large:
                    wanted[name] = of_rules
                    saved.setdefault(name, []).append(len(steps))
                if of_rules and name in sizes.large:
                    large[name] = sizes.large[name]
            steps.append(block_step)
            names_at.append(names)
            if sizes.is_fetched:
                fetched.append(block_step)
        files = self._event_files(fetched)
        events = self._trial.index_reader.events
        fetching = self._submit(functools.partial(events.fetch, files)) if files else None
        parts = self._start(steps, wanted, saved, large, fetching)

        def release() -> None:
            for event_file, _ in files:
                events.forget(event_file)

        idle = {id(rule): self._idle(rule, names_at) for rule in others}
        block_screeners = [rule for rule in rules if rule.can_screen_block]
        return StepBlock(steps, screeners, block_screeners, parts, release, kept, idle)

    def _idle(self, rule: BuiltinRule, names_at: Sequence[tuple[str, ...]]) -> list[int]:
        """Return a screening with `Screen.NO_DATA` where none of the tensors of a rule was saved."""
        selections = rule.looks_at()
        different = {id(names): names for names in names_at}
        known = {
            key: Screen.UNDECIDED
            if any(self._views.selected(selection, names) for selection in selections)
            else Screen.NO_DATA
            for key, names in different.items()
        }
        return [known[id(names)] for names in names_at]

    def _choose(
        self, names: tuple[str, ...], rules: Sequence[BuiltinRule], screeners: Sequence[TensorRule]
    ) -> dict[str, list[TensorRule]]:
        """Return the tensors to read, each with the rules that screen it."""
        choice: dict[str, list[TensorRule]] = {
            name: [] for rule in rules for need in rule.needs() for name in self._views.selected(need.selection, names)
        }
        for rule in screeners:
            for name in self._views.selected(rule.selection, names):
                choice.setdefault(name, []).append(rule)
        for (
            of_rules
        ) in choice.values():  # so that statistics of rules that compare values are computed first, and shared
            of_rules.sort(key=lambda rule: not rule.compares_with_previous)
        return choice

    def _measure(
        self, step: int, choice: Mapping[str, Sequence[TensorRule]], measured: dict[IndexContent, _Sizes]
    ) -> _Sizes:
        """Return the sizes of the chosen tensors at a step.

        Args:
            step: The step.
            choice: The tensors, each with the rules that screen it.
            measured: Cache of sizes by index content, which is updated.
        """
        reader = self._trial.index_reader
        with reader.lock:
            files = reader.index.files_at(step, ModeKeys.GLOBAL)
            content = files[0].content if len(files) == 1 else None  # most steps have the same content
            if content is not None and content in measured:
                return measured[content]
            places: dict[str, tuple[IndexEntryFile, Location]] = {}
            for file in files:
                for name, slot in file.layout.slots.items():
                    if name in choice and slot.value >= 0:
                        places.setdefault(name, (file, file.content.location(slot.value)))
        found = {name: location.length for name, (_, location) in places.items()}
        large = {name: size for name, size in found.items() if size > _SMALL_BYTES}
        read = {name: size for name, size in found.items() if choice[name] or name not in large}
        kept = sum(size for name, size in read.items() if name not in large or self._must_keep(name, *places[name]))
        total = sum(read.values())
        events = reader.events
        is_fetched = len(files) == 1 and events.should_fetch(total, files[0].content.end)
        sizes = _Sizes(total, kept, large, is_fetched)
        if content is not None:
            measured[content] = sizes
        return sizes

    def _must_keep(self, name: str, file: IndexEntryFile, location: Location) -> bool:
        """Return whether the values of a large tensor have to be read into memory."""
        if self._is_remote:
            return True
        template = find_template(self._trial.index_reader.events, name, location, file)
        return template is None or not can_digest(template.dtype)

    def _event_files(self, steps: Sequence[int]) -> list[tuple[str, int]]:
        """Return keys and ends of the event files of steps."""
        reader = self._trial.index_reader
        with reader.lock:
            files = [file for step in steps for file in reader.index.files_at(step, ModeKeys.GLOBAL)]
        return [(file.event_file, file.content.end) for file in files if file.event_file]

    def _start(
        self,
        steps: Sequence[int],
        wanted: Mapping[str, list[TensorRule]],
        saved: Mapping[str, list[int]],
        large: Mapping[str, int],
        fetching: Callable[[], object] | None,
    ) -> list[Callable[[], LoadedBlock]]:
        """Start to load tensors; return what waits for each part of them.

        Args:
            steps: Global steps of the block.
            wanted: The tensors to read, each with the rules that screen it.
            saved: Positions in the block at which each tensor was saved.
            large: Sizes of the large tensors in bytes.
            fetching: Waits for event files that are fetched; None if none are.
        """
        loader = BlockLoader(self._trial, steps, wanted, saved, latest=self._latest)
        small = [name for name in saved if name not in large]
        threaded = {name: size for name, size in large.items() if self._is_remote or size >= _THREADED_BYTES}
        middling = [name for name in large if name not in threaded]
        parts = [
            self._submit(functools.partial(loader.load, names, are_large=True), fetching)
            for names in _shares(threaded, len(threaded) if self._is_remote else num_threads())
        ]
        if middling:
            parts.append(functools.partial(loader.load, middling, are_large=True))
        if small:
            task = functools.partial(loader.load, small)
            parts.append(self._submit(task, fetching) if self._is_remote else task)
        return parts

    def _submit(self, task: Callable[[], T], after: Callable[[], object] | None = None) -> Callable[[], T]:
        """Start a task in another thread, which waits for an earlier one if there is one; return what waits for it."""
        if self._pool is None:
            self._pool = Pool(_MAX_THREADS if self._is_remote else num_threads(), "rules")
        return self._pool.submit(task if after is None else functools.partial(_run_after, after, task)).result


def _run_after(wait: Callable[[], object], task: Callable[[], T]) -> T:
    wait()
    return task()


def _shares(sizes: Mapping[str, int], number: int) -> list[list[str]]:
    """Divide tensors into contiguous shares of about the same size."""
    ends = itertools.accumulate(sizes.values())
    total = sum(sizes.values())
    shares: dict[int, list[str]] = {}
    for name, end in zip(sizes, ends, strict=True):
        shares.setdefault((end - sizes[name] // 2) * number // (total + 1), []).append(name)
    return list(shares.values())
