"""Deviations of workers: the largest deviation of each worker from the median worker, over all layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from sagemaker_debug_ext.looking.measures import MEASURES, Flags, Floats, LayerGrid
from sagemaker_debug_ext.looking.measuring import LAST_COLUMNS, MeasureReader, shared_columns

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
        is_pooled: Whether some steps stand for those up to the next one, with the largest deviation.
    """

    measure: str
    workers: tuple[str, ...]
    steps: tuple[int, ...]
    octaves: Floats
    saved: Flags
    tensors: tuple[str, ...]
    last_steps: tuple[int, ...]

    def until(self, count: int) -> RankDeviations:
        """Return the deviations at the first steps."""
        return attrs.evolve(
            self, steps=self.steps[:count], octaves=self.octaves[:, :count], saved=self.saved[:, :count]
        )

    def pooled(self, max_columns: int) -> RankDeviations:
        """Return fewer steps, the older ones with the largest deviation up to the next, if there are too many."""
        if len(self.steps) <= max_columns:
            return self
        starts = shared_columns(np.array(self.steps), 0, len(self.steps) - LAST_COLUMNS, max_columns)
        return attrs.evolve(
            self,
            steps=tuple(self.steps[place] for place in starts.tolist()),
            octaves=np.maximum.reduceat(self.octaves, starts, axis=1),
            saved=np.logical_or.reduceat(self.saved, starts, axis=1),
        )


def last_steps(trial: Trial) -> dict[str, int]:
    """Return the last global step that each worker saved."""
    with trial.index_reader.lock:
        return trial.index_reader.index.last_steps()


class RankReader:
    """Reads how far workers are apart, and further steps as they come.

    Args:
        trial: The trial.
        max_columns: Number of steps from which on older steps share columns, which keep the largest deviations; layers
            of steps that all workers have are then forgotten. None for no limit.
    """

    def __init__(self, trial: Trial, max_columns: int | None = None) -> None:
        self._trial = trial
        self._max_columns = max_columns
        self._readers: dict[str, MeasureReader] = {}
        self._past: RankDeviations | None = None

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
            measured[worker] = reader.measures()
        past = self._past
        for name in _MEASURES:
            grids = {worker: of_worker.grids[name] for worker, of_worker in measured.items() if name in of_worker.grids}
            is_shown = past is None or MEASURES[name].title == past.measure
            if not is_shown or len(grids) < (2 if past is None else 1):  # the last worker goes on alone
                continue
            recent = _compare(grids, ends)
            found = _join(past, recent)
            if self._max_columns is not None and all(of.num_read == of.num_steps for of in measured.values()):
                found = found.pooled(self._max_columns)
                self._forget(found, min(LAST_COLUMNS, len(recent.steps)))
            return found
        return past

    def _forget(self, found: RankDeviations, num_kept: int) -> None:
        """Remember deviations, except for the last steps, in place of the layers that they are of."""
        if len(found.steps) > num_kept:
            self._past = found.until(len(found.steps) - num_kept)
            for reader in self._readers.values():
                reader.forget_before(found.steps[-num_kept])


def _join(past: RankDeviations | None, recent: RankDeviations) -> RankDeviations:
    """Return earlier and later deviations together; the later ones alone if layers were read anew."""
    if past is None or recent.steps[0] <= past.steps[-1]:
        return recent
    last = dict(zip((*past.workers, *recent.workers), (*past.last_steps, *recent.last_steps), strict=True))
    workers = sorted(last)
    parts = [_of_workers(part, workers) for part in (past, recent)]
    loudest = np.argmax([octaves.max(axis=1) for octaves, _, _ in parts], axis=0)
    return RankDeviations(
        measure=recent.measure,
        workers=tuple(workers),
        steps=past.steps + recent.steps,
        octaves=np.hstack([octaves for octaves, _, _ in parts]),
        saved=np.hstack([saved for _, saved, _ in parts]),
        tensors=tuple(parts[part][2][number] for number, part in enumerate(loudest.tolist())),
        last_steps=tuple(last[worker] for worker in workers),
    )


def _of_workers(found: RankDeviations, workers: Sequence[str]) -> tuple[Floats, Flags, list[str]]:
    """Return deviations, where they were saved, and the tensors, of some workers, whether compared or not."""
    octaves = np.zeros((len(workers), len(found.steps)), found.octaves.dtype)
    saved = np.zeros(octaves.shape, np.bool_)
    rows = [workers.index(worker) for worker in found.workers]
    octaves[rows], saved[rows] = found.octaves, found.saved
    tensors = dict(zip(found.workers, found.tensors, strict=True))
    return octaves, saved, [tensors.get(worker, "") for worker in workers]


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
