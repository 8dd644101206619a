"""`TensorSeries`: the values of one tensor at the steps of a block, in chunks of the same shape and type."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext._row_sums import row_dots
from sagemaker_debug_ext.rules.reading.numeric import Array, is_numeric
from sagemaker_debug_ext.trials.values.series_summary import SeriesSummary
from sagemaker_debug_ext.vocabulary import ModeKeys

ModeStep: TypeAlias = tuple[ModeKeys, "int | None"]
"""A mode, and a step counted within it."""

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Positions: TypeAlias = npt.NDArray[np.intp]

_SAMPLE: Final = 1024
"""Number of leading elements in `SeriesChunk.sample`."""

_TINY: Final = 1e-30
"""Below this mean square, squares of single elements may have underflowed in single precision."""


class Chunk(Protocol):
    """Values of one shape and type at some steps of a block, or a summary of them."""

    @property
    def positions(self) -> Positions:
        """Positions of the steps in the block, ascending."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one value."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""

    @property
    def flat(self) -> Array | None:
        """``(N, M)``: all elements of each value; None if the values were not kept."""

    @property
    def leading(self) -> Array:
        """``(N, R, ...)``: the first entries along the first axis of each value."""

    @property
    def sample(self) -> Array:
        """``(N, K)``: elements at the same K places of each value."""

    @property
    def sums(self) -> Floats:
        """``(N,)``: sums of the elements; NaN for types whose sums are not precise enough."""

    @property
    def square_sums(self) -> Floats:
        """``(N,)``: sums of the squared elements; NaN as for `sums`."""

    @property
    def num_bytes(self) -> int:
        """Size in memory."""

    def rows(self, chosen: Sequence[bool] | slice) -> Chunk:
        """Return the chunk of the chosen values."""

    def last(self) -> Chunk:
        """Return the chunk of the last value; it does not hold the memory of the others."""


class SeriesChunk(NamedTuple):
    """A `Chunk` that holds the values.

    Args:
        positions: Positions of the steps in the block, ascending.
        values: ``(N, ...)``: the values, in the same order.
    """

    positions: Positions
    values: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one value."""
        return self.values.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self.values.dtype

    @property
    def flat(self) -> Array:
        """``(N, M)``: all elements of each value."""
        return self.values.reshape(len(self.positions), -1)

    @property
    def leading(self) -> Array:
        """The values themselves, with all entries along their first axis."""
        return self.values

    @property
    def sample(self) -> Array:
        """The first elements of each value."""
        return self.flat[:, :_SAMPLE]

    @property
    def sums(self) -> Floats:
        """Sums of the elements; NaN for integers and booleans."""
        kind = self.dtype.kind
        if kind not in "fc":
            return np.full(len(self.positions), np.nan)
        values = self.flat.view(self.values.real.dtype) if kind == "c" else self.flat
        if values.dtype.itemsize >= 4:
            return row_dots(values, None)
        found: Floats = np.add.reduce(values, axis=1, dtype=np.float32).astype(np.float64)
        return found

    @property
    def square_sums(self) -> Floats:
        """Sums of the squared elements; NaN for types other than float32 and float64."""
        return square_sums(self.flat)

    @property
    def num_bytes(self) -> int:
        """Size in memory."""
        return self.values.nbytes

    def rows(self, chosen: Sequence[bool] | slice) -> SeriesChunk:
        """Return the chunk of the chosen values."""
        return SeriesChunk(self.positions[chosen], self.values[chosen])

    def last(self) -> SeriesChunk:
        """Return the chunk of the last value, copied so that it does not hold the memory of the others."""
        return self if len(self.positions) == 1 else SeriesChunk(self.positions[-1:], self.values[-1:].copy())


class SummarizedChunk(NamedTuple):
    """A `Chunk` of large values, which were summarized while they were streamed and not kept.

    Args:
        positions: Positions of the steps in the block, ascending.
        summary: The summary of the values, in the same order.
    """

    positions: Positions
    summary: SeriesSummary

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one value."""
        return self.summary.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self.summary.sample.dtype

    @property
    def flat(self) -> None:
        """None, because the values were not kept."""

    @property
    def leading(self) -> Array:
        """As many of the first entries along the first axis as were requested."""
        return self.summary.leading

    @property
    def sample(self) -> Array:
        """Elements from all over each value."""
        return self.summary.sample

    @property
    def sums(self) -> Floats:
        """Sums of the elements."""
        return self.summary.sums

    @property
    def square_sums(self) -> Floats:
        """Sums of the squared elements."""
        return self.summary.square_sums

    @property
    def num_bytes(self) -> int:
        """Size in memory."""
        return self.summary.leading.nbytes + self.summary.sample.nbytes

    def rows(self, chosen: Sequence[bool] | slice) -> SummarizedChunk:
        """Return the summary of the chosen values."""
        return SummarizedChunk(self.positions[chosen], self.summary.rows(chosen))

    def last(self) -> SummarizedChunk:
        """Return the summary of the last value."""
        return self.rows([False] * (len(self.positions) - 1) + [True])


