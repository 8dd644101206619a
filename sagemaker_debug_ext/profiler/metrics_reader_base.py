"""What readers of system metrics and of trace events have in common: which files there are, and which to read."""

from __future__ import annotations

import abc
import bisect
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.format.times import TimeUnits
from sagemaker_debug_ext.profiler.profiler_constants import (
    ENV_TIME_BUFFER,
    ENV_TRAIILING_DURATION,
    TIME_BUFFER_DEFAULT,
    TRAILING_DURATION_DEFAULT,
)
from sagemaker_debug_ext.profiler.profiler_files import ProfilerFiles
from sagemaker_debug_ext.store.backends.base import ObjectInfo

_LOG: Final = logging.getLogger(__name__)
_PORTION_BYTES: Final = 64 << 20
"""Limit of the files in memory at a time."""

_Parsed = TypeVar("_Parsed")
_Event = TypeVar("_Event")


class TimedFile(NamedTuple):
    """A file and the time in its name: files sort by time, then by key."""

    time_us: int
    key: str
    info: ObjectInfo


def microseconds_from_environment(name: str, default: int) -> int:
    """Return a duration that an environment variable may change.

    Raises:
        SMDebugValueError: The variable is not a whole number.
    """
    text = os.environ.get(name)
    try:
        return default if text is None else int(text)
    except ValueError as error:
        raise SMDebugValueError(f"{name} must be a whole number of microseconds (got {text!r})") from error


class MetricsReaderBase(abc.ABC, Generic[_Parsed, _Event]):
    """Reads profiler files and keeps the list of them.

    Damaged content is skipped, logged once, and listed in `problems`.

    Args:
        files: The folder ``profiler-output``.
        use_in_memory_cache: Keep what was read, so that an unchanged file is read once.

    Attributes:
        problems: One sentence for each damaged place, in the order in which they were found.
    """

    prefix: str
    """The folder that is listed, with a slash at the end."""

    def __init__(self, files: ProfilerFiles, use_in_memory_cache: bool = False) -> None:
        self._files = files
        self._keeps = use_in_memory_cache
        self._buffer_us = microseconds_from_environment(ENV_TIME_BUFFER, TIME_BUFFER_DEFAULT)
        self._trailing_us = microseconds_from_environment(ENV_TRAIILING_DURATION, TRAILING_DURATION_DEFAULT)
        self._known: dict[str, ObjectInfo] = {}
        self._timed: list[TimedFile] = []
        self._parsed: dict[str, tuple[str, _Parsed]] = {}
        self.problems: list[str] = []
        self.refresh_event_file_list()

    @property
    def path(self) -> str:
        """The folder ``profiler-output``, or its address on S3."""
        return self._files.path

    # --- files -------------------------------------------------------------------------------------------------------

    def refresh_event_file_list(self) -> None:
        """List the files again. On S3, the listing restarts some minutes before the newest name."""
        for prefix, after in self._listings():
            for info in self._files.list(prefix, after):
                self._known[info.key] = info
        self._timed = sorted(self._find_timed(self._known))

    def _listings(self) -> Iterator[tuple[str, str]]:
        """Yield what to list: a prefix, and the key after which new files may lie."""
        yield self.prefix, self._restart_key()

    def _restart_key(self) -> str:
        restart_us = self.get_timestamp_of_latest_available_file() - self._trailing_us
        older = [file.key for file in self._timed if file.time_us <= restart_us]
        return older[-1] if older else ""

    @abc.abstractmethod
    def _find_timed(self, known: dict[str, ObjectInfo]) -> Iterator[TimedFile]:
        """Yield the files that this reader understands."""

    def get_timestamp_of_first_available_file(self) -> int:
        """Return the first time in a file name, in microseconds since 1970; 0 if there is no file."""
        return self._timed[0].time_us if self._timed else 0

    def get_timestamp_of_latest_available_file(self) -> int:
        """Return the last time in a file name, in microseconds since 1970; 0 if there is no file."""
        return self._timed[-1].time_us if self._timed else 0

    def get_timestamp_of_next_file(self, after_us: float) -> int | None:
        """Return the first time in a file name that is not before `after_us`; None if there is no such file."""
        place = bisect.bisect_left(self._timed, (after_us,))
        return self._timed[place].time_us if place < len(self._timed) else None

    def event_files(self) -> list[str]:
        """Return the keys of all files, sorted by the time in their names."""
        return [file.key for file in self._timed]

    def _refresh_if_newer_than_known(self, end_us: float) -> None:
        if end_us + self._buffer_us >= self.get_timestamp_of_latest_available_file():
            self.refresh_event_file_list()

    def _up_to(self, end_us: float) -> list[TimedFile]:
        """Return the files up to the first one whose time is well after `end_us`."""
        after = bisect.bisect_left(self._timed, (end_us + self._buffer_us,))
        if after < len(self._timed):
            after = bisect.bisect_right(self._timed, self._timed[after].time_us, key=lambda file: file.time_us)
        return self._timed[:after]

    # --- contents ----------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def _parse(self, key: str, content: bytes) -> _Parsed:
        """Parse a file; describe damage with `_report`."""

    def _read(self, files: Iterable[TimedFile]) -> Iterator[tuple[TimedFile, _Parsed]]:
        """Yield the parsed content of files; files that are gone or cannot be read are left out."""
        for portion in _portions(files):
            missing = [file for file in portion if self._parsed.get(file.key, ("",))[0] != file.info.version]
            contents = dict(
                zip((file.key for file in missing), self._files.read([file.key for file in missing]), strict=True)
            )
            for file in portion:
                if file.key not in contents:
                    yield file, self._parsed[file.key][1]
                    continue
                content = contents.pop(file.key)
                if isinstance(content, OSError):
                    self._report(file.key, str(content))
                elif content is not None:
                    parsed = self._parse(file.key, content)
                    if self._keeps:
                        self._parsed[file.key] = (file.info.version, parsed)
                    yield file, parsed

    def forget_before(self, time_us: float) -> None:
        """Drop kept content from well before a time, which queries from that time on do not need.

        Args:
            time_us: Microseconds since 1970.
        """
        for file in self._up_to(time_us - 3 * self._buffer_us):
            if file.time_us < time_us - 2 * self._buffer_us:
                self._parsed.pop(file.key, None)

    def _report(self, key: str, reason: str) -> None:
        problem = f"{self._files.full_path(key)}: {reason}"
        if problem not in self.problems:
            self.problems.append(problem)
            _LOG.warning("skipped damaged profiler data in %s", problem)

    # --- queries -----------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def get_events(
        self,
        start_time: float,
        end_time: float,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: str | None = None,
        file_suffix_filter: Sequence[str] | None = None,
    ) -> list[_Event]:
        """Return the events of a time range."""

    @abc.abstractmethod
    def get_all_event_parsers(self) -> list[Any]:
        """Return the parsers of the files."""


def _portions(files: Iterable[TimedFile]) -> Iterator[list[TimedFile]]:
    portion: list[TimedFile] = []
    size = 0
    for file in files:
        portion.append(file)
        size += file.info.size
        if size > _PORTION_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def has_suffix(key: str, suffixes: Sequence[str] | None) -> bool:
    """Return whether a key ends with one of the suffixes; True if there are none to choose from."""
    return not suffixes or key.endswith(tuple(suffixes))
