"""Small trials for tests, written from plain arrays, at once or step by step as in a running job."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy.typing as npt

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.format.messages import to_array
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.store.backends.s3 import S3Options

ModeStep: TypeAlias = tuple[ModeKeys, int]
Tensors: TypeAlias = Mapping[str, npt.ArrayLike]

PATTERNS: Final[Mapping[str, list[str]]] = {
    CollectionKeys.GRADIENTS: ["^gradient"],
    CollectionKeys.LOSSES: ["[Ll]oss"],
    CollectionKeys.WEIGHTS: ["^(?!gradient).*weight"],
}
"""Default collections of a small trial, with the patterns of their members."""


class SmallTrial:
    """Writes a trial step by step, as a job does.

    Args:
        path: Folder of the trial.
        workers: Names of the workers that write.
        collections: Patterns of each collection; those of `PATTERNS` by default.
        s3: Options of the S3 connection, if the path is on S3.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        workers: Iterable[str] = ("worker_0",),
        collections: Mapping[str, list[str]] | None = None,
        s3: S3Options | None = None,
    ) -> None:
        backend = open_backend(path, s3)
        self._writers = {worker: TrialWriter(backend, worker) for worker in workers}
        self._next_step = 0
        patterns = PATTERNS if collections is None else collections
        groups = [Collection(name, include_regex=regex).to_json_dict() for name, regex in patterns.items()]
        for writer in self._writers.values():
            writer.write_collections(groups, num_workers=len(self._writers))

    def write(
        self,
        mode: ModeKeys,
        mode_step: int,
        tensors: Tensors,
        *,
        global_step: int | None = None,
        worker: str | None = None,
    ) -> int:
        """Write the tensors of a step.

        Args:
            mode: Mode of the step.
            mode_step: Number of the step within the mode.
            tensors: Values by name; reductions under the names that `store.keys.reduction_tensor_name` returns.
            global_step: Global number of the step; by default one more than that of the previous step.
            worker: The worker that writes; by default all workers write the same values.

        Returns:
            The global number of the step.
        """
        step = self._next_step if global_step is None else global_step
        named = [NamedTensor(name, to_array(value), 0.0) for name, value in tensors.items()]
        for writer in self._writers.values() if worker is None else [self._writers[worker]]:
            writer.write_step(StepData(step, mode, mode_step, named))
        self._next_step = step + 1
        return step

    def end(self) -> None:
        """Mark the job as ended."""
        next(iter(self._writers.values())).end()


def write_trial(
    path: str | os.PathLike[str],
    steps: Mapping[ModeStep, Tensors],
    *,
    collections: Mapping[str, list[str]] | None = None,
    workers: Iterable[str] = ("worker_0",),
    ended: bool = True,
) -> None:
    """Write a whole trial.

    Args:
        path: Folder of the trial.
        steps: (Mode, mode step) → tensors, in the order of the global steps, which start at 0.
        collections: As for `SmallTrial`.
        workers: As for `SmallTrial`.
        ended: Whether the job has ended.
    """
    trial = SmallTrial(path, workers, collections)
    for (mode, mode_step), tensors in steps.items():
        trial.write(mode, mode_step, tensors)
    if ended:
        trial.end()
