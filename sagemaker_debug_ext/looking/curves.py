"""Single numbers over steps: losses, metrics, learning rates and other saved scalars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

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

_Points: TypeAlias = dict[int, tuple[float, int]]
"""Step → number, and how many numbers the tensor holds, whose mean it is."""

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
    steps: tuple[int, ...]
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
        self._steps: list[int] = []
        self._choose = choose
        self._points: dict[str, _Points] = {}
        self._modes: dict[int, ModeKeys] = {}
        self.names: tuple[str, ...] = ()

    def read(self) -> tuple[Curve, ...]:
        """Read steps that were not read yet, and return the curves, one for each tensor and mode."""
        reader = self._trial.index_reader
        with reader.lock:
            layouts = frozenset(reader.index.layouts())
        steps = reader.steps(ModeKeys.GLOBAL, show_incomplete_steps=False)
        wanted: list[int] | None = steps[len(self._steps) :]
        if layouts != self._layouts or steps[: len(self._steps)] != self._steps:
            self.names = tuple(self._choose(self._trial))
            self._points = {name: {} for name in self.names[: self._max_curves]}
            wanted = None  # all steps, also incomplete ones, which come again once they are complete
        if wanted != []:
            for name, points in _read(self._trial, list(self._points), wanted).items():
                self._points[name] |= points
        self._layouts, self._steps = layouts, steps
        return tuple(self._curves())

    def _curves(self) -> Iterator[Curve]:
        known = self._trial.collections().get(CollectionKeys.LOSSES)
        only_mode = self._trial.index_reader.index.only_mode
        for name, points in self._points.items():
            if not points:
                continue
            is_loss = known is not None and known.matches(name)
            has_several = any(size != 1 for _, size in points.values())
            if has_several and not is_loss:
                continue
            by_mode: dict[ModeKeys, list[tuple[int, float]]] = {}
            ordered = [(step, number) for step, (number, _) in sorted(points.items())]
            if only_mode is not None:
                by_mode[only_mode] = ordered
            else:
                for step, number in ordered:
                    if step not in self._modes:
                        self._modes[step] = self._trial.mode(step) or ModeKeys.GLOBAL
                    by_mode.setdefault(self._modes[step], []).append((step, number))
            for mode, of_mode in sorted(by_mode.items(), key=lambda item: item[0].value):
                steps, values = zip(*of_mode, strict=True)
                yield Curve(name, mode, steps, np.array(values), is_loss, "mean of its numbers" if has_several else "")


def _read(trial: Trial, names: Sequence[str], steps: Sequence[int] | None) -> dict[str, _Points]:
    """Return the points of each tensor."""
    found: dict[str, _Points] = {name: {} for name in names}
    for group in trial.index_reader.read_columns(names, steps, ModeKeys.GLOBAL, None):
        for step, array in zip(group.steps, group.arrays(), strict=True):
            value = array
            if value is None:
                try:
                    value = trial.tensor(group.name).value(step)
                except (OSError, DebugExtError):  # noted as a problem of the trial
                    continue
            if value.dtype.kind in "biuf" and value.size:
                with np.errstate(all="ignore"):
                    number = float(value.reshape(-1)[0]) if value.size == 1 else float(np.mean(value, dtype=float))
                found[group.name][step] = number, value.size
    return found
