"""Compute the reductions of a step's device tensors on their device, and copy them to the CPU in one transfer.

The training thread never waits for the device. Each tensor is summarized into device memory in stream order. At the end
of the step one transfer sends all summaries to the CPU, and the writing thread waits for it.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import logging
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sagemaker_debug_ext._imports.cuda_runtime import beside_recordings
from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.errors import MissingDependencyError
from sagemaker_debug_ext.hooks.statistics.reductions import batched_reduction_names
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.writer import NamedNumbers

LOG = logging.getLogger(__name__)

_KERNELS: Final = "sagemaker_debug_ext.hooks.pytorch.statistics.triton_kernels"
_FIRST_ROWS: Final = 1 << 12
_COLUMNS: Final = 10
"""Number of results that the kernels return for each part."""

_LEAST, _GREATEST, _LEAST_ABS, _SHIFTED, _TOTAL_ABS = range(5)
_SQUARES, _NUM_NAN, _NUM_NONFINITE, _NUM_ZERO, _PIVOT = range(5, _COLUMNS)
"""Column of each result, in the order of `triton_kernels.summarise`."""

_SUMMARISED: Final = frozenset({torch.float32, torch.float16, torch.bfloat16})
"""dtypes that Triton reads on every device; support for smaller dtypes depends on the device."""

_NOT_SUMMARISED: Final = "prod"
"""The one reduction that cannot be combined from parts without leaving the range of floats."""

_Row = npt.NDArray[np.float64]


@functools.cache
def find_kernels(device: torch.device) -> ModuleType | None:
    """Return the kernels if this machine can compile them for a device, else None; the result is cached."""
    try:
        import_optional("triton", "Summarising tensors on a device")
    except MissingDependencyError:
        LOG.debug("Triton is not installed: tensors on %s are reduced one operation at a time", device)
        return None
    try:
        kernels = importlib.import_module(_KERNELS)
        kernels.summarise(torch.zeros(1, device=device), torch.zeros((1, _COLUMNS), device=device))
    except Exception as error:  # noqa: BLE001 - compilers and drivers raise errors of any class, and a fallback exists
        LOG.warning("tensors on %s are reduced one operation at a time: %s", device, error)
        return None
    return kernels


class _Summarised(NamedTuple):
    name: str
    columns: tuple[Reduction, ...]
    names: tuple[str, ...] | None
    num_elements: int
    num_rows: int
    wall_time: float


class PartTables:
    """Lists of the parts of tensors that are summarized together, kept on the device for steps to come.

    Parameters stay where they are, so their list is made and transferred once.
    """

    def __init__(self) -> None:
        self._tables: dict[tuple[Any, ...], tuple[list[tuple[int, int, int]], Tensor]] = {}

    def find(self, tensors: Sequence[tuple[Tensor, int]], kernels: ModuleType) -> Tensor:
        """Return the list of the parts of tensors of one dtype and device, each given with its first row."""
        first = tensors[0][0]
        places = [(tensor.data_ptr(), tensor.numel(), row) for tensor, row in tensors]
        stream = torch.cuda.current_stream(first.device) if first.is_cuda else None  # others have not seen the transfer
        key = first.device, stream, first.dtype, len(tensors)
        found = self._tables.get(key)
        if found is None or found[0] != places:
            table = kernels.list_parts([tensor for tensor, _ in tensors], [row for _, row in tensors])
            found = self._tables[key] = (places, table)
        return found[1]

    def clear(self) -> None:
        """Free the lists."""
        self._tables.clear()


class DeviceReductions:
    """Collects the reductions of a step's tensors on one device.

    Args:
        device: The device.
        kernels: See `find_kernels`; None computes each reduction as a separate operation.
        tables: Tables of earlier steps, which are used again.
        expected_rows: The expected total number of parts of the step's tensors.
    """

    def __init__(
        self,
        device: torch.device,
        kernels: ModuleType | None,
        tables: PartTables,
        expected_rows: int = _FIRST_ROWS,
    ) -> None:
        self.device = device
        self._kernels = kernels
        self._tables = tables
        self._rooms: list[Tensor] = []
        self._num_free = 0
        self._waiting: dict[tuple[torch.dtype, int], list[tuple[Tensor, int]]] = {}
        self._expected_rows = max(expected_rows, 1)
        self._summarised: list[_Summarised] = []
        self._scalars: list[Tensor] = []
        self._scalar_names: list[tuple[str, float]] = []
        self._arrived: Callable[[], tuple[Array, Array]] | None = None

    @property
    def num_rows(self) -> int:
        """Total number of parts of the tensors so far."""
        return sum([part.num_rows for part in self._summarised])

    @property
    def nbytes(self) -> int:
        """CPU memory of the results."""
        return 4 * (len(self._scalars) + _COLUMNS * self.num_rows)

    def has(self, name: str) -> bool:
        """Return whether a tensor has been summarised."""
        return any(part.name == name for part in self._summarised)

    def can_summarise(self, tensor: Tensor, reductions: Iterable[Reduction]) -> bool:
        """Return whether one pass over a tensor computes all its reductions."""
        return (
            self._kernels is not None
            and tensor.dtype in _SUMMARISED
            and all(name != _NOT_SUMMARISED for name, _ in reductions)
        )

    def summarise(
        self,
        name: str,
        tensor: Tensor,
        reductions: tuple[Reduction, ...],
        now: float,
        names: tuple[str, ...] | None = None,
        at_once: bool = True,
    ) -> None:
        """Summarize a tensor on its device. `can_summarise` must hold for it.

        Args:
            name: Name of the tensor.
            tensor: The tensor, detached; it may change as soon as it is summarized.
            reductions: The requested reductions, including statistics that are single numbers.
            now: The time at which the tensor was captured.
            names: Names of the results, which are then stored in double precision; by default the names of the tensor's
                reductions.
            at_once: Whether the tensor is summarized now; else `launch` does it, with others.
        """
        assert self._kernels is not None
        if not tensor.is_contiguous():  # the kernel ignores the order of elements, but reads no gaps
            tensor = tensor.contiguous()
        count = tensor.numel()
        num_rows = self._kernels.num_parts(count)
        first = self._take_rows(num_rows)
        self._summarised.append(_Summarised(name, reductions, names, count, num_rows, now))
        if at_once or not self._kernels.is_listable(tensor):
            self._kernels.summarise(tensor, self._rooms[-1][first : first + num_rows])
        else:
            self._waiting.setdefault((tensor.dtype, len(self._rooms) - 1), []).append((tensor, first))

    def launch(self) -> None:
        """Summarize the tensors that wait for it, in one launch for each dtype."""
        for (dtype, room), waiting in self._waiting.items():
            assert self._kernels is not None
            self._kernels.summarise_listed(self._tables.find(waiting, self._kernels), dtype, self._rooms[room])
        self._waiting.clear()

    def add(self, name: str, scalar: Tensor, now: float) -> None:
        """Add a 32-bit float on the device to the transfer."""
        self._scalars.append(scalar)
        self._scalar_names.append((name, now))

    def send(self) -> None:
        """Start the transfer of all results to the CPU; nothing may be added afterwards."""
        self._drop_unused()
        used = self._rooms
        rows = torch.cat(used) if len(used) > 1 else used[0] if used else torch.empty((0, _COLUMNS), device=self.device)
        scalars = torch.stack(self._scalars) if self._scalars else torch.empty(0, device=self.device)
        self._arrived = _bring(rows, scalars)
        self._rooms, self._scalars = [], []

    def numbers(self, ddof: int) -> list[NamedNumbers]:
        """Wait for the results and return the reductions; runs on the writing thread.

        Args:
            ddof: The delta degrees of freedom of `std` and `variance`.
        """
        assert self._arrived is not None
        rows, scalars = self._arrived()
        found = []
        if self._scalar_names:
            names, times = zip(*self._scalar_names, strict=True)
            found.append(NamedNumbers(names, scalars, times))
        if self._summarised:
            found += _reductions(self._summarised, rows.astype(np.float64), ddof, self._kernels)
        return found

    def _take_rows(self, num_rows: int) -> int:
        """Reserve rows of the last buffer, and return the first of them."""
        if num_rows > self._num_free:
            self._drop_unused()
            self._num_free = max(num_rows, self._expected_rows)
            self._rooms.append(torch.empty((self._num_free, _COLUMNS), dtype=torch.float32, device=self.device))
        first = len(self._rooms[-1]) - self._num_free
        self._num_free -= num_rows
        return first

    def _drop_unused(self) -> None:
        """Shrink the last buffer to its used rows."""
        if self._rooms:
            room = self._rooms[-1]
            self._rooms[-1] = room[: len(room) - self._num_free]
            self._num_free = 0


def _bring(rows: Tensor, scalars: Tensor) -> Callable[[], tuple[Array, Array]]:
    """Start a transfer; return a function that waits for its end and returns the results as arrays."""
    if not rows.is_cuda:
        return lambda: (rows.numpy(), scalars.numpy())
    here = [torch.empty(found.shape, dtype=found.dtype, device="cpu", pin_memory=True) for found in (rows, scalars)]
    for target, found in zip(here, (rows, scalars), strict=True):
        target.copy_(found, non_blocking=True)
    arrival: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
    arrival.record(torch.cuda.current_stream(rows.device))

    def wait() -> tuple[Array, Array]:
        with beside_recordings():
            arrival.synchronize()
        return here[0].numpy(), here[1].numpy()

    return wait


def _reductions(
    summarised: Sequence[_Summarised], rows: _Row, ddof: int, kernels: ModuleType | None
) -> list[NamedNumbers]:
    """Combine the parts of each tensor, and compute the requested reductions of all tensors."""
    assert kernels is not None
    with np.errstate(all="ignore"):  # rules report overflows, so that the script needs no warning
        whole = _Whole(summarised, rows, ddof, kernels.PART)
        wanted = {reduction for part in summarised for reduction in part.columns}
        table = {(name, absolute): whole.find(name, absolute) for name, absolute in wanted}
        found = []
        for dtype, has_names in ((np.float32, False), (np.float64, True)):
            parts = [(at, part) for at, part in enumerate(summarised) if (part.names is not None) is has_names]
            if parts:
                values = np.array([table[reduction][at] for at, part in parts for reduction in part.columns])
                names = [part.names or batched_reduction_names((part.name,), part.columns) for _, part in parts]
                times = np.repeat([part.wall_time for _, part in parts], [len(part.columns) for _, part in parts])
                found.append(NamedNumbers(tuple(itertools.chain(*names)), values.astype(dtype), times))
        return found


class _Whole:
    """Summaries of a step's tensors, combined from their parts in double precision."""

    def __init__(self, summarised: Sequence[_Summarised], rows: _Row, ddof: int, part: int) -> None:
        self._ddof = ddof
        self.counts = np.array([part.num_elements for part in summarised], np.float64)
        self._num_rows = np.array([part.num_rows for part in summarised])
        self._starts = np.concatenate([[0], np.cumsum(self._num_rows[:-1])])
        sizes = np.full(len(rows), float(part))
        sizes[self._starts + self._num_rows - 1] = self.counts - (self._num_rows - 1) * part
        self._sizes = sizes
        self._rows = rows
        self._has_nan = self._add(rows[:, _NUM_NAN]) > 0
        shifted, squares, pivots = rows[:, _SHIFTED], rows[:, _SQUARES], rows[:, _PIVOT]
        self._part_totals = {False: shifted + sizes * pivots, True: rows[:, _TOTAL_ABS]}
        self._spreads = np.maximum(squares - shifted**2 / sizes, 0)
        self.totals = {absolute: self._add(totals) for absolute, totals in self._part_totals.items()}
        plain_squares = np.where(np.isinf(squares), squares, squares + pivots * (2 * shifted + sizes * pivots))
        self.squares = self._add(plain_squares)

    def _add(self, column: _Row) -> _Row:
        found: _Row = np.add.reduceat(column, self._starts)
        return found

    def _order(self, function: np.ufunc, column: int) -> _Row:
        return np.where(self._has_nan, np.nan, function.reduceat(self._rows[:, column], self._starts))

    def find(self, name: str, absolute: bool) -> _Row:
        """Return one reduction, or statistic, of every tensor."""
        return _FINDERS[name](self, absolute)

    def least(self, absolute: bool) -> _Row:
        return self._order(np.minimum, _LEAST_ABS if absolute else _LEAST)

    def greatest(self, absolute: bool) -> _Row:
        greatest = self._order(np.maximum, _GREATEST)
        return np.maximum(np.abs(greatest), np.abs(self._order(np.minimum, _LEAST))) if absolute else greatest

    def variance(self, absolute: bool) -> _Row:
        means = self.totals[absolute] / self.counts
        part_means = self._part_totals[absolute] / self._sizes
        spread = self._spreads
        if absolute:  # squares are the same for absolute values, but means are not
            spread = np.maximum(spread + self._part_totals[False] ** 2 / self._sizes - self._sizes * part_means**2, 0)
        distances = part_means - np.repeat(means, self._num_rows)
        free = self.counts - self._ddof
        return np.where(free > 0, self._add(spread + self._sizes * distances**2) / np.maximum(free, 1), np.nan)

    def share_of_zeros(self) -> _Row:
        return self._add(self._rows[:, _NUM_ZERO]) / self.counts

    def num_nonfinite(self) -> _Row:
        return self._add(self._rows[:, _NUM_NONFINITE])


_FINDERS: Final[dict[str, Callable[[_Whole, bool], _Row]]] = {
    "min": _Whole.least,
    "max": _Whole.greatest,
    "sum": lambda whole, absolute: whole.totals[absolute],
    "mean": lambda whole, absolute: whole.totals[absolute] / whole.counts,
    "variance": _Whole.variance,
    "std": lambda whole, absolute: np.sqrt(whole.variance(absolute)),
    "l1": lambda whole, _: whole.totals[True],
    "l2": lambda whole, _: np.sqrt(whole.squares),
    "zero_fraction": lambda whole, _: whole.share_of_zeros(),
    "nonfinite": lambda whole, _: whole.num_nonfinite(),
    "abs_max": lambda whole, _: whole.greatest(True),
}
