"""Read many values at once: event files of the same layout are read together and decoded as one NumPy matrix.

The event files of a tensor's steps mostly differ in numbers only. Such files become the rows of one matrix, which is
compared as a whole with the templates of the records (`store.format.templates`). Each tensor's values are columns of
the matrix. Rows that differ from the template are decoded one by one, as `TrialReader.read` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from sagemaker_debug_ext.errors import CorruptRecordError
from sagemaker_debug_ext.store.backends.base import Buffer
from sagemaker_debug_ext.store.format.index import IndexContent, Location
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.format.templates import RecordTemplate
from sagemaker_debug_ext.store.reader import EventReader, place_of
from sagemaker_debug_ext.trials.index.entries import IndexEntryFile

Columns: TypeAlias = tuple[tuple[str, int], ...]
"""Stored name and position in a file's names, for each value to read from a file."""

_CHUNK_BYTES: Final = 2 << 20
_CHUNK_BYTES_REMOTE: Final = 16 << 20
_MAX_RECORD_BYTES: Final = 64 << 10
"""Larger values are read one by one, because decoding them costs less than another copy."""

_FEWEST_ROWS: Final = 4
_SPARSE: Final = 8
"""Records are read one by one if the span that holds them is longer than this multiple of their bytes."""


class WantedFile(NamedTuple):
    """A file to read values from, and the step under which to return them."""

    step: int
    file: IndexEntryFile


class Values(NamedTuple):
    """Values of one tensor: the steps and, in the same order, an array per step; None if it must be read alone.

    `values` may be one array with steps on the first axis.
    """

    name: str
    steps: Sequence[int]
    values: Array | Sequence[Array | None]

    def arrays(self) -> Sequence[Array | None]:
        """Return an array for each step, also of single numbers, which iteration would turn into NumPy scalars."""
        if not isinstance(self.values, np.ndarray):
            return self.values
        return [self.values[number, ...] for number in range(len(self.values))]


def read_uniform(reader: EventReader, wanted: Mapping[Columns, Sequence[WantedFile]]) -> Iterator[Values]:
    """Read values of many files.

    Args:
        reader: Reader of event files.
        wanted: The files to read, by the columns to read from them.

    Yields:
        The values, in no particular order; None for damaged or large values, which must be read one by one.
    """
    for columns, files in wanted.items():
        for content, rows in alike(files).items():
            yield from _read_rows(reader, columns, content, rows)


def alike(files: Iterable[WantedFile]) -> dict[IndexContent, list[WantedFile]]:
    """Group files by layout: names and places of their records."""
    found: dict[IndexContent, list[WantedFile]] = {}
    for wanted in files:
        found.setdefault(wanted.file.content, []).append(wanted)
    return found


def _read_rows(
    reader: EventReader, columns: Columns, content: IndexContent, rows: Sequence[WantedFile]
) -> Iterator[Values]:
    locations = [content.location(position) for _, position in columns]
    begin = min(start for start, _ in locations)
    end = max(start + length for start, length in locations)
    num_bytes = sum(length for _, length in locations)
    if max(length for _, length in locations) > _MAX_RECORD_BYTES or end - begin > _SPARSE * num_bytes + (64 << 10):
        for name, _ in columns:
            yield Values(name, [row.step for row in rows], [None] * len(rows))
        return
    chunk_bytes = _CHUNK_BYTES_REMOTE if reader.backend.is_remote else _CHUNK_BYTES
    num_rows = max(chunk_bytes // (end - begin), _FEWEST_ROWS)
    for start in range(0, len(rows), num_rows):
        chunk = rows[start : start + num_rows]
        spans = [(row.file.event_file or "", begin, end) for row in chunk]
        blocks = reader.read_spans(spans, content.end)
        yield from _take_apart(reader, columns, locations, begin, chunk, blocks)


def _take_apart(
    reader: EventReader,
    columns: Columns,
    locations: Sequence[Location],
    begin: int,
    rows: Sequence[WantedFile],
    blocks: Sequence[Buffer | OSError | None],
) -> Iterator[Values]:
    """Yield the values of rows that were read as blocks of bytes starting at `begin`."""
    length = max(start + size for start, size in locations) - begin
    sound = [
        number
        for number, block in enumerate(blocks)
        if block is not None and not isinstance(block, OSError) and len(block) == length
    ]
    for number in set(range(len(rows))) - set(sound):
        for name, _ in columns:
            yield Values(name, [rows[number].step], [None])
    if not sound:
        return
    whole = [blocks[number] for number in sound]
    steps = [rows[number].step for number in sound]
    files = [rows[number].file for number in sound]
    matrix = np.frombuffer(b"".join(whole), np.uint8).reshape(len(whole), length)  # type: ignore[arg-type]
    for (name, _), (start, size) in zip(columns, locations, strict=True):
        records = matrix[:, start - begin : start - begin + size]
        template = _template(reader, name, records, files, start) if len(whole) >= _FEWEST_ROWS else None
        if template is None:
            yield Values(
                name, steps, [_decode(reader, name, row, file, start) for row, file in zip(records, files, strict=True)]
            )
            continue
        content_begin, content_end = template.content
        fits = template.fits(records[:, :content_begin], records[:, content_end:])
        if fits.all():
            yield Values(name, steps, _contents(template, records))
            continue
        values = list(Values(name, steps, _contents(template, records)).arrays())
        for number in np.flatnonzero(~fits).tolist():
            values[number] = _decode(reader, name, records[number], files[number], start)
        yield Values(name, steps, values)


def _contents(template: RecordTemplate, records: Array) -> Array:
    begin, end = template.content
    values: Array = np.ascontiguousarray(records[:, begin:end]).view(template.dtype).reshape(-1, *template.shape)
    values.flags.writeable = False
    return values


def _template(
    reader: EventReader, name: str, records: Array, files: Sequence[IndexEntryFile], start: int
) -> RecordTemplate | None:
    where = place_of(files[0].event_file or "", start)
    record = records[0].tobytes()
    try:
        reader.decoder.decode(record, name, where)
    except CorruptRecordError:
        return None
    return reader.decoder.template(name, len(record))


def _decode(reader: EventReader, name: str, record: Array, file: IndexEntryFile, start: int) -> Array | None:
    try:
        return reader.decoder.decode(record.tobytes(), name, place_of(file.event_file or "", start))
    except CorruptRecordError:
        return None  # read again alone, which raises the error or finds the replaced record