class TensorSeries:
    """One tensor at the steps of a block: values of the default worker, and statistics that several rules use.

    Arrays have one element for each value, in the order of `positions`. Statistics are computed once, in the precision
    of the tensor's type; `reading.bounds` turns them into proofs.

    Args:
        name: The tensor.
        chunks: The values. Empty ones and those of types that are not numeric are left out.
        modes: Mode and step within the mode, by position.
        is_complete: Whether the chunks hold every value that was saved at these steps.
        before: Series of the value saved right before; None if unknown.
        sums: The sums, if they are known already.
        square_sums: The sums of squares, if they are known already.

    Attributes:
        chunks: The values, in the order of the steps.
    """

    def __init__(
        self,
        name: str,
        chunks: Sequence[Chunk],
        modes: Mapping[int, ModeStep],
        *,
        is_complete: bool = True,
        before: TensorSeries | None = None,
        sums: Floats | None = None,
        square_sums: Floats | None = None,
    ) -> None:
        usable = [
            chunk for chunk in chunks if len(chunk.positions) and 0 not in chunk.shape and is_numeric(chunk.dtype)
        ]
        self.name = name
        self.chunks = _in_order(usable)
        self.before = before
        self._modes = modes
        self._is_complete = is_complete and len(usable) == len(chunks)
        self._sums = sums
        self._square_sums = square_sums
        self._values: dict[int, Array] | None = None

    @functools.cached_property
    def positions(self) -> Positions:
        """Positions of the values' steps in the block, ascending."""
        return np.concatenate([chunk.positions for chunk in self.chunks]) if self.chunks else np.empty(0, np.intp)

    def value(self, position: int) -> Array | None:
        """Return the value at a position of the block; None if it is not in memory."""
        if self._values is None:
            self._values = {}
            for chunk in self.chunks:
                if isinstance(chunk, SeriesChunk):
                    self._values.update(zip(chunk.positions.tolist(), chunk.values, strict=True))
        return self._values.get(position)

    @property
    def uniform(self) -> SeriesChunk | None:
        """All values in one chunk; None unless all are in memory and have the same shape and type."""
        kept = [chunk for chunk in self.chunks if isinstance(chunk, SeriesChunk)]
        if len(kept) < len(self.chunks) or len({(chunk.shape, chunk.dtype) for chunk in kept}) != 1:
            return None
        if len(kept) == 1:
            return kept[0]
        return SeriesChunk(self.positions, np.concatenate([chunk.values for chunk in kept]))

    def are_of(self, mode: ModeKeys) -> Flags:
        """Return which values were saved at steps of a mode."""
        return np.array([self._modes[position][0] is mode for position in self.positions.tolist()], np.bool_)

    def of_mode(self, mode: ModeKeys) -> TensorSeries:
        """Return the series of the values saved at steps of a mode."""
        chunks = []
        for chunk in self.chunks:
            chosen = [self._modes[position][0] is mode for position in chunk.positions.tolist()]
            if all(chosen):
                chunks.append(chunk)
            elif any(chosen):
                chunks.append(chunk.rows(chosen))
        before = self.before
        if before is not None and (before.last_mode is None or before.last_mode[0] is not mode):
            before = None
        return TensorSeries(self.name, chunks, self._modes, is_complete=self._is_complete, before=before)

    @property
    def num_bytes(self) -> int:
        """Size in memory."""
        return sum(chunk.num_bytes for chunk in self.chunks)

    @property
    def last_mode(self) -> ModeStep | None:
        """Mode of the last value's step, and its number in the mode; None without values."""
        return self._modes[int(self.positions[-1])] if len(self.positions) else None

    def only_last(self) -> TensorSeries:
        """Return the series of the last value; sums that are known already are not computed again."""
        return TensorSeries(
            self.name,
            [chunk.last() for chunk in self.chunks[-1:]],
            self._modes,
            is_complete=self._is_complete,
            sums=None if self._sums is None else self._sums[-1:],
            square_sums=None if self._square_sums is None else self._square_sums[-1:],
        )

    def only_at(self, positions: Container[int]) -> TensorSeries:
        """Return the series of the values at these positions that are in memory."""
        chunks = []
        for chunk in self.chunks:
            chosen = [position in positions for position in chunk.positions.tolist()]
            if isinstance(chunk, SeriesChunk) and any(chosen):
                chunks.append(chunk if all(chosen) else chunk.rows(chosen))
        return TensorSeries(self.name, chunks, self._modes, is_complete=False)

    @functools.cached_property
    def is_gapless(self) -> bool:
        """Whether all values, with the one before if it is known, are of one mode and none between them is missing."""
        modes = [self._modes[position] for position in self.positions.tolist()]
        if self.before is not None and self.before.last_mode is not None:
            modes.insert(0, self.before.last_mode)
        steps = [step for _, step in modes if step is not None]
        ascends = len(steps) == len(modes) and all(a < b for a, b in itertools.pairwise(steps))
        return self._is_complete and ascends and len({mode for mode, _ in modes}) == 1

    @property
    def num_before(self) -> int:
        """Number of known values that precede the first one without a gap."""
        before = self.before
        return 0 if before is None or not before.is_gapless else len(before.positions) + before.num_before

    @functools.cached_property
    def sizes(self) -> Floats:
        """Number of elements."""
        return self.concatenate(lambda chunk: np.full(len(chunk.positions), float(math.prod(chunk.shape))))

    @property
    def sums(self) -> Floats:
        """Sums of the elements, as precise as the tensor's type; NaN for types whose sums are not precise enough."""
        if self._sums is None:
            self._sums = self.concatenate(lambda chunk: chunk.sums)
        return self._sums

    @property
    def square_sums(self) -> Floats:
        """Sums of the squared elements, in the range of the tensor's type; NaN as for `sums`."""
        if self._square_sums is None:
            self._square_sums = self.concatenate(lambda chunk: chunk.square_sums)
        return self._square_sums

    @functools.cached_property
    def mean_squares(self) -> Floats:
        """Means of the squared elements, within a tenth of `bounds.MARGIN`; NaN where that precision is not reached."""
        return precise_mean_squares(self.square_sums / self.sizes)

    def concatenate(self, function: Callable[[Chunk], Floats]) -> Floats:
        """Return the results of a function of a chunk, which has one element for each value."""
        return np.concatenate([function(chunk) for chunk in self.chunks]) if self.chunks else np.empty(0)


