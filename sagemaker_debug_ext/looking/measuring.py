"""Read the measures of a trial: from saved reductions, or computed while values pass."""

from __future__ import annotations

import itertools
import math
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.looking.codes import MOST_START
from sagemaker_debug_ext.looking.measures import MEASURES, LayerGrid, LayerMeasures, tensor_groups
from sagemaker_debug_ext.looking.thinning import farthest
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial
    from sagemaker_debug_ext.trials.index.entries import IndexLayout

_SIZES: Final = (("l2", False), ("l2", True), ("mean", True), ("std", False), ("max", True))
"""Reductions that tell the size of a tensor, the preferred one first."""

_MOST_STEPS_AT_ONCE: Final = 128
_FEWEST_STEPS_AT_ONCE: Final = 8
_NUMBERS_AT_ONCE: Final = 320_000
"""Number of tensors × steps after which it is looked at the time."""

_BYTES_AT_ONCE: Final = 64 << 20
"""Limit of the values in memory at a time, except for the values of one tensor at one step."""

_NUMBERS_IN_CACHE: Final = 1 << 16
"""Number of values that are measured together, so that they are read from memory once."""

_MEASURES: Final = {
    "gradients": {"size": "gradient_norm", "non_finite": "gradient_non_finite"},
    "weights": {"change": "update_ratio", "size": "weight_norm"},
    "outputs": {"size": "output_size", "zeros": "output_zeros", "non_finite": "output_non_finite"},
}
"""Group → statistic of its tensors → measure."""

_TRAINING: Final = (ModeKeys.TRAIN, ModeKeys.GLOBAL)

_LARGEST: Final = float(np.finfo(np.float32).max)

_LEAST_ROOM: Final = 64
"""Number of steps for which a table gets room at least when it grows."""

LAST_COLUMNS: Final = 16
"""Number of the latest steps that stay columns of their own, because the next steps are compared with them."""


class _Values(NamedTuple):
    """Values of one tensor at ascending steps, as rows of numbers."""

    name: str
    steps: list[int]
    numbers: npt.NDArray[Any]


