"""Deviations of workers: the largest deviation of each worker from the median worker, over all layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from sagemaker_debug_ext.looking.measures import Flags, Floats, LayerGrid
from sagemaker_debug_ext.looking.measuring import MeasureReader

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

_MEASURES: Final = ("gradient_norm", "weight_norm", "output_size")
MAX_WORKERS: Final = 64


@attrs.frozen(eq=False)
class RankDeviations:
    """Deviation of each worker from the median worker.

    Args:
        measure: The measure that was compared, in words.
        workers: The workers, sorted.
        steps: Global steps.
        octaves: ``(workers, steps)``: largest absolute log2 of a tensor's value over that of the median worker.
        saved: ``(workers, steps)``: where a worker saved anything that was compared.
        tensors: The tensor with the largest deviation, by worker.
        last_steps: Last step of each worker.
    """

    measure: str
    workers: tuple[str, ...]
    steps: tuple[int, ...]
    octaves: Floats
    saved: Flags
    tensors: tuple[str, ...]
    last_steps: tuple[int, ...]


def last_steps(trial: Trial) -> dict[str, int]:
    """Return the last global step that each worker saved."""
    with trial.index_reader.lock:
        return trial.index_reader.index.last_steps()


class RankReader:
    """Reads how far workers are apart, and further steps as they come.

    Args:
        trial: The trial.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._readers: dict[str, MeasureReader] = {}

    def read(self, seconds: float) -> RankDeviations | None:
        """Return how far workers are apart; None if none of their layers can be compared.

        Args:
            seconds: Time for reading, shared by the workers.
        """
        ends = last_steps(self._trial)
        if len(ends) < 2:
            return None
        measured = {}
        for worker in list(ends)[:MAX_WORKERS]:
            reader = self._readers.setdefault(worker, MeasureReader(self._trial, worker))
            reader.read((), seconds / len(ends))
            measured[worker] = reader.measures().grids
        for name in _MEASURES:
            grids = {worker: grids[name] for worker, grids in measured.items() if name in grids}
            if len(grids) > 1:
                return _compare(grids, ends)
        return None


def _compare(grids: dict[str, LayerGrid], ends: dict[str, int]) -> RankDeviations:
    steps = sorted(set().union(*(grid.steps for grid in grids.values())))
    common = set.intersection(*(set(grid.tensors) for grid in grids.values()))
    tensors = [name for name in next(iter(grids.values())).tensors if name in common]
    column = {step: number for number, step in enumerate(steps)}
    values = np.full((len(grids), len(tensors), len(steps)), np.nan)
    for number, grid in enumerate(grids.values()):
        kept = grid.rows(tensors)
        order = {name: row for row, name in enumerate(kept.tensors)}
        rows = [order[name] for name in tensors]
        values[number][:, [column[step] for step in grid.steps]] = np.where(kept.saved, kept.values, np.nan)[rows]
    comparable = np.isfinite(values) & (values > 0)
    usable = np.where(comparable, values, np.nan)
    several = comparable.sum(axis=0) > 1
    median = np.where(several, np.nanmedian(np.where(several, usable, 1.0), axis=0), np.nan)
    with np.errstate(all="ignore"):
        octaves = np.nan_to_num(np.abs(np.log2(usable / median)))
    loudest = octaves.max(axis=2).argmax(axis=1)
    return RankDeviations(
        measure=next(iter(grids.values())).measure.title,
        workers=tuple(grids),
        steps=tuple(steps),
        octaves=octaves.max(axis=1),
        saved=comparable.any(axis=1),
        tensors=tuple(tensors[number] for number in loudest.tolist()),
        last_steps=tuple(ends[worker] for worker in grids),
    )
