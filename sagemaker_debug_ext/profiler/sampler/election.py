"""Locks by which processes of a machine elect one of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def exclusive_lock(path: str, wait: Callable[[], bool]) -> Iterator[bool]:
    """Hold the lock of a file, which is removed in the end; the block gets whether this process holds it.

    A process that gets the lock of a file that its last holder has removed takes the file that stands there by now.
    Locks belong to this process alone: its forks do not hold them.

    Args:
        path: The file.
        wait: Called while another process holds the lock; waits a while, and returns whether to give up.

    Raises:
        OSError: The file cannot be made.
    """
    while True:
        with open(path, "ab") as file:
            while not _try_to_lock(file.fileno()):
                if wait():
                    yield False
                    return
            if _is_at(path, file.fileno()):
                try:
                    yield True
                finally:
                    with contextlib.suppress(OSError):
                        os.unlink(path)
                return


def _try_to_lock(descriptor: int) -> bool:
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
