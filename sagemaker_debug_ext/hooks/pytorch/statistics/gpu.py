"""Reductions of the tensors of one step that lie on a device: worked out there, brought over in one transfer.

Nothing in here waits for the device on the training thread. What a tensor's reductions need is noted in the device's
memory, in the order of the device's own work; at the end of the step all of it is sent to the memory of the CPU, and
the writing thread waits for its arrival.
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

from sagemaker_debug_ext._optional import import_optional
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.errors import MissingDependencyError
from sagemaker_debug_ext.hooks.statistics.reductions import batched_reduction_names
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.writer import NamedNumbers

LOG = logging.getLogger(__name__)

_KERNELS: Final = "sagemaker_debug_ext.hooks.pytorch.statistics.triton_kernels"
_FIRST_ROWS: Final = 1 << 12
_COLUMNS: Final = 10
"""How many results the kernels have of each part."""

_LEAST, _GREATEST, _LEAST_ABS, _TOTAL, _TOTAL_ABS = range(5)
_SPREAD, _NUM_NAN, _NUM_NONFINITE, _NUM_ZERO, _SQUARES = range(5, _COLUMNS)
"""In which column each result is, as `device_kernels.summarise` says."""

_SUMMARISED: Final = frozenset({torch.float32, torch.float16, torch.bfloat16})
"""The types that Triton reads on every device; it depends on the device which smaller ones it reads."""

_NOT_SUMMARISED: Final = "prod"
"""The one reduction that cannot be had from the results of parts without leaving the range of floats."""

_Row = npt.NDArray[np.float64]


@functools.cache
def find_kernels(device: torch.device) -> ModuleType | None:
    """Return the kernels, if this machine can compile them for a device; found out once."""
    try:
        import_optional("triton", "Summarising tensors on a device")
    except MissingDependencyError:
        LOG.debug("Triton is not installed: tensors on %s are reduced one operation at a time", device)
        return None
    try:
        kernels = importlib.import_module(_KERNELS)
        kernels.summarise(torch.zeros(1, device=device), torch.zeros((1, _COLUMNS), device=device))
    except Exception as error:  # noqa: BLE001 - compilers and drivers fail in ways of their own, and there is another way
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


class DeviceReductions:
    """Collects the reductions of a step's tensors on one device.

    Args:
        device: The device.
        kernels: See `find_kernels`; None has each reduction be an operation of its own.
        expected_rows: How many parts the tensors of the step are expected to have in all.
    """

    def __init__(self, device: torch.device, kernels: ModuleType | None, expected_rows: int = _FIRST_ROWS) -> None:
        self.device = device
        self._kernels = kernels
        self._room: list[Tensor] = []
        self._num_free = 0
        self._expected_rows = max(expected_rows, 1)
        self._summarised: list[_Summarised] = []
        self._scalars: list[Tensor] = []
        self._scalar_names: list[tuple[str, float]] = []
        self._arrived: Callable[[], tuple[Array, Array]] | None = None

    @property
    def num_rows(self) -> int:
        """How many parts the tensors so far have in all."""
        return sum([each.num_rows for each in self._summarised])

    @property
    def nbytes(self) -> int:
        """Memory of the CPU that the results take."""
        return 4 * (len(self._scalars) + _COLUMNS * self.num_rows)

    def has(self, name: str) -> bool:
        """Return whether a tensor has been summarised."""
        return any(each.name == name for each in self._summarised)

    def can_summarise(self, tensor: Tensor, reductions: Iterable[Reduction]) -> bool:
        """Return whether one pass over a tensor is enough for its reductions."""
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
    ) -> None:
        """Summarize a tensor on its device. `can_summarise` must hold for it.

        Args:
            name: Name of the tensor.
            tensor: The tensor, detached; it may change as soon as this returns.
            reductions: What is wanted, statistics that are single numbers included.
            now: When the tensor was taken.
            names: Names of the results, which then are stored in double precision; those of the tensor's reductions
                when not given.
        """
        assert self._kernels is not None
        if not tensor.is_contiguous():  # the order does not matter, but gaps do
            tensor = tensor.contiguous()
        count = tensor.numel()
        num_rows = self._kernels.num_parts(count)
        self._kernels.summarise(tensor, self._take_rows(num_rows))
        self._summarised.append(_Summarised(name, reductions, names, count, num_rows, now))

    def add(self, name: str, scalar: Tensor, now: float) -> None:
        """Add a 32-bit float on the device to the transfer."""
        self._scalars.append(scalar)
        self._scalar_names.append((name, now))

    def send(self) -> None:
        """Start the transfer of all results to the CPU; nothing may be added afterwards."""
        used = [room[: len(room) - (self._num_free if room is self._room[-1] else 0)] for room in self._room]
        rows = torch.cat(used) if len(used) > 1 else used[0] if used else torch.empty((0, _COLUMNS), device=self.device)
        scalars = torch.stack(self._scalars) if self._scalars else torch.empty(0, device=self.device)
        self._arrived = _bring(rows, scalars)
        self._room, self._scalars = [], []

    def numbers(self, ddof: int) -> list[NamedNumbers]:
        """Wait for the results and return the reductions; runs on the writing thread.

        Args:
            ddof: What to subtract from the count in `std` and `variance`.
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

    def _take_rows(self, num_rows: int) -> Tensor:
        if num_rows > self._num_free:
            self._drop_unused()
            self._num_free = max(num_rows, self._expected_rows)
            self._room.append(torch.empty((self._num_free, _COLUMNS), dtype=torch.float32, device=self.device))
        room = self._room[-1]
        first = len(room) - self._num_free
        self._num_free -= num_rows
        return room[first : first + num_rows]

    def _drop_unused(self) -> None:
        """Cut the last room down to what is used of it, before another one is begun."""
        if self._room:
            room = self._room[-1]
            self._room[-1] = room[: len(room) - self._num_free]


