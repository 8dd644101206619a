"""The parting of two trials: the first step from which a value of one stays above twice that of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sagemaker_debug_ext.looking.measures import Flags, Floats
from sagemaker_debug_ext.looking.story import Parting

if TYPE_CHECKING:
    from sagemaker_debug_ext.looking.material import Material

_OCTAVES: Final = 1.0
_STEPS: Final = 3
_MEASURES: Final = ("gradient_norm", "weight_norm", "output_size")


def find_parting(first: Material, second: Material, numbers: tuple[int, int]) -> Parting:
    """Return the parting of two trials. Layers are compared by name; if that is not possible, losses are.

    Args:
        first: The one trial.
        second: The other trial.
        numbers: Their numbers in the story.
    """
    num_compared = 0
    earliest: tuple[int, str, str] | None = None
    for measure, tensors, steps, ratios in _ratios(first, second):
        num_compared = max(num_compared, len(tensors))
        found = first_lasting(np.abs(ratios) > _OCTAVES, ratios)
        if found is not None:
            row, column = found
            if earliest is None or steps[column] < earliest[0]:
                earliest = (steps[column], tensors[row], measure)
    step, tensor, measure = earliest or (None, "", "")
    return Parting(
        first=numbers[0],
        second=numbers[1],
        step=step,
        tensor=tensor,
        label=first.labels.of(tensor),
        measure=measure,
        num_compared=num_compared,
    )


def _ratios(first: Material, second: Material) -> list[tuple[str, list[str], list[int], Floats]]:
    """Return log2 of the values of one trial over those of the other: measure, tensors, steps, ``(tensors, steps)``."""
    found = []
    for name in _MEASURES:
        one, other = first.measures.grids.get(name), second.measures.grids.get(name)
        if one is None or other is None:
            continue
        known = set(other.tensors)
        tensors = [tensor for tensor in one.tensors if tensor in known]
        steps = sorted(set(one.steps) & set(other.steps))
        if tensors and steps:
            pair = []
            for grid in (one, other):
                row = {tensor: number for number, tensor in enumerate(grid.tensors)}
                column = {step: number for number, step in enumerate(grid.steps)}
                pair.append(grid.values[np.ix_([row[t] for t in tensors], [column[s] for s in steps])])
            found.append((one.measure.title, tensors, steps, _log_ratio(*pair)))
    losses = {(curve.name, curve.mode): curve for curve in second.curves if curve.is_loss}
    for curve in first.curves:
        match = losses.get((curve.name, curve.mode)) if curve.is_loss else None
        steps = sorted(set(curve.steps) & set(match.steps)) if match else []
        if match and steps:
            values = [dict(zip(line.steps, line.values.tolist(), strict=True)) for line in (curve, match)]
            rows = [np.array([[of[step] for step in steps]]) for of in values]
            found.append((f"loss ({curve.mode.name})", [curve.name], steps, _log_ratio(*rows)))
    return found


def _log_ratio(one: Floats, other: Floats) -> Floats:
    """Return log2 of a ratio: infinite where one of the two is not finite, 0 where both are alike."""
    with np.errstate(all="ignore"):
        ratios = np.log2(np.abs(one) / np.abs(other))
    broken = np.isfinite(one) != np.isfinite(other)
    return np.where(broken, np.inf, np.nan_to_num(ratios, nan=0.0, posinf=0.0, neginf=0.0))


def first_lasting(apart: Flags, ratios: Floats) -> tuple[int, int] | None:
    """Return row and column of the first three flags in a row; of rows that are equally early, the one farthest off."""
    if apart.shape[1] < _STEPS:
        return None
    windows: Flags = np.asarray(np.lib.stride_tricks.sliding_window_view(apart, _STEPS, axis=1).all(axis=2))
    columns = np.flatnonzero(windows.any(axis=0))
    if not len(columns):
        return None
    column = int(columns[0])
    return int(np.argmax(np.where(windows[:, column], np.abs(ratios[:, column]), -1))), column
