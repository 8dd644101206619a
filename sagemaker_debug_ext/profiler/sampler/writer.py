"""Writes system metrics: a file for each minute, complete at every moment."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable
from typing import Final

from sagemaker_debug_ext.profiler.format.file_names import END_MARKS, system_file_key
from sagemaker_debug_ext.profiler.format.system_rows import SystemRow, format_row

_LOG: Final = logging.getLogger(__name__)
PUBLISH_SECONDS: Final = 10.0
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


class SystemFileWriter:
    """Appends rows to the file of their minute.

    Files are published under their final name by renaming, so that readers see whole lines. A minute that cannot be
    written, because there is no space for example, is tried again; the oldest of several is dropped and counted.

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
        self._minutes: dict[int, bytearray] = {}
        self._published_at = clock()
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
        self._publish_all()

    def write(self, rows: Iterable[SystemRow]) -> None:
        """Add rows, and publish them if it is time."""
        for row in rows:
            self._buffer_of(int(row.timestamp)).extend(format_row(row).encode())
        if len(self._minutes) > 1 or self._clock() - self._published_at >= PUBLISH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Publish all rows; failures are logged once."""
        try:
            self._publish_all()
        except OSError as error:
            if not self._has_failed:
                _LOG.warning("system metrics cannot be written to %s: %s", self._output_path, error)
            self._has_failed = True
            self._drop_oldest()
        else:
            self._has_failed = False
        self._published_at = self._clock()

    def end(self) -> None:
        """Publish all rows and mark the job as ended."""
        self.flush()
        try:
            with open(os.path.join(self._output_path, END_MARKS[0]), "wb"):
                pass
        except OSError as error:
            _LOG.warning("the end of the job cannot be marked in %s: %s", self._output_path, error)

    def _buffer_of(self, second: int) -> bytearray:
        minute = second - second % _MINUTE
        if minute not in self._minutes:
            self._minutes[minute] = bytearray(self._read(minute))
        return self._minutes[minute]

    def _path(self, minute: int) -> str:
        return os.path.join(self._output_path, system_file_key(minute, self._node))

    def _read(self, minute: int) -> bytes:
        """Return what an earlier sampler of this machine wrote in the same minute."""
        try:
            with open(self._path(minute), "rb") as file:
                return file.read()
        except OSError:
            return b""

    def _publish_all(self) -> None:
        newest = max(self._minutes, default=0)
        for minute in sorted(self._minutes):
            publish(self._path(minute), self._minutes[minute])
            if minute != newest:
                del self._minutes[minute]

    def _drop_oldest(self) -> None:
        while len(self._minutes) > _MAX_WAITING_MINUTES:
            dropped = self._minutes.pop(min(self._minutes))
            self.num_dropped += dropped.count(b"\n")
