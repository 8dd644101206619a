"""The common part of both readers: it lists the files of a job, and reads those that a query needs."""

from __future__ import annotations

import abc
import bisect
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.format.times import (
    TimeUnits,
    convert_utc_timestamp_to_microseconds,
    convert_utc_timestamp_to_nanoseconds,
)
from sagemaker_debug_ext.profiler.profiler_constants import (
    ENV_TIME_BUFFER,
    ENV_TRAIILING_DURATION,
    TIME_BUFFER_DEFAULT,
    TRAILING_DURATION_DEFAULT,
)
from sagemaker_debug_ext.profiler.profiler_files import ProfilerFolder, open_s3_files
from sagemaker_debug_ext.store.backends.base import Backend, ByteRange, ObjectInfo

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


class Query(NamedTuple):
    """The events of a time range.

    Attributes:
        start_time: Start since 1970, inclusive.
        end_time: End since 1970, inclusive.
        unit: Unit of both times.
        event_type: Only events of this type; None for all.
        suffixes: Only files whose names end with one of these; empty for all.
    """

    start_time: float
    end_time: float
    unit: TimeUnits = TimeUnits.MICROSECONDS
    event_type: str | None = None
    suffixes: tuple[str, ...] = ()

    @property
    def range_us(self) -> tuple[float, float]:
        """Both times in microseconds."""
        convert = convert_utc_timestamp_to_microseconds
        return convert(self.start_time, self.unit), convert(self.end_time, self.unit)

    @property
    def range_ns(self) -> tuple[float, float]:
        """Both times in nanoseconds."""
        convert = convert_utc_timestamp_to_nanoseconds
        return convert(self.start_time, self.unit), convert(self.end_time, self.unit)

    def has_suffix_of(self, key: str) -> bool:
        """Return whether a file is among those to read."""
        return not self.suffixes or key.endswith(self.suffixes)


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
        use_in_memory_cache: Keep parsed files in memory, so that an unchanged file is read once.

    Attributes:
        problems: One sentence for each damaged place, in the order in which they were found.
    """

    prefix: str
    """The folder that is listed, with a slash at the end."""

    prefix_sorted_by_time: str
    """The folder whose keys sort by the time in their names."""

    def __init__(self, files: Backend, use_in_memory_cache: bool = False) -> None:
        self._files = files
        self._watch = files.watch(self.prefix)
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
        return self._files.url

    # --- files -------------------------------------------------------------------------------------------------------

    def refresh_event_file_list(self) -> None:
        """List the files again. On S3, the listing restarts some minutes before the newest name."""
        for info in self._watch.look(self._settled_key()).objects:
            self._known[info.key] = info
        self._timed = sorted(self._find_timed(self._known))

    def _settled_key(self) -> str:
        """Return the key after which new files may lie; empty if they may lie anywhere."""
        settled_us = self.get_timestamp_of_latest_available_file() - self._trailing_us
        return max(
            (
                file.key
                for file in self._timed
                if file.time_us <= settled_us and file.key.startswith(self.prefix_sorted_by_time)
            ),
            default="",
        )

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

    def _files_until(self, end_us: float) -> list[TimedFile]:
        """Return the files up to the first one well after `end_us`, listed again unless newer ones are known."""
        if end_us + self._buffer_us >= self.get_timestamp_of_latest_available_file():
            self.refresh_event_file_list()
        return self._up_to(end_us)

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
            found = self._files.read_many([ByteRange(file.key) for file in missing])
            contents = dict(zip((file.key for file in missing), found, strict=True))
            for file in portion:
                if file.key not in contents:
                    yield file, self._parsed[file.key][1]
                    continue
                content = contents.pop(file.key)
                if isinstance(content, OSError):
                    self._report(file.key, str(content))
                elif content is not None:
                    parsed = self._parse(file.key, bytes(content))
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
        problem = f"{self._files.url}/{key}: {reason}"
        if problem not in self.problems:
            self.problems.append(problem)
            _LOG.warning("skipped damaged profiler data in %s", problem)

    # --- queries -----------------------------------------------------------------------------------------------------

    def get_events(
        self,
        start_time: float,
        end_time: float,
        unit: TimeUnits = TimeUnits.MICROSECONDS,
        event_type: str | None = None,
        file_suffix_filter: Sequence[str] | None = None,
    ) -> list[_Event]:
        """Return the events of a time range.

        System metrics belong to it if ``start_time <= timestamp <= end_time``, and come in file order. Trace events
        belong to it if they overlap it, and come by kind of file, then in file order.

        Args:
            start_time: Start since 1970, inclusive.
            end_time: End since 1970, inclusive.
            unit: Unit of both times.
            event_type: Only system metrics of this type: ``cpu``, ``gpu``, ``memory``, ``i/o`` or ``network``. It must
                be None for trace events, which have no type.
            file_suffix_filter: Only files whose names end with one of these, such as ``pythontimeline.json``.

        Raises:
            SMDebugTypeError: `event_type` is given for trace events.
        """
        return self._find_events(Query(start_time, end_time, unit, event_type, tuple(file_suffix_filter or ())))

    @abc.abstractmethod
    def _find_events(self, query: Query) -> list[_Event]:
        """Return the events that a query asks for."""

    @abc.abstractmethod
    def get_all_event_parsers(self) -> list[Any]:
        """Return the parsers of the files."""


class FolderReader(MetricsReaderBase[_Parsed, _Event]):
    """Reads from a folder.

    Args:
        trace_root_folder: The folder ``profiler-output``.
        use_in_memory_cache: Keep parsed files in memory, so that an unchanged file is read once.
    """

    def __init__(self, trace_root_folder: str | os.PathLike[str], use_in_memory_cache: bool = False) -> None:
        super().__init__(ProfilerFolder(trace_root_folder), use_in_memory_cache)


class S3Reader(MetricsReaderBase[_Parsed, _Event]):
    """Reads from S3.

    Args:
        s3_trial_path: Address of the folder ``profiler-output``.
        use_in_memory_cache: Keep parsed files in memory, so that an unchanged file is read once.
    """

    def __init__(self, s3_trial_path: str, use_in_memory_cache: bool = False) -> None:
        super().__init__(open_s3_files(s3_trial_path), use_in_memory_cache)


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
