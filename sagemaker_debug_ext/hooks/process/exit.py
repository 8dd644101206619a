"""Run callbacks at process exit, including in `multiprocessing` children.

Forked children leave by `os._exit`, which runs no `atexit` handlers before Python 3.13. The finalizers of
`multiprocessing` run in all its children; before Python 3.13 they run while the exception that ends the child, if any,
is still being handled, in later versions after that, like `atexit` handlers.
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
    """Register a callback for process exit. It is not called on a signal or after `os._exit`.

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
    """Return the `id` of the exception being handled, or None. No reference to it is kept."""
    error = sys.exc_info()[1]
    return None if error is None else id(error)


def is_exiting_with_error(since: int | None) -> bool:
    """Return whether an exception is on its way through the calling code, or has ended this process.

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