def _bring(rows: Tensor, scalars: Tensor) -> Callable[[], tuple[Array, Array]]:
    """Begin a transfer; return what waits for its end and gives the results as arrays."""
    if not rows.is_cuda:
        return lambda: (rows.numpy(), scalars.numpy())
    here = [torch.empty(found.shape, dtype=found.dtype, device="cpu", pin_memory=True) for found in (rows, scalars)]
    for target, found in zip(here, (rows, scalars), strict=True):
        target.copy_(found, non_blocking=True)
    arrival: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
    arrival.record(torch.cuda.current_stream(rows.device))

    def wait() -> tuple[Array, Array]:
        arrival.synchronize()
        return here[0].numpy(), here[1].numpy()

    return wait


def _reductions(
    summarised: Sequence[_Summarised], rows: _Row, ddof: int, kernels: ModuleType | None
) -> list[NamedNumbers]:
    """Put the parts of each tensor together, and compute what is wanted of all tensors."""
    assert kernels is not None
    with np.errstate(all="ignore"):  # an overflow is a finding for rules, not a warning for the script
        whole = _Whole(summarised, rows, ddof, kernels.PART)
        wanted = {reduction for each in summarised for reduction in each.columns}
        table = {(name, absolute): whole.find(name, absolute) for name, absolute in wanted}
        found = []
        for dtype, has_names in ((np.float32, False), (np.float64, True)):
            some = [(at, each) for at, each in enumerate(summarised) if (each.names is not None) is has_names]
            if some:
                values = np.array([table[reduction][at] for at, each in some for reduction in each.columns])
                names = [each.names or batched_reduction_names((each.name,), each.columns) for _, each in some]
                times = np.repeat([each.wall_time for _, each in some], [len(each.columns) for _, each in some])
                found.append(NamedNumbers(tuple(itertools.chain(*names)), values.astype(dtype), times))
        return found


class _Whole:
    """The tensors of a step, put together from their parts in double precision."""

    def __init__(self, summarised: Sequence[_Summarised], rows: _Row, ddof: int, part: int) -> None:
        self._ddof = ddof
        self.counts = np.array([each.num_elements for each in summarised], np.float64)
        self._num_rows = np.array([each.num_rows for each in summarised])
        self._starts = np.concatenate([[0], np.cumsum(self._num_rows[:-1])])
        sizes = np.full(len(rows), float(part))
        sizes[self._starts + self._num_rows - 1] = self.counts - (self._num_rows - 1) * part
        self._sizes = sizes
        self._rows = rows
        self._has_nan = self._add(rows[:, _NUM_NAN]) > 0
        self.totals = {False: self._add(rows[:, _TOTAL]), True: self._add(rows[:, _TOTAL_ABS])}
        self.squares = self._add(rows[:, _SQUARES])

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
        part_means = self._rows[:, _TOTAL_ABS if absolute else _TOTAL] / self._sizes
        spread = self._rows[:, _SPREAD]
        if absolute:  # from the squares, which are the same, and the means, which are not
            spread = np.maximum(spread + self._rows[:, _TOTAL] ** 2 / self._sizes - self._sizes * part_means**2, 0)
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
