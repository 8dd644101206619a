"""Problems with files of a trial: recorded once per file, without affecting other files."""

from __future__ import annotations

import logging

import attrs

from sagemaker_debug_ext._printable import printable_name

LOG = logging.getLogger(__name__)


@attrs.frozen
class Problem:
    """One object of a trial that cannot be used.

    Args:
        path: URL or path of the object.
        reason: Why the object cannot be used.
    """

    path: str
    reason: str

    def __str__(self) -> str:
        return printable_name(f"{self.path}: {self.reason}")


class Problems:
    """The problems of one trial, at most one per object, logged when they first occur.

    Args:
        url: The root of the trial.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._by_key: dict[str, Problem] = {}

    def note(self, key: str, reason: str) -> None:
        """Record a problem with an object, replacing an earlier one."""
        problem = Problem(f"{self._url}/{key}", reason)
        if self._by_key.get(key) != problem:
            LOG.warning("%s", problem)
        self._by_key[key] = problem

    def forget(self, key: str) -> None:
        """Remove the problem of an object that has been replaced by a valid one."""
        self._by_key.pop(key, None)

    def all(self) -> tuple[Problem, ...]:
        """Return the problems, sorted by path."""
        return tuple(problem for _, problem in sorted(self._by_key.copy().items()))
