"""One tensor at many steps, and what can be told of all of them at once: `TensorSeries`.

Most steps of most jobs are sound, and that is cheaper to prove than a statistic is to compute: one pass in the tensor's
own precision bounds its mean, its variance and its norm closely enough. What is not proved is evaluated step by step,
in double precision, as ever; so nothing here changes what a rule finds.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.reading.numeric import Array, is_numeric
from sagemaker_debug_ext.trials.values.series_summary import SeriesSummary, row_dots
from sagemaker_debug_ext.vocabulary import ModeKeys

NOTHING: Final = 0
"""There is nothing that the rule could evaluate."""
CLEAR: Final = 1
"""The rule finds nothing at the step."""
UNSURE: Final = 2
"""The rule has to evaluate the step."""

Screening: TypeAlias = npt.NDArray[np.int8]
"""What is known of each of some steps before they are evaluated: `CLEAR`, `NOTHING` or `UNSURE`."""

ModeStep: TypeAlias = tuple[ModeKeys, "int | None"]
"""A mode, and a step counted within it."""

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

MARGIN: Final = 1e-2
"""Relative error that bounds allow for; those of `TensorSeries` are ten times better."""

_SAMPLE: Final = 1024
"""How many elements are looked at first where few may do."""

_CHUNK: Final = 2**15
"""Elements of differences that are made at a time, so that they stay in the processor's cache."""

_TINY: Final = 1e-30
"""A mean square below this may have lost elements whose squares are too small for single precision."""


class SeriesChunk(NamedTuple):
    """Values of the same shape and type: at which positions of the block, and the values, the first axis being those.

    Both are ascending in the steps.
    """

    positions: npt.NDArray[np.intp]
    values: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of each value."""
        return self.values.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self.values.dtype

    @property
    def flat(self) -> Array:
        """The values with one axis for the steps and one for the elements."""
        return self.values.reshape(len(self.positions), -1)

    @property
    def leading(self) -> Array:
        """Entries along the first axis of each value, from the first one on."""
        return self.values

    @property
    def sample(self) -> Array:
        """Some elements of each value."""
        return self.flat[:, :_SAMPLE]

    @property
    def sums(self) -> Floats:
        """Sums of the values' elements."""
        return _sums(self)

    @property
    def square_sums(self) -> Floats:
        """Sums of their squares."""
        return _square_sums(self.flat)

    @property
    def num_bytes(self) -> int:
        """Memory that is held."""
        return self.values.nbytes

    def rows(self, chosen: Sequence[bool] | slice) -> SeriesChunk:
        """Return the values at some of the positions."""
        return SeriesChunk(self.positions[chosen], self.values[chosen])

    def last(self) -> SeriesChunk:
        """Return the last value, which does not keep the memory of the others."""
        return self if len(self.positions) == 1 else SeriesChunk(self.positions[-1:], self.values[-1:].copy())


class SummarizedChunk(NamedTuple):
    """What is left of values of the same shape and type that were not kept; otherwise as `SeriesChunk`."""

    positions: npt.NDArray[np.intp]
    digest: SeriesSummary

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of each value."""
        return self.digest.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self.digest.sample.dtype

    @property
    def flat(self) -> None:
        """Nothing, as the values were not kept."""

    @property
    def leading(self) -> Array:
        """Entries along the first axis of each value, from the first one on."""
        return self.digest.leading

    @property
    def sample(self) -> Array:
        """Some elements of each value."""
        return self.digest.sample

    @property
    def sums(self) -> Floats:
        """Sums of the values' elements."""
        return self.digest.sums

    @property
    def square_sums(self) -> Floats:
        """Sums of their squares."""
        return self.digest.square_sums

    @property
    def num_bytes(self) -> int:
        """Memory that is held."""
        return self.digest.leading.nbytes + self.digest.sample.nbytes

    def rows(self, chosen: Sequence[bool] | slice) -> SummarizedChunk:
        """Return what is left of the values at some of the positions."""
        return SummarizedChunk(self.positions[chosen], self.digest.rows(chosen))

    def last(self) -> SummarizedChunk:
        """Return what is left of the last value."""
        return self.rows([False] * (len(self.positions) - 1) + [True])


