"""Go through large values without keeping them: each is read piece by piece and summed while in the processor's cache.

Memory that is larger than the cache takes several times as long to fill and to go through, and fresh memory longer
still. So the values of many steps pass through one small room, and what is left of each are two sums and some of its
elements.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.store.format.index import IndexContent, Location
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.format.templates import RecordTemplate
from sagemaker_debug_ext.store.reader import EventReader
from sagemaker_debug_ext.trials.index.entries import IndexEntryFile
from sagemaker_debug_ext.trials.values.bulk_reader import WantedFile

Floats: TypeAlias = npt.NDArray[np.float64]
Scratch: TypeAlias = npt.NDArray[np.uint8]

_ROOM_BYTES: Final = 1 << 22
"""What is read by one call: little enough to be gone through in the processor's cache, enough for few calls."""

_PIECE: Final = 1 << 13
"""Elements that are summed in their own precision before the sum goes on in double precision.

So few that a library for linear algebra sums them in the thread that asks, and that the error, however it does so, is
below a thousandth.
"""

_SAMPLE_PLACES: Final = 64
_SAMPLE_AT_PLACE: Final = 16

_ALIGNMENT: Final = 64

_MAX_GAP_BYTES: Final = 64 << 10
"""What lies between two records is read along up to this size."""


class SeriesSummary(NamedTuple):
    """What is left of the values of one tensor at some steps.

    Args:
        steps: The steps.
        shape: Of each value.
        leading: ``(N, R, ...)``: the first entries along the first axis of each value, as many as were asked for, or
            fewer if they are large.
        sample: ``(N, M)``: elements from all over each value, from the same places of all.
        sums: ``(N,)``: of the elements.
        square_sums: ``(N,)``: of their squares, as far as the tensor's type can hold them.
    """

    steps: Sequence[int]
    shape: tuple[int, ...]
    leading: Array
    sample: Array
    sums: Floats
    square_sums: Floats

    def rows(self, chosen: npt.NDArray[np.bool_] | Sequence[bool] | slice) -> SeriesSummary:
        """Return what is left of some of the values."""
        leading, sample, sums, squares = (array[chosen] for array in self[2:])
        return SeriesSummary(np.asarray(self.steps)[chosen].tolist(), self.shape, leading, sample, sums, squares)


def row_dots(flat: Array, other: Array | None) -> Floats:
    """Return the scalar product of each row with that of `other`, or with ones.

    Piece by piece, as scalar products, which libraries for linear algebra compute several times as fast as NumPy adds.
    """
    num_rows, size = flat.shape
    total = np.zeros(num_rows)
    whole = size - size % _PIECE
    for columns, length in ((slice(0, whole), _PIECE), (slice(whole, size), size - whole)):
        if columns.stop > columns.start:
            pieces = flat[:, columns].reshape(num_rows, -1, length)
            factors = _ones(length, flat.dtype) if other is None else other[:, columns].reshape(num_rows, -1, length)
            products = np.matmul(pieces[..., np.newaxis, :], factors[..., np.newaxis])
            total += np.add.reduce(products.reshape(num_rows, -1), axis=1, dtype=np.float64)
    return total


@functools.lru_cache(maxsize=16)
def _ones(length: int, dtype: np.dtype[Any]) -> Array:
    return np.ones(length, dtype)


class SummaryRequest(NamedTuple):
    """What to find out of a tensor's values.

    Args:
        num_leading: Given their number, returns how many entries along the first axis of each value are wanted.
        has_sums: Whether the sum of the elements is, besides that of their squares.
    """

    num_leading: Callable[[int], int] = lambda _: 0
    has_sums: bool = False


