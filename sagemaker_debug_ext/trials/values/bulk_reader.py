"""Read many values at once: event files of the same layout are read together and decoded as one NumPy matrix.

The event files of a tensor's steps mostly differ in numbers only. Such files become the rows of one matrix, which is
compared as a whole with the templates of the records (`store.format.templates`). Each tensor's values are columns of
the matrix. Small records of different tensors that are equally long, with equally long names, form a `_Family`: they
share one template, so that a step of thousands of tensors takes a few templates only. Records that differ from the
template are decoded one by one, as `TrialReader.read` does.
"""

from __future__ import annotations

import operator
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from sagemaker_debug_ext.errors import CorruptRecordError
from sagemaker_debug_ext.store.backends.base import Buffer
from sagemaker_debug_ext.store.format.index import IndexContent
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.format.templates import RecordTemplate, encode_name
from sagemaker_debug_ext.store.reader import EventReader, place_of
from sagemaker_debug_ext.trials.index.entries import IndexEntryFile

Columns: TypeAlias = tuple[tuple[str, int], ...]
"""Stored name and position in a file's names, for each value to read from a file."""

_CHUNK_BYTES: Final = 2 << 20
_CHUNK_BYTES_REMOTE: Final = 16 << 20
_MAX_RECORD_BYTES: Final = 64 << 10
"""Larger values are read one by one, because decoding them costs less than another copy."""

_MAX_SHARED_BYTES: Final = 4 << 10
"""Larger records are compared with a template of their own tensor, without the copy that sharing one takes."""

_MAX_SHARED_TEMPLATES: Final = 16
"""Limit of the templates for a family, whose tensors may differ in dtype or shape."""

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


class _Family(NamedTuple):
    """Columns whose records are equally long and have equally long names.

    Args:
        names: Stored names.
        encoded: ``(N, bytes)``: the names as in the records.
        starts: ``(N,)``: where the records start in the event file.
        length: Length of each record.
    """

    names: tuple[str, ...]
    encoded: Array
    starts: Array
    length: int

    def without(self, done: Array) -> _Family:
        """Return the columns at which `done` is false."""
        rest = np.flatnonzero(~done)
        names = tuple(self.names[number] for number in rest.tolist())
        return _Family(names, self.encoded[rest], self.starts[rest], self.length)


def _group(columns: Columns, starts: Sequence[int], lengths: Sequence[int]) -> Iterator[_Family]:
    members: dict[tuple[int, int], tuple[list[str], list[bytes], list[int]]] = {}
    for (name, _), start, length in zip(columns, starts, lengths, strict=True):
        encoded = encode_name(name)
        key = (length, len(encoded))
        found = members.get(key)
        if found is None:
            found = members[key] = ([], [], [])
        found[0].append(name)
        found[1].append(encoded)
        found[2].append(start)
    for (length, num_bytes), (names, encoded_names, places) in members.items():
        encoded_array = np.frombuffer(b"".join(encoded_names), np.uint8).reshape(len(names), num_bytes)
        yield _Family(tuple(names), encoded_array, np.array(places, np.intp), length)


class _Chunk(NamedTuple):
    """Event files of one layout, read together.

    Args:
        steps: The steps under which to return the values.
        files: The index entries of the files.
        matrix: ``(rows, bytes)``, uint8: the same part of each file.
        begin: Where the part begins in the files.
    """

    steps: Sequence[int]
    files: Sequence[IndexEntryFile]
    matrix: Array
    begin: int

    def records(self, start: int, length: int) -> Array:
        """Return the records at one place of the files, one per row."""
        return self.matrix[:, start - self.begin : start - self.begin + length]

    def gather(self, family: _Family) -> Array:
        """Return a copy of the records of a family as ``(rows, N, bytes)``."""
        windows = np.lib.stride_tricks.sliding_window_view(self.matrix, family.length, axis=1)
        records: Array = windows[:, family.starts - self.begin]
        return records


