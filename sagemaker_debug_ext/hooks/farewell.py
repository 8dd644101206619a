"""The end of a process, which children of multiprocessing come to another way than all others.

Those that are forked leave by `os._exit`, which up to Python 3.12 runs nothing of what `atexit` was told. What
multiprocessing itself calls in all its children comes, up to that version, earlier: while the exception that ends the
child, if any, is still known. Later versions call both when it is forgotten.
"""

from __future__ import annotations

import atexit
import functools
import sys
from collections.abc import Callable
from multiprocessing.util import Finalize
from typing import Final

_PRIORITY: Final = 10
"""As early as what closes the queues of multiprocessing, and before what ends its managers."""


def at_end(leave: Callable[[bool], object]) -> Callable[[], None]:
    """Have a function called when this process ends, unless a signal ends it or `os._exit`.

    In a child of multiprocessing that is when its function has returned or raised, so before its other threads have
    ended. A child that inherits the function without having asked for it may call it at its own end.

    Args:
        leave: Called once or twice, with whether an exception that nobody has caught is known to end a child of
            multiprocessing.

    Returns:
        What to call to have it called no more.
    """
    at_exit = functools.partial(leave, False)
    atexit.register(at_exit)
    # Forgotten by children: multiprocessing clears what their parent has told it, and knows whose it is.
    finalizer = Finalize(None, lambda: leave(_has_failed(sys.exc_info()[1])), exitpriority=_PRIORITY)

    def forget() -> None:
        atexit.unregister(at_exit)
        finalizer.cancel()

    return forget


def _has_failed(error: BaseException | None) -> bool:
    if isinstance(error, SystemExit):
        # So torch.multiprocessing ends a child whose function has raised: it passes the error on to the parent.
        return error.code not in (None, 0) and error.__context__ is not None
    return error is not None