class _Record:
    """A tensor's record in files that are laid out alike, and what is found out of its values.

    Args:
        template: How the record is laid out.
        location: Where in each file it lies.
        num_rows: Number of files.
        wish: What to find out.
    """

    def __init__(self, template: RecordTemplate, location: Location, num_rows: int, wish: SummaryRequest) -> None:
        begin, end = template.content
        self._template = template
        self._has_sums = wish.has_sums
        self.dtype = template.dtype
        self.start, self.length = location
        self.content_bytes = end - begin
        self.heads = np.empty((num_rows, begin), np.uint8)
        self.tails = np.empty((num_rows, location.length - end), np.uint8)
        shape, num_elements = template.shape, self.content_bytes // self.dtype.itemsize
        at_hand = min(num_elements, _ROOM_BYTES // self.dtype.itemsize)
        num_entries = shape[0] if shape else 1
        self._lead_shape = (min(wish.num_leading(num_entries), at_hand * num_entries // num_elements), *shape[1:])
        self._leading = np.empty((num_rows, math.prod(self._lead_shape)), self.dtype)
        self._places = _places(num_elements)
        self._sample = np.empty((num_rows, len(self._places)), self.dtype)
        self._sums = np.full(num_rows, 0.0 if wish.has_sums else np.nan)
        self._square_sums = np.zeros(num_rows)

    def keep(self, row: int, values: _Values) -> None:
        """Add some elements of a value."""
        num_leading = self._leading.shape[1]
        if num_leading and not values.first:
            self._leading[row] = values.flat[:num_leading]
        low, high = values.samples
        values.flat.take(values.places, out=self._sample[row, low:high], mode="clip")  # as none is out of bounds
        if self._has_sums:
            self._sums[row] += row_dots(values.flat.reshape(1, -1), None)[0]
        self._square_sums[row] += values.sum_squares()

    def values(self, content: Scratch, begin: int) -> _Values:
        """Return a part of the record's content as elements of a value.

        Args:
            content: Where the part is read to.
            begin: Which byte of the content is the first one.
        """
        flat = content.view(self.dtype)
        first = begin // self.dtype.itemsize
        low, high = np.searchsorted(self._places, (first, first + flat.size)).tolist()
        return _Values(self, flat, first, (low, high), self._places[low:high] - first)

    def digest(self, steps: Sequence[int], is_read: npt.NDArray[np.bool_]) -> SeriesSummary:
        """Return what is left of the values that were read and are laid out as expected."""
        leading = self._leading.reshape(len(steps), *self._lead_shape)
        found = SeriesSummary(steps, self._template.shape, leading, self._sample, self._sums, self._square_sums)
        fits = is_read & self._template.fits(self.heads, self.tails)
        return found if fits.all() else found.rows(fits)


@functools.lru_cache(maxsize=256)
def _places(num_elements: int) -> npt.NDArray[np.intp]:
    """Return the places of the sample, ascending."""
    begins = np.linspace(0, max(num_elements - _SAMPLE_AT_PLACE, 0), _SAMPLE_PLACES).astype(np.intp)
    places = np.unique((begins[:, np.newaxis] + np.arange(_SAMPLE_AT_PLACE)).reshape(-1))
    return places[places < num_elements]


class _Values:
    """Elements of a value, where they are read to again and again.

    Args:
        record: Whose they are.
        flat: ``(N,)``: the elements.
        first: Number of the first one.
        samples: Which ones of the sample are among them, the last one excluded.
        places: Where in `flat` these are.
    """

    def __init__(
        self,
        record: _Record,
        flat: Array,
        first: int,
        samples: tuple[int, int],
        places: npt.NDArray[np.intp],
    ) -> None:
        self.record = record
        self.flat = flat
        self.first = first
        self.samples = samples
        self.places = places
        whole = flat.size - flat.size % _PIECE
        chunks = [flat[:whole].reshape(-1, _PIECE), flat[whole:].reshape(1, -1)]
        self._factors = [(rows[:, np.newaxis, :], rows[:, :, np.newaxis]) for rows in chunks if rows.size]

    def sum_squares(self) -> float:
        """Return the sum of the squares, as `row_dots` finds it."""
        return sum([float(np.add.reduce(np.matmul(*pair), axis=None, dtype=np.float64)) for pair in self._factors])


class _Call:
    """What one call reads: bytes of a file from `start` on, to several places.

    Args:
        start: Where the bytes lie in each file.
        room: Where values go.
    """

    def __init__(self, start: int, room: Scratch) -> None:
        self.start = self.end = start
        self.num_used = 0
        self._room = room
        self._targets: list[Callable[[int], memoryview]] = []
        self._values: list[_Values] = []

    def add_gap(self, num_bytes: int) -> None:
        """Read something that nobody wants."""
        gap = memoryview(bytearray(num_bytes))
        self._add(num_bytes, lambda _: gap)

    def add_rows(self, rows: Array) -> None:
        """Read a row of an array, ``(files, bytes)``."""
        self._add(rows.shape[1], lambda row: rows[row].data)

    def add_content(self, record: _Record, begin: int, num_bytes: int) -> None:
        """Read a part of a record's content, from a byte on."""
        place = self._room[self.num_used : self.num_used + num_bytes]
        target = place.data
        self._add(num_bytes, lambda _: target)
        self._values.append(record.values(place, begin))
        self.num_used += num_bytes + -num_bytes % _ALIGNMENT

    def read(self, reader: EventReader, event_file: str, row: int) -> bool:
        """Read one file, and take in what it holds; False if it does not hold that much."""
        targets = [target(row) for target in self._targets]
        if reader.backend.read_into(event_file, self.start, targets) != self.end - self.start:
            return False
        for values in self._values:
            values.record.keep(row, values)
        return True

    def _add(self, num_bytes: int, target: Callable[[int], memoryview]) -> None:
        self._targets.append(target)
        self.end += num_bytes


def _plan(records: Iterable[_Record], room: Scratch) -> list[_Call]:
    """Return the calls that read some records, which are in the order in which they lie in a file."""
    calls: list[_Call] = []
    for record in records:
        gap = record.start - calls[-1].end if calls else -1
        if 0 <= gap <= _MAX_GAP_BYTES:
            calls[-1].add_gap(gap)
        else:
            calls.append(_Call(record.start, room))
        calls[-1].add_rows(record.heads)
        for begin in range(0, record.content_bytes, len(room)):
            num_bytes = min(record.content_bytes - begin, len(room))
            if calls[-1].num_used + num_bytes > len(room):
                calls.append(_Call(calls[-1].end, room))
            calls[-1].add_content(record, begin, num_bytes)
        calls[-1].add_rows(record.tails)
    return calls


def can_digest(dtype: np.dtype[Any]) -> bool:
    """Return whether sums in the type's own precision mean something."""
    return dtype.kind == "f" and dtype.itemsize in (4, 8)


def summarize_series(
    reader: EventReader,
    content: IndexContent,
    wishes: Mapping[tuple[str, int], SummaryRequest],
    rows: Sequence[WantedFile],
) -> dict[str, SeriesSummary]:
    """Go through values of files that are laid out alike.

    Args:
        reader: What reads event files.
        content: The places of the records.
        wishes: What to find out of each tensor.
        rows: The files.

    Returns:
        What was found. Values that are damaged, or of a type that cannot be gone through, are missing.
    """
    records: dict[str, _Record] = {}
    for (name, position), wish in wishes.items():
        location = content.location(position)
        template = find_template(reader, name, location, rows[0].file)
        if template is not None and can_digest(template.dtype):
            records[name] = _Record(template, location, len(rows), wish)
    calls = _plan(sorted(records.values(), key=lambda record: record.start), np.empty(_ROOM_BYTES, np.uint8))
    is_read = np.zeros(len(rows), np.bool_)
    for number, row in enumerate(rows):
        with contextlib.suppress(OSError):  # is read again, alone, to be described
            is_read[number] = all(call.read(reader, row.file.event_file or "", number) for call in calls)
    steps = [row.step for row in rows]
    return {name: record.digest(steps, is_read) for name, record in records.items()}


def find_template(reader: EventReader, name: str, location: Location, file: IndexEntryFile) -> RecordTemplate | None:
    """Return how a record is laid out; None if it is damaged, or not laid out like a writer's."""
    with contextlib.suppress(OSError):  # is read again, alone, to be described
        return reader.template(file.event_file or "", location, name)
    return None