def _read_rows(
    reader: EventReader, columns: Columns, content: IndexContent, rows: Sequence[WantedFile]
) -> Iterator[Values]:
    places = content.places
    starts = [places[2 * position] for _, position in columns]
    lengths = [places[2 * position + 1] for _, position in columns]
    begin, end = min(starts), max(map(operator.add, starts, lengths))
    if max(lengths) > _MAX_RECORD_BYTES or end - begin > _SPARSE * sum(lengths) + (64 << 10):
        for name, _ in columns:
            yield Values(name, [row.step for row in rows], [None] * len(rows))
        return
    families = list(_group(columns, starts, lengths))
    chunk_bytes = _CHUNK_BYTES_REMOTE if reader.backend.is_remote else _CHUNK_BYTES
    num_rows = max(chunk_bytes // (end - begin), _FEWEST_ROWS)
    for start in range(0, len(rows), num_rows):
        chunk = rows[start : start + num_rows]
        spans = [(row.file.event_file or "", begin, end) for row in chunk]
        blocks = reader.read_spans(spans, content.end)
        yield from _take_apart(reader, families, chunk, blocks, begin, end - begin)


def _take_apart(
    reader: EventReader,
    families: Sequence[_Family],
    rows: Sequence[WantedFile],
    blocks: Sequence[Buffer | OSError | None],
    begin: int,
    length: int,
) -> Iterator[Values]:
    """Yield the values of rows that were read as blocks of bytes starting at `begin`."""
    sound = [
        number
        for number, block in enumerate(blocks)
        if block is not None and not isinstance(block, OSError) and len(block) == length
    ]
    for number in set(range(len(rows))) - set(sound):
        for family in families:
            for name in family.names:
                yield Values(name, [rows[number].step], [None])
    if not sound:
        return
    joined = b"".join([blocks[number] for number in sound])  # type: ignore[misc]
    chunk = _Chunk(
        [rows[number].step for number in sound],
        [rows[number].file for number in sound],
        np.frombuffer(joined, np.uint8).reshape(len(sound), length),
        begin,
    )
    for family in families:
        yield from _decode_family(reader, family, chunk)


def _decode_family(reader: EventReader, family: _Family, chunk: _Chunk) -> Iterator[Values]:
    """Yield the values of a family, by shared templates if that needs fewer templates than tensors."""
    rest = family
    if family.length <= _MAX_SHARED_BYTES:
        for _ in range(_MAX_SHARED_TEMPLATES):
            if len(rest.names) < 2 or len(rest.names) * len(chunk.steps) < _FEWEST_ROWS:
                break
            rest = yield from _decode_together(reader, rest, chunk)
    for name, start in zip(rest.names, rest.starts.tolist(), strict=True):
        yield _decode_column(reader, name, chunk, start, rest.length)


def _decode_together(reader: EventReader, family: _Family, chunk: _Chunk) -> Generator[Values, None, _Family]:
    """Yield the values of all tensors whose records match the template of the first; return the other tensors."""
    name, start = family.names[0], int(family.starts[0])
    template = _template(reader, name, chunk.records(start, family.length), chunk.files, start)
    shared = None if template is None else template.shared(name)
    done = np.zeros(len(family.names), np.bool_)
    done[0] = True
    if shared is None:
        yield _decode_column(reader, name, chunk, start, family.length)
        return family.without(done)
    records = chunk.gather(family)
    fits = shared.fits(records, family.encoded)
    done |= fits.any(axis=0)
    columns = np.flatnonzero(done)
    fits = fits[:, columns].T
    values = _contents(shared.template, records[:, columns].swapaxes(0, 1))
    is_whole = fits.all(axis=1).tolist()
    for place, column in enumerate(columns.tolist()):
        group = Values(family.names[column], chunk.steps, values[place])
        if not is_whole[place]:
            group = _replace_unfit(reader, group, chunk, fits[place], int(family.starts[column]), family.length)
        yield group
    return family.without(done)


def _decode_column(reader: EventReader, name: str, chunk: _Chunk, start: int, length: int) -> Values:
    """Return the values of one tensor, by a template of its own if there are enough rows."""
    records = chunk.records(start, length)
    template = _template(reader, name, records, chunk.files, start) if len(records) >= _FEWEST_ROWS else None
    if template is None:
        decoded = [_decode(reader, name, row, file, start) for row, file in zip(records, chunk.files, strict=True)]
        return Values(name, chunk.steps, decoded)
    fits = template.fits(*_around(template, records))
    group = Values(name, chunk.steps, _contents(template, records))
    return group if fits.all() else _replace_unfit(reader, group, chunk, fits, start, length)


def _replace_unfit(reader: EventReader, group: Values, chunk: _Chunk, fits: Array, start: int, length: int) -> Values:
    """Return values with those of the rows that differ from the template decoded one by one."""
    values = list(group.arrays())
    records = chunk.records(start, length)
    for row in np.flatnonzero(~fits).tolist():
        values[row] = _decode(reader, group.name, records[row], chunk.files[row], start)
    return Values(group.name, group.steps, values)


def _contents(template: RecordTemplate, records: Array) -> Array:
    """Return the values in records of shape ``(..., bytes)``, read-only, with the shape of a value after ``...``."""
    begin, end = template.content
    contents: Array = np.ascontiguousarray(records[..., begin:end]).view(template.dtype)
    values = contents.reshape(*records.shape[:-1], *template.shape)
    values.flags.writeable = False
    return values


def _template(
    reader: EventReader, name: str, records: Array, files: Sequence[IndexEntryFile], start: int
) -> RecordTemplate | None:
    """Return the template of some records, which the first of them matches; None if that is damaged."""
    num_bytes = records.shape[1]
    known = reader.decoder.template(name, num_bytes)
    if known is not None and known.fits(*_around(known, records[:1])).all():
        return known
    try:
        reader.decoder.decode(records[0].tobytes(), name, place_of(files[0].event_file or "", start))
    except CorruptRecordError:
        return None
    return reader.decoder.template(name, num_bytes)


def _around(template: RecordTemplate, records: Array) -> tuple[Array, Array]:
    """Return the bytes of records before and after the content."""
    begin, end = template.content
    return records[:, :begin], records[:, end:]


def _decode(reader: EventReader, name: str, record: Array, file: IndexEntryFile, start: int) -> Array | None:
    try:
        return reader.decoder.decode(record.tobytes(), name, place_of(file.event_file or "", start))
    except CorruptRecordError:
        return None  # read again alone, which raises the error or finds the replaced record
