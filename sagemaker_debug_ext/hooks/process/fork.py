"""Forks: how a hook recognises the process it was made in, flags that forks share, and locks that none leaves held."""

from __future__ import annotations

import mmap
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class _Process:
    token = object()


def fork_token() -> object:
    """Return an object that stands for this process; a forked child gets another one.

    `os.getpid` would do, but takes as long as the rest of a step at which nothing is due.
    """
    return _Process.token


def _renew_token() -> None:
    _Process.token = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_token)


class SharedFlag:
    """A flag that a process shares with all processes forked from it."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1)

    def __bool__(self) -> bool:
        return self._memory[0] != 0

    def set(self) -> None:
        """Set the flag, for good."""
        self._memory[0] = 1


def fork_safe_lock() -> AbstractContextManager[bool]:
    """Return a reentrant lock that no child process inherits in a held state, because forks wait for it.

    It is reentrant so that a signal handler may take it on the thread that holds it.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock
