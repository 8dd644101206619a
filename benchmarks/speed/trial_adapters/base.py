"""What a library has to implement for the benchmarks of trials."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np


class BaseAdapter(ABC):
    """Calls a library. It imports the library on first use, so that imports are not part of the measurement.

    Attributes:
        package: Name of the library's package.
        environment: Environment variables of the measured processes.
    """

    package: ClassVar[str]
    environment: ClassVar[Mapping[str, str]]

    @abstractmethod
    def write_step(self, path: str, step: int, worker: str, tensors: Sequence[tuple[str, np.ndarray]]) -> None:
        """Write one step. Return when a reader can see it."""

    @abstractmethod
    def finish(self, path: str, workers: Sequence[str], names: Sequence[str]) -> None:
        """Write the collections of each worker, and mark the trial as ended."""

    @abstractmethod
    def all_values(self, trial: Any) -> Mapping[str, Mapping[int, np.ndarray]]:
        """Return all values of all tensors, by the fastest way."""

    def open(self, path: str) -> Any:
        """Open a trial."""
        return importlib.import_module(f"{self.package}.trials").create_trial(path)

    def names(self, trial: Any) -> list[str]:
        """Return the names of its tensors."""
        return trial.tensor_names()

    def steps(self, trial: Any) -> list[int]:
        """Return its steps."""
        return trial.steps()

    def value(self, trial: Any, name: str, step: int) -> np.ndarray:
        """Return one value."""
        return trial.tensor(name).value(step)

    def values(self, trial: Any, name: str) -> Mapping[int, np.ndarray]:
        """Return all values of one tensor."""
        return trial.tensor(name).values()
