"""What is wrong with the files of a trial: described, counted once, never fatal for the rest of it."""

from __future__ import annotations

import logging

import attrs

LOG = logging.getLogger(__name__)


@attrs.frozen
class Problem:
    """One object of a trial that cannot be used.

    Args:
        path: Where it lies.
        reason: What is wrong with it.
    """

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Problems:
    """The problems of one trial, one for each object, logged when they are first seen.

    Args:
        url: The root of the trial.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._by_key: dict[str, Problem] = {}

    def note(self, key: str, reason: str) -> None:
        """Note what is wrong with an object; a problem noted earlier for it is replaced."""
        problem = Problem(f"{self._url}/{key}", reason)
        if self._by_key.get(key) != problem:
            LOG.warning("%s", problem)
        self._by_key[key] = problem

    def forget(self, key: str) -> None:
        """Remove the problems of an object that has been replaced by a sound one."""
        self._by_key.pop(key, None)

    def all(self) -> tuple[Problem, ...]:
        """Return the problems, sorted by path."""
        return tuple(problem for _, problem in sorted(self._by_key.copy().items()))