class TensorSeries:
    """One tensor at some steps of a block: the values of the default worker, and bounds of their statistics.

    Everything that returns an array returns an element for each value, in the order of `positions`.

    Args:
        name: The tensor.
        parts: The values. What is empty or no number is no value.
        modes: Mode and step within it, by position.
        is_complete: Whether no value is missing that was saved at a step in between.
        before: The column of the values saved right before, if that is known.
    """

    def __init__(
        self,
        name: str,
        parts: Sequence[SeriesChunk | SummarizedChunk],
        modes: Mapping[int, ModeStep],
        *,
        is_complete: bool = True,
        before: TensorSeries | None = None,
    ) -> None:
        self.name = name
        self._modes = modes
        self._before = before
        usable = [part for part in parts if len(part.positions) and 0 not in part.shape and is_numeric(part.dtype)]
        self._parts = _in_order(usable)
        self._is_complete = is_complete and len(usable) == len(parts)
        self._places: dict[int, tuple[Array, int]] | None = None

    @functools.cached_property
    def positions(self) -> npt.NDArray[np.intp]:
        """Which steps of the block the values belong to, ascending."""
        return np.concatenate([part.positions for part in self._parts]) if self._parts else np.empty(0, np.intp)

    def value(self, position: int) -> Array | None:
        """Return the value at one step of the block; None if none is kept."""
        if self._places is None:
            self._places = {
                each: (part.values, row)
                for part in self._parts
                if isinstance(part, SeriesChunk)
                for row, each in enumerate(part.positions.tolist())
            }
        place = self._places.get(position)
        return None if place is None else place[0][place[1]]

    @property
    def alike(self) -> SeriesChunk | None:
        """All values together, if they are kept and of one shape and type."""
        kept = [part for part in self._parts if isinstance(part, SeriesChunk)]
        if len(kept) < len(self._parts) or len({(part.shape, part.dtype) for part in kept}) != 1:
            return None
        return (
            kept[0] if len(kept) == 1 else SeriesChunk(self.positions, np.concatenate([part.values for part in kept]))
        )

    def are_of(self, mode: ModeKeys) -> Flags:
        """Whether the steps are of a mode."""
        return np.array([self._modes[each][0] is mode for each in self.positions.tolist()], np.bool_)

    def of_mode(self, mode: ModeKeys) -> TensorSeries:
        """Return the values of the steps of one mode."""
        parts = []
        for part in self._parts:
            chosen = [self._modes[each][0] is mode for each in part.positions.tolist()]
            if all(chosen):
                parts.append(part)
            elif any(chosen):
                parts.append(part.rows(chosen))
        before = self._before
        if before is not None and (before.last_mode is None or before.last_mode[0] is not mode):
            before = None
        return TensorSeries(self.name, parts, self._modes, is_complete=self._is_complete, before=before)

    @property
    def num_bytes(self) -> int:
        """Size of the values."""
        return sum(part.num_bytes for part in self._parts)

    @property
    def last_mode(self) -> ModeStep | None:
        """Mode of the last value's step, and its number in it; None without values."""
        return self._modes[int(self.positions[-1])] if len(self.positions) else None

    @property
    def last_part(self) -> SeriesChunk | SummarizedChunk | None:
        """What holds the last value; None without values."""
        return self._parts[-1] if self._parts else None

    def only_last(self) -> TensorSeries:
        """Return a column of the last value alone, which knows what is known of it already."""
        parts = [part.last() for part in self._parts[-1:]]
        last = TensorSeries(self.name, parts, self._modes, is_complete=self._is_complete)
        for name in ("square_sums", "sums"):
            if name in vars(self):
                vars(last)[name] = vars(self)[name][-1:]
        return last

    def only_at(self, positions: Container[int]) -> TensorSeries:
        """Return a column of those values at some positions that are kept."""
        parts = []
        for part in self._parts:
            chosen = [each in positions for each in part.positions.tolist()]
            if isinstance(part, SeriesChunk) and any(chosen):
                parts.append(part if all(chosen) else part.rows(chosen))
        return TensorSeries(self.name, parts, self._modes, is_complete=False)

    @functools.cached_property
    def is_gapless(self) -> bool:
        """Whether the values follow each other in one mode, and those before, if they are known."""
        modes = [self._modes[each] for each in self.positions.tolist()]
        if self._before is not None and self._before.last_mode is not None:
            modes.insert(0, self._before.last_mode)
        steps = [step for _, step in modes if step is not None]
        ascends = len(steps) == len(modes) and all(a < b for a, b in itertools.pairwise(steps))
        return self._is_complete and ascends and len({mode for mode, _ in modes}) == 1

    @property
    def num_before(self) -> int:
        """How many values without a gap before the first one are known of."""
        before = self._before
        return 0 if before is None or not before.is_gapless else len(before.positions) + before.num_before

    def all_undecided(self) -> Screening:
        """Return that nothing is known."""
        return np.full(len(self.positions), UNSURE, np.int8)

    def pass_where(self, proved: Flags) -> Screening:
        """Return `CLEAR` where something is proved, and `UNSURE` elsewhere."""
        return np.where(proved, CLEAR, UNSURE).astype(np.int8)

    # --- bounds ------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def sizes(self) -> Floats:
        """Number of elements."""
        return self._of_parts(lambda part: np.full(len(part.positions), float(math.prod(part.shape))))

    @functools.cached_property
    def sums(self) -> Floats:
        """Sums, about as precise as the tensor's type; NaN for types whose sums say nothing here."""
        return self._of_parts(lambda part: part.sums)

    @functools.cached_property
    def are_finite(self) -> Flags:
        """Whether every element is finite for certain."""
        found: Flags = np.isfinite(self.square_sums)
        if not found.all():  # the squares may be too large
            found = found | np.isfinite(self.sums) | self._flags_of_parts(lambda part: part.dtype.kind in "biu")
        return found

    @functools.cached_property
    def square_sums(self) -> Floats:
        """Sums of the squares, as far as the tensor's type can hold them; NaN for types whose sums say nothing."""
        return self._of_parts(lambda part: part.square_sums)

    @functools.cached_property
    def mean_squares(self) -> Floats:
        """Means of the squares, within a tenth of `MARGIN`; NaN where they cannot be told so."""
        return _usable(self.square_sums / self.sizes)

    @functools.cached_property
    def some_non_zero(self) -> Floats:
        """How many elements are not 0 at least."""
        return self._of_parts(lambda part: np.count_nonzero(part.sample, axis=1).astype(np.float64))

    def have_mean_abs_above(self, limit: float) -> Flags:
        """Tell whether the mean of the absolute values is finite and above `limit` for certain."""
        enough = limit * (1 + MARGIN) * self.sizes
        proved = self._of_parts(lambda part: _abs_sums(part.sample)) > enough
        if not proved.all():  # the first elements do not tell, as those of an embedding seldom do
            proved |= self._of_parts(lambda part: _abs_sums(part.sample if part.flat is None else part.flat)) > enough
        return proved & self.are_finite

    def have_active_units(
        self, is_active: Callable[[Array], Flags], threshold_inactivity: float, threshold_layer: float
    ) -> Flags:
        """Tell where the first samples show that enough units of a layer are active.

        Args:
            is_active: Tells which elements are.
            threshold_inactivity: A unit has to be active in that percentage of the samples, the first axis.
            threshold_layer: Percentage of the units that need not be.
        """
        return np.concatenate(
            [_have_active_units(part, is_active, threshold_inactivity, threshold_layer) for part in self._parts]
        )

    def have_update_ratio_within(self, low: float, high: float, epsilon: float) -> Flags:
        """Tell where the norm of the change since the value before lies within two limits for certain.

        Args:
            low: Limit below, of the change relative to the norm before and `epsilon`.
            high: Limit above.
            epsilon: Added to the norm that is divided by.
        """
        before = [np.full(1, np.nan)] if self._before is None else [self._before.mean_squares[-1:]]
        norms = np.sqrt(np.concatenate([*before, self.mean_squares])[: len(self.sizes)] * self.sizes)
        # no change is larger than what was and what is together; that most are not tiny, few elements show
        proved = (np.sqrt(self.mean_squares * self.sizes) + norms) * (1 + MARGIN) < high * (norms + epsilon)
        enough = low * (1 + MARGIN) * (norms + epsilon)
        for is_whole in (False, True):
            changes = [_square_sums_of_changes(*pair) for pair in self._pairs(is_whole)]
            is_large_enough: Flags = np.sqrt(np.concatenate(changes)) * (1 - MARGIN) > enough
            if (is_large_enough | ~proved).all():
                break
        return proved & is_large_enough

    def differ_from_the_one_before(self, atol: float, rtol: float) -> Flags:
        """Tell whether an element differs from the value before for certain, by more than the tolerance."""
        return np.concatenate([_differ(later, earlier, atol, rtol) for later, earlier in self._pairs(is_whole=False)])

    def _pairs(self, is_whole: bool) -> Iterator[tuple[Array, Array | None]]:
        """Yield rows and those before them; None for one that has none, or none of the same shape and type.

        Args:
            is_whole: All elements, as far as they were kept; otherwise the same ones of all rows.
        """
        last = None if self._before is None else self._before.last_part
        for part in self._parts:
            flat = part.flat if is_whole and part.flat is not None else part.sample
            earlier = None
            if last is not None and (type(last), last.shape, last.dtype) == (type(part), part.shape, part.dtype):
                earlier = (last.flat if is_whole and last.flat is not None else last.sample)[-1:]
            yield flat[:1], earlier
            if len(flat) > 1:
                yield flat[1:], flat[:-1]
            last = part

    def _flags_of_parts(self, function: Callable[[SeriesChunk | SummarizedChunk], bool]) -> Flags:
        flags = [np.full(len(part.positions), function(part)) for part in self._parts]
        return np.concatenate(flags) if flags else np.empty(0, np.bool_)

    def _of_parts(self, function: Callable[[SeriesChunk | SummarizedChunk], Floats]) -> Floats:
        return np.concatenate([function(part) for part in self._parts]) if self._parts else np.empty(0)


