"""The end of a process, to which children of multiprocessing come another way than all others, and what has led to it.

Those that are forked leave by `os._exit`, which up to Python 3.12 runs nothing of what `atexit` was told. What
multiprocessing itself calls in all its children comes, up to that version, earlier: while the exception that ends the
child, if any, is still known. Later versions call both when it is forgotten.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from multiprocessing.util import Finalize
from typing import Final

_PRIORITY: Final = 10
"""As early as what closes the queues of multiprocessing, and before what ends its managers."""


def on_exit(leave: Callable[[], object]) -> Callable[[], None]:
    """Have a function called when this process ends, unless a signal ends it or `os._exit`.

    In a child of multiprocessing that is when its function has returned or raised, so before its other threads have
    ended. A child that inherits the function without having asked for it may call it at its own end.

    Args:
        leave: Called once or twice.

    Returns:
        What to call to have it called no more.
    """
    atexit.register(leave)
    # Forgotten by children: multiprocessing clears what their parent has told it, and knows whose it is.
    finalizer = Finalize(None, leave, exitpriority=_PRIORITY)

    def forget() -> None:
        atexit.unregister(leave)
        finalizer.cancel()

    return forget


def current_exception_id() -> int | None:
    """Return which exception the calling code is dealing with, as a number, which holds nothing of it; None if none."""
    error = sys.exc_info()[1]
    return None if error is None else id(error)


def is_exiting_with_error(since: int | None) -> bool:
    """Tell whether an exception is on its way through the calling code, or has ended this process.

    It is on its way where `finally` is at work. What only says that something ends, as `sys.exit` does, is none.

    Args:
        since: What `current_exception_id` returned earlier: code that deals with an exception from beginning to end is
            sound.
    """
    error = sys.exc_info()[1]
    if error is None or id(error) == since or isinstance(error, StopIteration):
        error = getattr(sys, "last_value", None)
    if isinstance(error, SystemExit):
        # So torch.multiprocessing ends a child whose function has raised: it passes the error on to the parent.
        return error.code not in (None, 0) and error.__context__ is not None
    return error is not None
