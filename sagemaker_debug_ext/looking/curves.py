"""Single numbers over steps: losses, metrics, learning rates and other saved scalars."""

from __future__ import annotations

import functools
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.looking.measures import in_saving_order, tensor_groups
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial
    from sagemaker_debug_ext.trials.index.entries import IndexLayout

_MAX_BYTES: Final = 4096
"""Longest record of a tensor that is drawn as a curve."""

_FIRST_COLLECTIONS: Final = (CollectionKeys.LOSSES, CollectionKeys.METRICS, CollectionKeys.SM_METRICS)


@attrs.frozen(eq=False)
class Curve:
    """A number over steps.

    Args:
        name: Name of the tensor.
        mode: Mode of the steps.
        steps: Global steps, ascending.
        values: The number at each.
        is_loss: Whether the tensor is a loss.
        note: How the number was obtained, if the tensor holds several.
    """

    name: str
    mode: ModeKeys
    steps: Sequence[int]
    values: npt.NDArray[np.float64]
    is_loss: bool = False
    note: str = ""


def curve_names(trial: Trial) -> list[str]:
    """Return the tensors to draw as curves: losses first, then metrics, then further single numbers."""
    names = in_saving_order(trial)
    layers = {name for group in tensor_groups(trial).values() for name in group}
    known = trial.collections()
    reader = trial.index_reader
    with reader.lock:
        small = [name for name in names if reader.index.smallest_value_bytes(name) <= _MAX_BYTES]
    chosen: dict[str, None] = {}
    for key in _FIRST_COLLECTIONS:
        if key in known:
            chosen.update(dict.fromkeys(name for name in small if known[key].matches(name)))
    steps_of = reader.index.sequence_of_tensor
    settings = known.get(CollectionKeys.HYPERPARAMETERS)
    layers |= {name for name in small if settings is not None and settings.matches(name)}
    with reader.lock:
        others = [name for name in small if name not in layers and name not in chosen]
        chosen.update(dict.fromkeys(name for name in others if len(steps_of(name, ModeKeys.GLOBAL).steps) > 1))
    return list(chosen)


class CurveReader:
    """Reads the curves of a trial, and further steps as they come.

    Tensors that hold no numbers, or several at some step, have none. Losses that hold a number for each sample are
    drawn as their means.

    Args:
        trial: The trial.
        max_curves: Highest number of tensors to read.
        choose: Returns the tensors that could be read, the most important ones first.

    Attributes:
        names: The tensors that could be read, as of the last reading.
    """

    def __init__(self, trial: Trial, max_curves: int, choose: Callable[[Trial], Sequence[str]] = curve_names) -> None:
        self._trial = trial
        self._max_curves = max_curves
        self._layouts: frozenset[IndexLayout] | None = None
        self._steps = array("q")
        self._choose = choose
        self._points: dict[str, _Points] = {}
        self.names: tuple[str, ...] = ()

    def read(self) -> tuple[Curve, ...]:
        """Read steps that were not read yet, and return the curves, one for each tensor and mode."""
        reader = self._trial.index_reader
        with reader.lock:
            layouts = frozenset(reader.index.layouts())
        steps = reader.step_array()
        wanted: list[int] | None = steps[len(self._steps) :].tolist()
        if layouts != self._layouts or steps[: len(self._steps)] != self._steps:
            self.names = tuple(self._choose(self._trial))
            self._points = {name: _Points() for name in self.names[: self._max_curves]}
            wanted = None  # all steps, also incomplete ones, which come again once they are complete
        if wanted != []:
            _read(self._trial, self._points, wanted)
        self._layouts, self._steps = layouts, steps
        return tuple(self._curves())

    def _curves(self) -> Iterator[Curve]:
        known = self._trial.collections().get(CollectionKeys.LOSSES)
        shared: dict[bytes, array[int]] = {}  # curves of the same steps share them
        for name, points in self._points.items():
            is_loss = known is not None and known.matches(name)
            if points.has_several and not is_loss:
                continue
            for mode, found, values in points.by_mode():
                steps = shared.setdefault(found.tobytes(), found)
                yield Curve(name, mode, steps, values, is_loss, "mean of its numbers" if points.has_several else "")


class _Points:
    """The points of a curve, in little memory.

    Attributes:
        has_several: Whether the tensor holds several numbers at some step, whose mean is drawn.
    """

    __slots__ = ("_modes", "_numbers", "_steps", "has_several")

    def __init__(self) -> None:
        self._steps = array("q")
        self._modes = array("b")
        self._numbers = array("d")
        self.has_several = False

    def add(self, step: int, mode: ModeKeys, number: float) -> None:
        """Add a point, or replace that of the same step; appending is the usual case."""
        steps = self._steps
        place = bisect_left(steps, step) if steps and step <= steps[-1] else len(steps)
        if place < len(steps) and steps[place] == step:
            self._numbers[place], self._modes[place] = number, mode.value
            return
        steps.insert(place, step)
        self._modes.insert(place, mode.value)
        self._numbers.insert(place, number)

    def by_mode(self) -> Iterator[tuple[ModeKeys, array[int], npt.NDArray[np.float64]]]:
        """Yield each mode with its steps, ascending, and the numbers at them."""
        steps, modes, numbers = np.array(self._steps), np.array(self._modes), np.array(self._numbers)
        for value in np.unique(modes).tolist():
            is_of_mode = modes == value
            yield ModeKeys(value), array("q", steps[is_of_mode].tobytes()), numbers[is_of_mode]


def _read(trial: Trial, points: Mapping[str, _Points], steps: Sequence[int] | None) -> None:
    """Add the points of each tensor at some steps; at all steps if None is given."""
    only_mode = trial.index_reader.index.only_mode
    mode_of = functools.cache(lambda step: only_mode or trial.mode(step) or ModeKeys.GLOBAL)
    for group in trial.index_reader.read_columns(list(points), steps, ModeKeys.GLOBAL, None):
        of_tensor = points[group.name]
        for step, saved in zip(group.steps, group.arrays(), strict=True):
            value = saved
            if value is None:
                try:
                    value = trial.tensor(group.name).value(step)
                except (OSError, DebugExtError):  # noted as a problem of the trial
                    continue
            if value.dtype.kind in "biuf" and value.size:
                with np.errstate(all="ignore"):
                    number = float(value.reshape(-1)[0]) if value.size == 1 else float(np.mean(value, dtype=float))
                of_tensor.add(step, mode_of(step), number)
                of_tensor.has_several |= value.size != 1
