"""Summarize large tensors while streaming them through a cache-sized buffer.

Filling and reading memory beyond the processor's cache takes several times as long, and newly allocated memory takes
longer still. The values of many steps therefore pass through one small buffer, and each leaves two sums and a sample of
its elements.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext._row_sums import ROW, Floats, row_dots
from sagemaker_debug_ext.store.format.index import IndexContent, Location
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.format.templates import RecordTemplate
from sagemaker_debug_ext.store.reader import EventReader
from sagemaker_debug_ext.trials.index.entries import IndexEntryFile
from sagemaker_debug_ext.trials.values.bulk_reader import WantedFile

Scratch: TypeAlias = npt.NDArray[np.uint8]

_ROOM_BYTES: Final = 1 << 22
"""Bytes read by one call: few enough for the processor's cache, and enough to keep the number of calls low."""

_SAMPLE_PLACES: Final = 64
_SAMPLE_AT_PLACE: Final = 16

_ALIGNMENT: Final = 64

_MAX_GAP_BYTES: Final = 64 << 10
"""Largest gap between two records that is read together with them."""


class SeriesSummary(NamedTuple):
    """Summary of the values of one tensor at several steps.

    Args:
        steps: The steps.
        shape: Shape of each value.
        leading: ``(N, R, ...)``: the requested number of first entries along the first axis of each value, or fewer if
            they are large.
        sample: ``(N, M)``: elements spread over each value, at the same places in all values.
        sums: ``(N,)``: sums of the elements.
        square_sums: ``(N,)``: sums of the squares, within the range of the tensor's dtype.
    """

    steps: Sequence[int]
    shape: tuple[int, ...]
    leading: Array
    sample: Array
    sums: Floats
    square_sums: Floats

    def rows(self, chosen: npt.NDArray[np.bool_] | Sequence[bool] | slice) -> SeriesSummary:
        """Return the summary of the chosen values."""
        leading, sample, sums, squares = (array[chosen] for array in self[2:])
        return SeriesSummary(np.asarray(self.steps)[chosen].tolist(), self.shape, leading, sample, sums, squares)


class SummaryRequest(NamedTuple):
    """Requested summary of a tensor's values.

    Args:
        num_leading: Returns how many entries along the first axis of each value to keep, given their number.
        has_sums: Whether to sum the elements, besides their squares.
    """

    num_leading: Callable[[int], int] = lambda _: 0
    has_sums: bool = False


class _Record:
    """A tensor's record in files of the same layout, and the summary of its values.

    Args:
        template: Layout of the record.
        location: Location of the record in each file.
        num_rows: Number of files.
        wish: The summary to compute.
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
        """Add elements of a value to the summary."""
        num_leading = self._leading.shape[1]
        if num_leading and not values.first:
            self._leading[row] = values.flat[:num_leading]
        low, high = values.samples
        # "clip" avoids the buffer that NumPy needs by default; no place is out of bounds.
        values.flat.take(values.places, out=self._sample[row, low:high], mode="clip")
        if self._has_sums:
            self._sums[row] += row_dots(values.flat.reshape(1, -1), None)[0]
        self._square_sums[row] += values.sum_squares()

    def values(self, content: Scratch, begin: int) -> _Values:
        """Return a part of the record's content as elements of a value.

        Args:
            content: Buffer that the part is read into.
            begin: Offset of the part in the content, in bytes.
        """
        flat = content.view(self.dtype)
        first = begin // self.dtype.itemsize
        low, high = np.searchsorted(self._places, (first, first + flat.size)).tolist()
        return _Values(self, flat, first, (low, high), self._places[low:high] - first)

    def digest(self, steps: Sequence[int], is_read: npt.NDArray[np.bool_]) -> SeriesSummary:
        """Return the summary of the values that were read and match the template."""
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
    """Elements of a value in a buffer that is reused for each file.

    Args:
        record: The record that the elements belong to.
        flat: ``(N,)``: the elements.
        first: Position of the first element in the value.
        samples: Range of positions in the sample that the elements cover, the end exclusive.
        places: Positions in `flat` of the sampled elements.
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
        whole = flat.size - flat.size % ROW
        chunks = [flat[:whole].reshape(-1, ROW), flat[whole:].reshape(1, -1)]
        self._factors = [(rows[:, np.newaxis, :], rows[:, :, np.newaxis]) for rows in chunks if rows.size]

    def sum_squares(self) -> float:
        """Return the sum of the squares, computed as in `row_dots`."""
        return sum([float(np.add.reduce(np.matmul(*pair), axis=None, dtype=np.float64)) for pair in self._factors])


class _Call:
    """One read call: the bytes of a file from `start` on, read into several buffers.

    Args:
        start: Offset of the bytes in each file.
        room: Buffer for values.
    """

    def __init__(self, start: int, room: Scratch) -> None:
        self.start = self.end = start
        self.num_used = 0
        self._room = room
        self._targets: list[Callable[[int], memoryview]] = []
        self._values: list[_Values] = []

    def add_gap(self, num_bytes: int) -> None:
        """Read bytes that are not used."""
        gap = memoryview(bytearray(num_bytes))
        self._add(num_bytes, lambda _: gap)

    def add_rows(self, rows: Array) -> None:
        """Read into the file's row of an array, ``(files, bytes)``."""
        self._add(rows.shape[1], lambda row: rows[row].data)

    def add_content(self, record: _Record, begin: int, num_bytes: int) -> None:
        """Read a part of a record's content, from byte `begin` on."""
        place = self._room[self.num_used : self.num_used + num_bytes]
        target = place.data
        self._add(num_bytes, lambda _: target)
        self._values.append(record.values(place, begin))
        self.num_used += num_bytes + -num_bytes % _ALIGNMENT

    def read(self, reader: EventReader, event_file: str, row: int) -> bool:
        """Read one file and add its values to the summaries; return False if the file is too short."""
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
    """Return the calls that read the records, which are given in file order."""
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
    """Return whether sums in the precision of the dtype are meaningful."""
    return dtype.kind == "f" and dtype.itemsize in (4, 8)


def summarize_series(
    reader: EventReader,
    content: IndexContent,
    wishes: Mapping[tuple[str, int], SummaryRequest],
    rows: Sequence[WantedFile],
) -> dict[str, SeriesSummary]:
    """Summarize the values of files of the same layout.

    Args:
        reader: Reader of event files.
        content: The places of the records.
        wishes: The summary to compute of each tensor.
        rows: The files.

    Returns:
        The summaries. Values that are damaged or of an unsupported dtype are missing.
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
        with contextlib.suppress(OSError):  # read again alone, which raises the error
            is_read[number] = all(call.read(reader, row.file.event_file or "", number) for call in calls)
    steps = [row.step for row in rows]
    return {name: record.digest(steps, is_read) for name, record in records.items()}


def find_template(reader: EventReader, name: str, location: Location, file: IndexEntryFile) -> RecordTemplate | None:
    """Return the template of a record; None if the record is damaged or has an unknown layout."""
    with contextlib.suppress(OSError):  # read again alone, which raises the error
        return reader.template(file.event_file or "", location, name)
    return None