def _in_order(parts: Sequence[SeriesChunk | SummarizedChunk]) -> list[SeriesChunk | SummarizedChunk]:
    """Return the values in the order of the steps: in more parts, where files that are laid out in turns mix them."""
    found = sorted(parts, key=lambda part: int(part.positions[0]))
    if all(part.positions[-1] < later.positions[0] for part, later in itertools.pairwise(found)):
        return found
    places = sorted(
        (position, number, row)
        for number, part in enumerate(found)
        for row, position in enumerate(part.positions.tolist())
    )
    runs = [list(run) for _, run in itertools.groupby(places, key=operator.itemgetter(1))]
    return [found[run[0][1]].rows(slice(run[0][2], run[-1][2] + 1)) for run in runs]


def num_telling_samples(threshold_inactivity: float, num_samples: int) -> int:
    """Return how many of a layer's samples `TensorSeries.have_active_units` looks at, at most."""
    return max(8, 4 * math.ceil(threshold_inactivity * num_samples / 100))


def _have_active_units(
    part: SeriesChunk | SummarizedChunk,
    is_active: Callable[[Array], Flags],
    threshold_inactivity: float,
    threshold_layer: float,
) -> Flags:
    none = np.zeros(len(part.positions), np.bool_)
    num_samples = part.shape[0] if part.shape else 1
    enough = num_telling_samples(threshold_inactivity, num_samples)
    if num_samples < 2 or enough > np.iinfo(np.uint8).max or part.leading.shape[1] < min(enough, num_samples):
        return none
    flags = is_active(part.leading[:, :enough])
    active = np.add.reduce(flags.view(np.uint8), axis=1, dtype=np.uint8)
    inactive = (100.0 * active / num_samples < threshold_inactivity).reshape(len(none), -1)
    found: Flags = 100.0 * np.count_nonzero(inactive, axis=1) / inactive.shape[1] <= threshold_layer
    return found


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Tell whether arithmetic in a type's own precision is precise enough for bounds."""
    return dtype.kind == "f" and dtype.itemsize >= 4


