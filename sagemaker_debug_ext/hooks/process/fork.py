"""What a fork leaves of a hook: whether this is still the process that it was made in, and locks that outlive forks."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class _Process:
    """Tells processes apart without asking the system, which takes as long as the rest of a step with nothing due."""

    def __init__(self) -> None:
        self.mark = object()
        """Another one after a fork."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.mark = object()


PROCESS: Final = _Process()
"""The process that runs this."""


def fork_safe_lock() -> AbstractContextManager[bool]:
    """Return a lock that no child process finds held by a thread that it does not have: forks wait for it.

    The thread that holds it may take it again, such as in a signal's handler.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