def _in_order(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks in the order of the steps; chunks whose steps alternate are split."""
    ordered = sorted(chunks, key=lambda chunk: int(chunk.positions[0]))
    if all(chunk.positions[-1] < later.positions[0] for chunk, later in itertools.pairwise(ordered)):
        return ordered
    places = sorted(
        (position, number, row)
        for number, chunk in enumerate(ordered)
        for row, position in enumerate(chunk.positions.tolist())
    )
    runs = [list(run) for _, run in itertools.groupby(places, key=operator.itemgetter(1))]
    return [ordered[run[0][1]].rows(slice(run[0][2], run[-1][2] + 1)) for run in runs]


def square_sums(flat: Array) -> Floats:
    """Return the sum of the squares of each row; NaN for types other than float32 and float64."""
    return row_dots(flat, flat) if is_precise(flat.dtype) else np.full(len(flat), np.nan)


def is_precise(dtype: np.dtype[Any]) -> bool:
    """Return whether arithmetic in a type's own precision is precise enough for bounds."""
    return dtype.kind == "f" and dtype.itemsize >= 4


def precise_mean_squares(mean_squares: Floats) -> Floats:
    """Return mean squares with NaN in place of those that overflow or underflow may have distorted."""
    return np.where(np.isfinite(mean_squares) & (mean_squares > _TINY), mean_squares, np.nan)
