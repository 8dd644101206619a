"""What a library must be able to do to be measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np


class Adapter(Protocol):
    """Puts a library behind the benchmarks; it imports the library when it is first used, not before."""

    name: ClassVar[str]
    environment: ClassVar[Mapping[str, str]]
    """Variables for the processes that are measured."""

    def write_step(self, path: str, step: int, worker: str, tensors: Sequence[tuple[str, np.ndarray]]) -> None:
        """Write one step; return when a reader can see it."""

    def finish(self, path: str, workers: Sequence[str], names: Sequence[str]) -> None:
        """Write what a reader needs besides the steps, and mark the end."""

    def open(self, path: str) -> Any:
        """Open a trial."""

    def names(self, trial: Any) -> list[str]:
        """Return the names of its tensors."""

    def steps(self, trial: Any) -> list[int]:
        """Return its steps."""

    def value(self, trial: Any, name: str, step: int) -> np.ndarray:
        """Return one value."""

    def values(self, trial: Any, name: str) -> Mapping[int, np.ndarray]:
        """Return all values of one tensor."""

    def all_values(self, trial: Any) -> Mapping[str, Mapping[int, np.ndarray]]:
        """Return all values of all tensors, the fastest way there is."""
