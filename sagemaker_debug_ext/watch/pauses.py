"""The time between two looks for new data, which is cut short when training ends."""

from __future__ import annotations

import threading
from typing import Final

HURRIED_SECONDS: Final = 1.0
"""Longest pause once training waits for its last steps, which other workers may still write."""


class Pauses:
    """The pauses of a thread that looks for new data; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._is_hurried = threading.Event()
        self._have_ended = threading.Event()

    @property
    def have_ended(self) -> bool:
        """Whether `end` was called."""
        return self._have_ended.is_set()

    def hurry(self) -> None:
        """End the pause of now, and make later ones short: training has ended, or waits for its last steps."""
        self._is_hurried.set()

    def end(self) -> None:
        """End the pause of now; there are no later ones."""
        self._have_ended.set()
        self._is_hurried.set()

    def take(self, seconds: float) -> bool:
        """Pause for some seconds, or shorter; return whether `end` was called."""
        if self._is_hurried.is_set():
            self._have_ended.wait(min(seconds, HURRIED_SECONDS))
        else:
            self._is_hurried.wait(seconds)
        return self.have_ended
