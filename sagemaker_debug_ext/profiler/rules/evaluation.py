"""Evaluates profiler rules over the data of a job, after it or while it runs."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.format.file_names import END_MARKS
from sagemaker_debug_ext.profiler.open_readers import no_data, open_readers
from sagemaker_debug_ext.profiler.profiler_files import open_files
from sagemaker_debug_ext.profiler.rules.base import ProfilerRule, unknown_rule
from sagemaker_debug_ext.profiler.rules.registry import RULES
from sagemaker_debug_ext.profiler.rules.slices import Slice, group_rows
from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent

SCAN_INTERVAL_US: Final = 60_000_000
_SETTLE_US: Final = 15_000_000
"""Files of a running job are published some seconds late; a slice is evaluated when data from after it are there."""

_GAP_US: Final = 600_000_000
"""Events of a file may end some minutes before the time in its name."""

_POLL_SECONDS: Final = 0.5
_WAIT_FACTOR: Final = 4
"""Looking at a running job takes at most a fifth of a core."""

_ALL_TIME_US: Final = 1 << 62


def create_profiler_rule(name: str, parameters: Mapping[str, object] | None = None) -> ProfilerRule:
    """Return a profiler rule.

    Args:
        name: Name of the rule, such as ``CPUBottleneck``.
        parameters: Parameters by name, as numbers or as the texts of a request.

    Raises:
        SMDebugValueError: There is no such rule or parameter, or a value is not allowed.
    """
    if name not in RULES:
        raise unknown_rule(name, RULES)
    return RULES[name](parameters)


class ProfileEvaluation:
    """Shows the data of a job to rules, slice by slice.

    Args:
        path: The folder ``profiler-output``, or its address on S3.
        rules: The rules.
        scan_interval_us: Length of a slice in microseconds.
        also: Further functions that see each slice.

    Attributes:
        rules: The rules, which hold what they found.
        span: Start and end of the data that were evaluated, in microseconds since 1970; None before there are any.

    Raises:
        SMDebugValueError: `scan_interval_us` is not above 0.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        rules: Iterable[ProfilerRule],
        scan_interval_us: int = SCAN_INTERVAL_US,
        also: Iterable[Callable[[Slice], object]] = (),
    ) -> None:
        if scan_interval_us <= 0:
            raise SMDebugValueError(f"scan_interval_us must be above 0 (got {scan_interval_us!r})")
        self._path = os.fspath(path)
        self.rules: Sequence[ProfilerRule] = list(rules)
        self._also = list(also)
        self._interval_us = scan_interval_us
        self._system, self._framework = open_readers(path, use_in_memory_cache=True)
        self._files = open_files(path)
        self._next_us: int | None = None
        self._open_events: Sequence[TraceEvent] = ()
        self.span: tuple[int, int] | None = None

    @property
    def problems(self) -> list[str]:
        """What of the data could not be read."""
        return [*self._system.problems, *self._framework.problems]

    def has_ended(self) -> bool:
        """Return whether the job has ended."""
        return any(self._files.exists(mark) for mark in END_MARKS)

    def check_data(self) -> None:
        """Check that there were data to evaluate.

        Raises:
            SMDebugValueError: There were none, because `path` is another folder, or nothing was recorded.
        """
        if self.span is None:
            raise no_data(self._path)

    def advance(self, has_ended: bool = True) -> bool:
        """Evaluate the slices that are complete.

        Args:
            has_ended: Whether the job has ended, so that the last slice is evaluated although it is not full.

        Returns:
            Whether there was a slice to evaluate.
        """
        advanced = False
        self._open_events = self._framework.get_open_events()
        for piece in self._slices(has_ended):
            for observe in (*(rule.observe for rule in self.rules), *self._also):
                observe(piece)
            for reader in (self._system, self._framework):
                reader.forget_before(piece.start_us)  # so that memory does not grow with the job
            self.span = (self.span[0] if self.span else piece.start_us, piece.end_us)
            advanced = True
        return advanced

    def preview(self) -> Sequence[ProfilerRule]:
        """Return what the rules find if they also see the slice that is not full yet; the rules themselves stay."""
        if self._next_us is None:
            return self.rules
        rules = copy.deepcopy(self.rules)
        latest_us = self._latest_us()
        for start_us in range(self._next_us, int(latest_us) + 1, self._interval_us):
            piece = self._read(start_us, start_us + self._interval_us, is_last=False)
            for rule in rules:
                rule.observe(piece)
        return rules

    def follow(
        self,
        on_look: Callable[[Sequence[ProfilerRule]], object] = lambda _: None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Evaluate the data until the job has ended.

        Args:
            on_look: Called after each look with the rules and all that they have found so far.
            is_stopped: Returns whether to stop waiting for more data.
        """
        while True:
            has_ended = self.has_ended() or is_stopped()
            began = time.monotonic()
            self.advance(has_ended)
            on_look(self.rules if has_ended else self.preview())
            if has_ended:
                return
            time.sleep(pause_after(time.monotonic() - began))

    def _slices(self, has_ended: bool) -> Iterator[Slice]:
        self._system.refresh_event_file_list()
        self._framework.refresh_event_file_list()
        if self._next_us is None:
            self._next_us = self._first_us()
            if self._next_us is None:
                return
        latest_us = self._latest_us()
        while self._next_us <= latest_us:
            start_us, end_us = self._next_us, self._next_us + self._interval_us
            is_last = has_ended and end_us > latest_us
            if not is_last and end_us + (0 if has_ended else _SETTLE_US) > latest_us:
                return
            self._next_us = end_us
            piece = self._read(start_us, end_us, is_last)
            if piece.readings or piece.events:
                yield piece
            else:
                self._skip_gap()

    def _first_us(self) -> int | None:
        """Return when the data begin, in microseconds since 1970; None if there are none.

        Names of files of events say when they end, so that their content has to be looked at.
        """
        events = [*self._framework.get_all_events(), *self._open_events]
        ends = [int(event.end_time) for event in events]
        first_minute = self._system.get_timestamp_of_first_available_file()
        return min([*ends, *([first_minute] if first_minute else [])], default=None)

    def _skip_gap(self) -> None:
        """Go on shortly before the next file: a clock that jumped leaves a gap of any length."""
        assert self._next_us is not None
        following = [
            time_us
            for reader in (self._system, self._framework)
            for time_us in [reader.get_timestamp_of_next_file(self._next_us)]
            if time_us is not None
        ]
        num_slices = (min(following, default=0) - _GAP_US - self._next_us) // self._interval_us
        self._next_us += max(num_slices, 0) * self._interval_us

    def _latest_us(self) -> float:
        """Return the time of the newest value or event, in microseconds since 1970."""
        newest_file_us = self._system.get_timestamp_of_latest_available_file()
        times = self._system.get_rows(newest_file_us, _ALL_TIME_US).timestamps
        events_us = max((event.end_time for event in self._open_events), default=0.0)
        complete_us = float(self._framework.get_timestamp_of_latest_available_file())
        return max(max(times, default=0.0) * 1e6, complete_us, events_us)

    def _read(self, start_us: int, end_us: int, is_last: bool) -> Slice:
        rows = self._system.get_rows(start_us, end_us - 1)
        events = [
            event for event in self._framework.get_events(start_us, end_us) if start_us <= event.end_time < end_us
        ]
        still_open = [event for event in self._open_events if start_us <= event.end_time < end_us]
        if still_open:  # their file may have been completed since they were read
            known = set(map(_identity, events))
            events += [event for event in still_open if _identity(event) not in known]
        return Slice(start_us, end_us, group_rows(rows), events, is_last)


def pause_after(seconds: float) -> float:
    """Return how many seconds to wait after a look at a running job that took `seconds`."""
    return max(_POLL_SECONDS, _WAIT_FACTOR * seconds)


def _identity(event: TraceEvent) -> tuple[object, ...]:
    return event.node_id, event.event_phase, event.event_name, event.start_time, event.end_time, event.tid


def evaluate_profile(
    path: str | os.PathLike[str], rules: Iterable[ProfilerRule | str], scan_interval_us: int = SCAN_INTERVAL_US
) -> list[ProfilerRule]:
    """Evaluate the data of a job that has ended, or the data so far of a running one.

    Args:
        path: The folder ``profiler-output``, or its address on S3.
        rules: Rules, or names of rules with their default parameters.
        scan_interval_us: Length of a slice in microseconds.

    Returns:
        The rules, which hold what they found.

    Raises:
        SMDebugValueError: There is no such rule.
    """
    made = [create_profiler_rule(rule) if isinstance(rule, str) else rule for rule in rules]
    evaluation = ProfileEvaluation(path, made, scan_interval_us)
    evaluation.advance()
    return made


def summarize(rules: Iterable[ProfilerRule]) -> list[dict[str, Any]]:
    """Return name, verdict, reason and findings of each rule as JSON objects."""
    return [
        {
            "rule": rule.name,
            "verdict": rule.verdict.value,
            "not_evaluated": None if rule.triggered else rule.not_evaluated(),
            "triggered": rule.triggered,
            "findings": [finding.to_json_dict() for finding in rule.findings],
        }
        for rule in rules
    ]