def read_measures(
    trial: Trial,
    first: Iterable[int] = (),
    seconds: float = 60.0,
    worker: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> LayerMeasures:
    """Read the measures of a trial.

    Steps are read evenly spread, then more densely until the time is up.

    Args:
        trial: The trial.
        first: Global steps to read before others.
        seconds: Time after which no further steps are read; the first ones are always read.
        worker: The worker whose values to read; by default the first that saved each tensor.
        clock: Returns the time in seconds.
    """
    reader = MeasureReader(trial, worker, clock)
    reader.read(first, seconds)
    return reader.measures()


class MeasureReader:
    """Reads the measures of a trial, and further steps as they come.

    Args:
        trial: The trial.
        worker: The worker whose values to read; by default the first that saved each tensor.
        clock: Returns the time in seconds.
        select: Returns the tensors to read of all, by group; all by default.
        max_columns: Number of steps from which on older steps share columns; None for no limit.
    """

    def __init__(
        self,
        trial: Trial,
        worker: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        select: Callable[[dict[str, list[str]]], dict[str, list[str]]] = lambda groups: groups,
        max_columns: int | None = None,
    ) -> None:
        self._trial = trial
        self._max_columns = max_columns
        self._select = select
        self._worker = worker
        self._clock = clock
        self._layouts: frozenset[IndexLayout] | None = None
        self._tables: list[_Table] = []
        self._unread: set[int] = set()
        self._num_steps = 0

    def read(self, first: Iterable[int] = (), seconds: float = 60.0) -> bool:
        """Read steps that were not read yet, until the time is up, and return whether there were any.

        Args:
            first: Global steps to read before others.
            seconds: Time after which no further steps are read; the first ones are always read.
        """
        self._look()
        if not self._unread:
            return False
        until = self._clock() + seconds
        num_bytes = sum(table.bytes_per_step() for table in self._tables)
        num_tensors = sum(len(table.names) for table in self._tables)
        most = min(_BYTES_AT_ONCE / (num_bytes or 1), _NUMBERS_AT_ONCE / (num_tensors or 1))
        size = min(max(int(most), _FEWEST_STEPS_AT_ONCE), _MOST_STEPS_AT_ONCE)
        for batch in spread(sorted(self._unread), set(first), size):
            for table in self._tables:
                table.read(batch)
            self._unread.difference_update(batch)
            if self._clock() >= until:
                break
        if self._max_columns is not None and not self._unread:
            for table in self._tables:
                table.fold(self._max_columns)
        return True

    def forget_before(self, step: int) -> None:
        """Forget what was read at earlier steps; they are not read again. All steps must have been read."""
        for table in self._tables:
            table.forget_before(step)

    def measures(self) -> LayerMeasures:
        """Return the measures so far."""
        grids = {grid.measure.name: grid for table in self._tables for grid in table.grids()}
        named = {name: grids[name] for name in MEASURES if name in grids}
        return LayerMeasures(named, self._num_steps - len(self._unread), self._num_steps)

    def _look(self) -> None:
        """Note steps that have come; begin anew after new tensors, or after steps between those that are known."""
        with self._trial.index_reader.lock:
            layouts = frozenset(self._trial.index_reader.index.layouts())
        if layouts != self._layouts or not all(table.extend() for table in self._tables):
            self._layouts = layouts
            groups = self._select(tensor_groups(self._trial)).items()
            self._tables = [_Table(self._trial, group, names, self._worker) for group, names in groups if names]
        self._unread = set().union(*(table.unread for table in self._tables))
        self._num_steps = len(np.unique(np.concatenate([[], *(table.steps for table in self._tables)])))


def spread(steps: Sequence[int], first: set[int], size: int) -> Iterator[list[int]]:
    """Yield all steps in batches of a size: the given ones and the ends, then evenly spread ones, ever more densely."""
    order = dict.fromkeys(sorted({*steps[:1], *steps[-1:], *(first & set(steps))}))
    stride = 1 << max(len(steps) - 1, 0).bit_length()
    while stride:
        order.update(dict.fromkeys(steps[::stride]))
        stride //= 2
    ordered = list(order)
    for begin in range(0, len(ordered), size):
        yield sorted(ordered[begin : begin + size])


def shared_columns(steps: npt.NDArray[np.int64], begin: int, end: int, max_columns: int) -> npt.NDArray[np.intp]:
    """Return the first place of each column if those from `begin` to `end` share half as many as `max_columns`."""
    buckets = (steps[begin:end] - steps[begin]) * (max_columns // 2) // (steps[end] - steps[begin])
    firsts = begin + np.flatnonzero(np.diff(buckets, prepend=-1))
    return np.concatenate([np.arange(begin), firsts, np.arange(end, len(steps))])


class _Table:
    """The statistics of a group of tensors while they are read."""

    def __init__(self, trial: Trial, group: str, names: Sequence[str], worker: str | None) -> None:
        self._trial = trial
        self._group = group
        self.names = tuple(names)
        self._worker = worker
        self._row = {name: row for row, name in enumerate(names)}
        self.steps = self._find_steps()
        self._column_steps: list[int] = self.steps.tolist()
        self._column = {step: column for column, step in enumerate(self._column_steps)}
        self.unread = set(self._column_steps)
        with trial.index_reader.lock:
            self._bytes = {name: trial.index_reader.index.smallest_value_bytes(name) for name in names}
        self._reduction = self._find_reduction()
        self._has_values = False
        self._shape = (len(names), len(self.steps))
        self._saved = np.zeros(self._shape, np.bool_)
        self._tables: dict[str, npt.NDArray[np.float32]] = {}
        self._is_folded = False

    def bytes_per_step(self) -> float:
        """Return the size of all values of the group at one step."""
        return sum(size for size in self._bytes.values() if math.isfinite(size))

    def extend(self) -> bool:
        """Note steps that have come, and return whether they are all later than those that are known."""
        steps = self._find_steps()
        if not np.array_equal(steps[: len(self.steps)], self.steps):
            return False
        new_steps = steps[len(self.steps) :].tolist()
        self.steps = steps
        self._column.update((step, column) for column, step in enumerate(new_steps, len(self._column_steps)))
        self._column_steps += new_steps
        self.unread.update(new_steps)
        room = self._shape[1]
        if len(self._column_steps) > room:
            more = max(len(self._column_steps) - room, room // 4, _LEAST_ROOM)
            self._shape = (len(self.names), room + more)
            self._saved = np.pad(self._saved, ((0, 0), (0, more)))
            self._tables = {
                name: np.pad(table, ((0, 0), (0, more)), constant_values=np.nan) for name, table in self._tables.items()
            }
        return True

    def read(self, steps: Sequence[int]) -> None:
        """Read the statistics at some steps."""
        wanted = [step for step in steps if step in self._column]
        if not wanted:
            return
        self.unread.difference_update(wanted)
        if self._reduction is not None:
            self._take_reductions(wanted)
        if self._group == "weights":  # the change of a weight needs its value at the step before
            before = self.steps[np.maximum(np.searchsorted(self.steps, wanted) - 1, 0)]
            wanted = sorted({*wanted, *filter(self._column.__contains__, before.tolist())})
        previous: dict[str, npt.NDArray[Any]] = {}
        for values in self._read_values(wanted):
            self._take_values(values, previous)

    def grids(self) -> Iterator[LayerGrid]:
        """Yield the measures that the group has, at the steps that were read."""
        columns = [column for column, step in enumerate(self._column_steps) if step not in self.unread]
        steps = tuple(self._column_steps[column] for column in columns)
        shown = slice(len(columns)) if len(columns) == len(self._column_steps) else columns
        for statistic, table in self._tables.items():
            name = _MEASURES[self._group][statistic]
            values = table[:, shown]
            saved = self._saved[:, shown] if statistic == "size" else ~np.isnan(values)
            if saved.any() and (statistic != "non_finite" or values[saved].any()):
                yield LayerGrid(MEASURES[name], self.names, steps, values, saved, self._source(statistic))

    def fold(self, max_columns: int) -> None:
        """Merge the columns of older steps if there are too many; all steps must have been read.

        Each cell keeps the value that is farthest from the start of its row. The steps of the start, by which pictures
        are coloured, and the latest steps stay as they are.
        """
        count = len(self._column_steps)
        if count <= max_columns:
            return
        steps = np.array(self._column_steps)
        starts = shared_columns(steps, MOST_START, count - LAST_COLUMNS, max_columns)
        saved = self._saved[:, :count]
        for statistic, table in self._tables.items():
            values = table[:, :count]
            is_share = MEASURES[_MEASURES[self._group][statistic]].kind == "share"
            self._tables[statistic] = farthest(
                values, saved if statistic == "size" else ~np.isnan(values), starts, is_share
            )
        self._saved = np.logical_or.reduceat(saved, starts, axis=1)
        self._shape = self._saved.shape
        self._column_steps = steps[starts].tolist()
        self._column = {step: column for column, step in enumerate(self._column_steps)}
        self._is_folded = True

    def forget_before(self, step: int) -> None:
        """Forget the columns of earlier steps; all steps must have been read."""
        begin, count = bisect_left(self._column_steps, step), len(self._column_steps)
        self._saved = self._saved[:, begin:count].copy()
        self._tables = {statistic: table[:, begin:count].copy() for statistic, table in self._tables.items()}
        self._shape = self._saved.shape
        self._column_steps = self._column_steps[begin:]
        self._column = {step: column for column, step in enumerate(self._column_steps)}

    def _put(self, statistic: str, rows: Any, columns: Any, values: Any) -> None:
        """Write numbers of tensors; finite ones stay finite."""
        table = self._tables.get(statistic)
        if table is None:
            table = self._tables[statistic] = np.full(self._shape, np.nan, np.float32)
        numbers = np.asarray(values, np.float64)
        table[rows, columns] = np.where(np.isfinite(numbers), np.clip(numbers, -_LARGEST, _LARGEST), numbers)

    def _source(self, statistic: str) -> str:
        source = self._origin(statistic)
        return (
            f"{source}; older steps share columns, which keep the values farthest from the start"
            if self._is_folded
            else source
        )

    def _origin(self, statistic: str) -> str:
        if self._reduction is None or statistic != "size":
            return "computed from the saved tensors"
        operation, absolute = self._reduction
        saved = f"from the saved reduction {'abs_' if absolute else ''}{operation}"
        return f"{saved}, elsewhere computed from the saved tensors" if self._has_values else saved

    def _find_reduction(self) -> tuple[str, bool] | None:
        """Return the reduction that tells the size of most tensors, if any was saved."""
        reader = self._trial.index_reader
        counts = dict.fromkeys(_SIZES, 0)
        with reader.lock:
            layouts = reader.index.layouts()
        for layout in layouts:
            for name in self.names:
                slot = layout.slots.get(name)
                for key in slot.reductions if slot else ():
                    if key in counts:
                        counts[key] += 1
        best = max(_SIZES, key=lambda key: counts[key])  # the first of equal ones
        return best if counts[best] else None

    def _take_reductions(self, steps: Sequence[int]) -> None:
        assert self._reduction is not None
        operation, absolute = self._reduction
        named = {reduction_tensor_name(operation, absolute, name): row for name, row in self._row.items()}
        found = self._trial.index_reader.read_columns(self.names, steps, ModeKeys.GLOBAL, self._worker, self._reduction)
        whole: dict[tuple[int, ...], tuple[list[int], list[npt.NDArray[Any]]]] = {}  # steps → rows and their numbers
        for stored, at, arrays in found:
            if isinstance(arrays, np.ndarray) and arrays.size == len(at):
                rows, numbers = whole.setdefault(tuple(at), ([], []))
                rows.append(named[stored])
                numbers.append(arrays.reshape(-1))
                continue
            for step, array in zip(at, arrays, strict=True):
                if array is not None and array.size == 1:
                    self._put("size", named[stored], self._column[step], array.item())
                    self._saved[named[stored], self._column[step]] = True
        for at, (rows, numbers) in whole.items():
            row_places, columns = np.ix_(rows, [self._column[step] for step in at])
            self._put("size", row_places, columns, np.stack(numbers))
            self._saved[row_places, columns] = True

    def _read_values(self, steps: Sequence[int]) -> Iterator[_Values]:
        """Yield the values of tensors saved as such; the steps of a name come in order, if need be in parts."""
        for names, some_steps in self._portions(steps):
            found: dict[str, dict[int, npt.NDArray[Any]]] = {name: {} for name in names}
            try:
                for group in self._trial.index_reader.read_columns(names, some_steps, ModeKeys.GLOBAL, self._worker):
                    for step, array in zip(group.steps, group.arrays(), strict=True):
                        value = self._read_alone(group.name, step) if array is None else array
                        if value is not None and value.size and value.dtype.kind in "biuf":
                            found[group.name][step] = value.reshape(-1)
            except (OSError, DebugExtError):  # noted as a problem of the trial, which the page lists
                continue
            for name, values in found.items():
                for (size,), same in itertools.groupby(sorted(values.items()), key=lambda item: item[1].shape):
                    alike, at_once = list(same), max(_NUMBERS_IN_CACHE // size, 1)
                    for begin in range(0, len(alike), at_once):
                        at, arrays = zip(*alike[begin : begin + at_once], strict=True)
                        yield _Values(name, list(at), np.stack(arrays))

    def _read_alone(self, name: str, step: int) -> npt.NDArray[Any] | None:
        try:
            return self._trial.tensor(name).value(step, worker=self._worker)
        except (OSError, DebugExtError):  # as above
            return None

    def _portions(self, steps: Sequence[int]) -> Iterator[tuple[list[str], Sequence[int]]]:
        """Yield names and steps whose values fit into memory together."""
        names: list[str] = []
        num_bytes = 0.0
        for name in self.names:
            size = self._bytes[name] * len(steps)
            if math.isinf(size):  # only reductions were saved
                continue
            if size > _BYTES_AT_ONCE:
                at_once = max(int(_BYTES_AT_ONCE / self._bytes[name]), 1)
                yield from (([name], steps[begin : begin + at_once]) for begin in range(0, len(steps), at_once))
                continue
            if num_bytes + size > _BYTES_AT_ONCE and names:
                yield names, steps
                names, num_bytes = [], 0.0
            names.append(name)
            num_bytes += size
        if names:
            yield names, steps

    def _take_values(self, values: _Values, previous: dict[str, npt.NDArray[Any]]) -> None:
        self._has_values = True
        row = self._row[values.name]
        columns = [self._column[step] for step in values.steps]
        stored = values.numbers
        numbers = stored.astype(np.float64, copy=False)
        measures = _MEASURES[self._group]
        with np.errstate(all="ignore"):
            sizes = self._sizes(numbers)
            self._put("size", row, columns, sizes)
            self._saved[row, columns] = True
            if "zeros" in measures:
                self._put("zeros", row, columns, (stored == 0).mean(axis=1))
            if "non_finite" in measures:
                shares = np.zeros(len(sizes))
                unsure = ~np.isfinite(sizes)  # a value that is not finite makes the size so
                shares[unsure] = 1 - np.isfinite(numbers[unsure]).mean(axis=1)
                self._put("non_finite", row, columns, shares)
            if "change" in measures:
                before = previous.get(values.name)
                if before is not None and len(before) == numbers.shape[1]:
                    numbers, columns = np.vstack([before, numbers]), [columns[0] - 1, *columns]
                sizes = np.sqrt(np.einsum("ij,ij->i", numbers[:-1], numbers[:-1]))
                steps = np.diff(numbers, axis=0)
                ratios = np.sqrt(np.einsum("ij,ij->i", steps, steps)) / np.where(sizes > 0, sizes, np.nan)
                follows = np.diff(columns) == 1
                self._put("change", row, np.array(columns[1:], np.intp)[follows], ratios[follows])
                previous[values.name] = numbers[-1]

    def _sizes(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        operation = self._reduction[0] if self._reduction else "l2"
        if operation == "mean":
            return np.asarray(np.abs(numbers).mean(axis=1))
        if operation == "std":
            return np.asarray(numbers.std(axis=1))
        if operation == "max":
            return np.asarray(np.abs(numbers).max(axis=1))
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", numbers, numbers)))

    def _find_steps(self) -> npt.NDArray[np.int64]:
        """Return the complete global steps at which one of the tensors was saved; of weights, those of training."""
        reader = self._trial.index_reader
        with reader.lock:
            layouts = [layout for layout in reader.index.layouts() if not self._row.keys().isdisjoint(layout.slots)]
            of_mode = reader.index.steps_of_layouts(layouts, self._worker)
            if self._group == "weights" and not of_mode.keys().isdisjoint(_TRAINING):  # others do not change them
                of_mode = {mode: steps for mode, steps in of_mode.items() if mode in _TRAINING}
            found = np.unique(np.concatenate([np.empty(0, np.int64), *of_mode.values()]))
            complete = reader.completeness
            return found if complete.has_ended else found[found <= complete.last_complete_step]
