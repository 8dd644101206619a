"""Single numbers over steps: losses, metrics, learning rates and other saved scalars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.looking.measures import in_saving_order, tensor_groups
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

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


def read_curves(trial: Trial, names: Sequence[str]) -> list[Curve]:
    """Return the curves of tensors, one for each mode, without tensors that hold no numbers or several at some step.

    Losses that hold a number for each sample are drawn as their means.
    """
    known = trial.collections().get(CollectionKeys.LOSSES)
    is_loss = {name: known is not None and known.matches(name) for name in names}
    modes: dict[int, ModeKeys] = {}
    found = []
    for name, numbers in _read(trial, names):
        if any(size != 1 for _, _, size in numbers) and not is_loss[name]:
            continue
        by_mode: dict[ModeKeys, list[tuple[int, float]]] = {}
        for step, number, _ in numbers:
            if step not in modes:
                modes[step] = trial.mode(step) or ModeKeys.GLOBAL
            by_mode.setdefault(modes[step], []).append((step, number))
        note = "mean of its numbers" if any(size != 1 for _, _, size in numbers) else ""
        for mode, points in sorted(by_mode.items(), key=lambda item: item[0].value):
            steps, values = zip(*points, strict=True)
            found.append(Curve(name, mode, steps, np.array(values), is_loss[name], note))
    return found


def _read(trial: Trial, names: Iterable[str]) -> Iterable[tuple[str, list[tuple[int, float, int]]]]:
    """Yield the steps of each tensor with the mean and the count of its numbers."""
    wanted = list(names)
    found: dict[str, list[tuple[int, float, int]]] = {name: [] for name in wanted}
    for group in trial.index_reader.read_columns(wanted, None, ModeKeys.GLOBAL, None):
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
                found[group.name].append((step, number, value.size))
    return ((name, sorted(numbers)) for name, numbers in found.items() if numbers)
