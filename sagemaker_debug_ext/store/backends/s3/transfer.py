"""Bodies of requests and responses: continued downloads, uploads from several buffers, and merged ranges."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sagemaker_debug_ext.store.backends.base import ByteRange

MIB: Final = 1 << 20
_NEAR_BYTES: Final = 256 << 10
"""Ranges of one object that are at most this far apart are fetched with one request."""

PART_BYTES: Final = 8 * MIB
"""Larger ranges are fetched with parallel requests, and larger objects uploaded in parts."""


class ResumableBody:
    """The bytes of an object range received so far; a broken download continues where it stopped.

    Attributes:
        pieces: The bytes.
        size: Size of the whole object.
    """

    def __init__(self, start: int, length: int | None) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self._start = start
        self._end = None if length is None else start + length
        self._version = ""

    def wanted(self) -> dict[str, Any]:
        """Return the request members for the missing bytes of the same version of the object."""
        at = self._start + sum(map(len, self.pieces))
        members: dict[str, Any] = {"IfMatch": self._version} if self._version else {}
        if at or self._end is not None:
            members["Range"] = f"bytes={at}-{'' if self._end is None else self._end - 1}"
        return members

    def take_in(self, response: Mapping[str, Any]) -> None:
        """Append the body of a response until it ends or breaks off."""
        self._version = response.get("ETag", "")
        self.size = total_size(response)
        for piece in response["Body"].iter_chunks(MIB):
            self.pieces.append(piece)


class BuffersReader(io.RawIOBase):
    """Several buffers as one file, without a copy."""

    def __init__(self, views: Sequence[memoryview]) -> None:
        self._views = views
        self._ends = list(itertools.accumulate(view.nbytes for view in views))
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._ends[-1]}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, target: Any) -> int:
        room = memoryview(target).cast("B")
        for view, end in zip(self._views, self._ends, strict=True):
            if self._at < end:
                piece = view[view.nbytes - (end - self._at) :][: room.nbytes]
                room[: piece.nbytes] = piece
                self._at += piece.nbytes
                return piece.nbytes
        return 0


def merge_near(ranges: Sequence[ByteRange]) -> tuple[list[ByteRange], list[tuple[int, int]]]:
    """Merge nearby ranges; also return, for each given range, its merged range and the offset in that."""
    merged: list[ByteRange] = []
    places = [(0, 0)] * len(ranges)
    for number in sorted(range(len(ranges)), key=lambda place: ranges[place][:2]):
        key, start, length = ranges[number]
        last = merged[-1] if merged else None
        if last is not None and last.key == key and last.length is not None and length is not None:
            end = last.start + last.length
            if start <= end + _NEAR_BYTES and max(end, start + length) - last.start <= PART_BYTES:
                merged[-1] = ByteRange(key, last.start, max(end, start + length) - last.start)
                places[number] = (len(merged) - 1, start - last.start)
                continue
        merged.append(ranges[number])
        places[number] = (len(merged) - 1, 0)
    return merged, places


def total_size(response: Mapping[str, Any]) -> int:
    """Return the size of the whole object from the response for a range."""
    total = str(response.get("ContentRange", "")).rpartition("/")[2]
    return int(total) if total.isdecimal() else int(response.get("ContentLength", 0))
