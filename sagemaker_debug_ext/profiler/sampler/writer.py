"""Writes system metrics: a file for each minute, of whole lines at every moment."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import time
from collections.abc import Callable, Iterable
from typing import Final

from sagemaker_debug_ext.profiler.format.file_names import END_MARKS, system_file_key
from sagemaker_debug_ext.profiler.format.system_rows import SystemRow, format_row

_LOG: Final = logging.getLogger(__name__)
PUBLISH_SECONDS: Final = 0.5
"""Readers of a running job see rows that are at most this old."""

_MINUTE: Final = 60
_MAX_WAITING_MINUTES: Final = 3


def publish(path: str, content: bytes | bytearray) -> None:
    """Write a file so that readers see either its old or its new content; make its folder if necessary.

    The back ends' function is not used, because importing it takes more memory than all of the sampler.

    Raises:
        OSError: The file cannot be written; it stays as it was.
    """
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    temporary = os.path.join(folder, f".{name}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def append_lines(path: str, lines: bytes | bytearray) -> None:
    """Append lines to a file; make it and its folder if necessary.

    Raises:
        OSError: They cannot be written; the file is as it was.
    """
    try:
        file = open(path, "ab", buffering=0)  # noqa: SIM115 - closed below
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = open(path, "ab", buffering=0)  # noqa: SIM115 - closed below
    with file:
        size = file.tell()
        try:
            view = memoryview(lines)
            while view:
                view = view[file.write(view) :]
        except OSError:
            with contextlib.suppress(OSError):
                file.truncate(size)
            raise


def drop_cut_line(path: str) -> None:
    """Remove the line that a killed process was writing; a no-op if there is none.

    Raises:
        OSError: The file cannot be changed.
    """
    try:
        with open(path, "r+b") as file:
            content = file.read()
            if not content.endswith(b"\n"):
                file.truncate(content.rfind(b"\n") + 1)
    except FileNotFoundError:
        return


class SystemFileWriter:
    """Appends rows to the file of their minute, twice a second, so that readers of a running job are hardly behind.

    Rows that cannot be written, because there is no space for example, are kept and tried again; those of the oldest of
    several minutes are dropped and counted.

    Args:
        output_path: The folder ``profiler-output``.
        node: The machine.
        clock: Seconds that only grow.

    Attributes:
        num_dropped: Rows that were lost.
    """

    def __init__(self, output_path: str, node: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._output_path = output_path
        self._node = node
        self._clock = clock
        self._rows: list[Iterable[SystemRow]] = []
        self._waiting: dict[int, bytearray] = {}
        self._minute = -1
        self._written_at = clock()
        self._has_failed = False
        self.num_dropped = 0

    def start(self, now: float) -> None:
        """Begin a job: remove the mark of an earlier end, and create the file of this minute.

        Args:
            now: Seconds since 1970.

        Raises:
            OSError: The folder cannot be written.
        """
        mark = os.path.join(self._output_path, END_MARKS[0])
        if os.path.exists(mark):
            os.unlink(mark)
        self._buffer_of(int(now))
        self._append_all()

    def write(self, rows: Iterable[SystemRow]) -> None:
        """Add rows, and append them to their files if it is time.

        Rows are taken and formatted when they are written, those of several samples at once: right after a wait, with
        cold caches of the processor, that takes several times as long.
        """
        self._rows.append(rows)
        if self._clock() - self._written_at >= PUBLISH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Append all rows to their files; failures are logged once."""
        for row in itertools.chain.from_iterable(self._rows):
            self._buffer_of(int(row.timestamp)).extend(format_row(row).encode())
        self._rows.clear()
        try:
            self._append_all()
        except OSError as error:
            if not self._has_failed:
                _LOG.warning("system metrics cannot be written to %s: %s", self._output_path, error)
            self._has_failed = True
            self._drop_oldest()
        else:
            self._has_failed = False
        self._written_at = self._clock()

    def end(self) -> None:
        """Append all rows and mark the job as ended."""
        self.flush()
        try:
            with open(os.path.join(self._output_path, END_MARKS[0]), "wb"):
                pass
        except OSError as error:
            _LOG.warning("the end of the job cannot be marked in %s: %s", self._output_path, error)

    def _buffer_of(self, second: int) -> bytearray:
        return self._waiting.setdefault(second - second % _MINUTE, bytearray())

    def _append_all(self) -> None:
        for minute in sorted(self._waiting):
            path = os.path.join(self._output_path, system_file_key(minute, self._node))
            if minute != self._minute:  # an earlier sampler may have begun the file
                drop_cut_line(path)
                self._minute = minute
            append_lines(path, self._waiting[minute])
            del self._waiting[minute]

    def _drop_oldest(self) -> None:
        while len(self._waiting) > _MAX_WAITING_MINUTES:
            dropped = self._waiting.pop(min(self._waiting))
            self.num_dropped += dropped.count(b"\n")
