"""Temporary file of bounded size for steps that exceed the memory limit, until they are written to the trial."""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, StepBuffer
from sagemaker_debug_ext.store.backends.base import Buffer
from sagemaker_debug_ext.store.backends.fileio import write_gathered
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.writer import StepData

_HEAD_BYTES: Final = 8


class _Place(NamedTuple):
    start: int
    length: int


class SpillFile:
    """Keeps bytes in a temporary file until they are asked for; the space is used again, in rounds.

    The file lies where `tempfile` puts it (``TMPDIR``), has no name, and is gone with the process.

    Args:
        limit_bytes: The maximum size of the file.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._descriptor: int | None = None
        self._places: deque[_Place] = deque()
        self._lock = threading.Lock()

    def put(self, parts: Sequence[Buffer]) -> Callable[[], bytearray] | None:
        """Keep parts, one after the other.

        Returns:
            A function that returns them, or None if there is no room. Call it once, in the order of the `put` calls.

        Raises:
            OSError: The file cannot be written.
        """
        length = sum(memoryview(part).nbytes for part in parts)
        with self._lock:
            start = self._find_room(length)
            if start is None:
                return None
            place = _Place(start, length)
            if self._descriptor is None:
                self._descriptor = _open_without_name()
            write_gathered(self._descriptor, start, parts)
            self._places.append(place)
        return lambda: self._take(place)

    def close(self) -> None:
        """Drop all stored parts."""
        with self._lock:
            self._places.clear()
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _take(self, place: _Place) -> bytearray:
        assert self._descriptor is not None
        content = bytearray(place.length)
        view, got = memoryview(content), 0
        while got < place.length:
            got += os.preadv(self._descriptor, [view[got:]], place.start + got)
        with self._lock:
            self._places.remove(place)
        return content

    def _find_room(self, length: int) -> int | None:
        """Return where so many bytes have room: behind what came last, or at the beginning."""
        if not self._places:
            return 0 if length <= self._limit_bytes else None
        head, tail = self._places[0].start, sum(self._places[-1])
        if tail > head:
            if tail + length <= self._limit_bytes:
                return tail
            return 0 if length <= head else None
        return tail if tail + length <= head else None


def pack(step: StepBuffer, to_array: Callable[[Any], Array]) -> list[Buffer]:
    """Return a step as bytes, with its reductions computed; large values share the step's memory.

    Args:
        step: The step.
        to_array: Turns a captured value into an array.
    """
    summary_values = {name: Captured(to_array(value), at) for name, (value, at) in step.summary_values.items()}
    rest = StepBuffer(step.position, metrics=step.metrics, summaries=step.summaries, summary_values=summary_values)
    values: list[pickle.PickleBuffer] = []
    head = pickle.dumps((rest, step.to_data(to_array)), protocol=5, buffer_callback=values.append)
    parts = [value.raw() for value in values]
    lengths = pickle.dumps([len(head), *(part.nbytes for part in parts)])
    return [len(lengths).to_bytes(_HEAD_BYTES, "little"), lengths, head, *parts]


def unpack(content: bytearray) -> tuple[StepBuffer, StepData]:
    """Return what `pack` made bytes of: what the trial holds, and the step with what accompanies that."""
    view = memoryview(content)
    at = _HEAD_BYTES + int.from_bytes(view[:_HEAD_BYTES], "little")
    lengths = pickle.loads(view[_HEAD_BYTES:at])  # noqa: S301 - written by this process, to a file nobody else can open
    parts = []
    for length in lengths:
        parts.append(view[at : at + length])
        at += length
    found: tuple[StepBuffer, StepData] = pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301 - as above
    return found


def _open_without_name() -> int:
    descriptor, path = tempfile.mkstemp(prefix="sagemaker_debug_ext")
    os.unlink(path)
    return descriptor