def _unknown(part: SeriesChunk) -> Floats:
    return np.full(len(part.positions), np.nan)


def _sums(part: SeriesChunk) -> Floats:
    kind = part.dtype.kind
    if kind not in "fc":
        return _unknown(part)
    values = part.flat.view(part.values.real.dtype) if kind == "c" else part.flat
    if values.dtype.itemsize >= 4:
        return row_dots(values, None)
    found: Floats = np.add.reduce(values, axis=1, dtype=np.float32).astype(np.float64)
    return found


def _square_sums(flat: Array) -> Floats:
    if flat.dtype.kind != "f" or flat.dtype.itemsize < 4:
        return np.full(len(flat), np.nan)
    return row_dots(flat, flat)


def _usable(mean_squares: Floats) -> Floats:
    """Return mean squares, NaN in place of those that may be far off."""
    return np.where(np.isfinite(mean_squares) & (mean_squares > _TINY), mean_squares, np.nan)


def _abs_sums(flat: Array) -> Floats:
    if not _is_plain(flat.dtype):
        return np.full(len(flat), np.nan)
    found: Floats = np.add.reduce(np.abs(flat), axis=1).astype(np.float64)
    return found


def _square_sums_of_changes(flat: Array, earlier: Array | None) -> Floats:
    """Return the sum of squares of the difference of each row to an earlier one; NaN where it cannot be told so.

    Args:
        flat: The rows.
        earlier: As many rows, each earlier than one of the former; None for rows that have none.
    """
    size = flat.shape[1]
    if earlier is None or not _is_plain(flat.dtype):
        return np.full(len(flat), np.nan)
    total = np.zeros(len(flat))
    num_rows = max(_CHUNK // size, 1)
    for row in range(0, len(flat), num_rows):
        rows = slice(row, row + num_rows)
        for start in range(0, size, _CHUNK):
            columns = slice(start, min(start + _CHUNK, size))
            change = flat[rows, columns] - earlier[rows, columns]
            total[rows] += row_dots(change, change)
    found: Floats = _usable(total / size) * size
    return found


def variance_bounds(value: Array) -> tuple[float, float]:
    """Return two numbers that the variance of a tensor lies between; NaN where they cannot be told."""
    flat = value.reshape(1, -1)
    square = float(_usable(_square_sums(flat) / flat.size)[0])
    if np.isnan(square):
        return np.nan, np.nan
    about: float = square - float(row_dots(flat, None)[0] / flat.size) ** 2
    return about - MARGIN * square, about + MARGIN * square


def _differ(later: Array, earlier: Array | None, atol: float, rtol: float) -> Flags:
    if earlier is None or later.dtype.kind != "f":
        return np.zeros(len(later), np.bool_)
    a, b = later.astype(np.float64), earlier.astype(np.float64)
    found: Flags = np.any(np.abs(a - b) > (1 + MARGIN) * (atol + rtol * np.maximum(np.abs(a), np.abs(b))), axis=1)
    return found


def join(size: int, screenings: Iterable[tuple[npt.NDArray[np.intp], Screening]]) -> Screening:
    """Return what is known of the steps of a block, from what is known for each of some tensors.

    Args:
        size: Number of steps of the block.
        screenings: For each tensor, positions in the block and what is known there.
    """
    joined: Screening = np.full(size, NOTHING, np.int8)
    for positions, screen in screenings:
        joined[positions] = np.maximum(joined[positions], screen)
    return joined
