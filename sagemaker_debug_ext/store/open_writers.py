"""The open writers of this process, for readers that would wait for steps that only their own thread can write.

A notebook cell that evaluates a trial after training runs on the thread that trains. No step can come while it waits,
and the end of the trial cannot either, because its hook is still open.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Final


class OpenWriter:
    """A writer that has not ended its trial.

    Args:
        settle: A method that writes all complete steps and waits until they are visible, and returns whether this
            process writes at all. It is referenced weakly.
    """

    def __init__(self, settle: Callable[[], bool]) -> None:
        self.thread_id = threading.get_ident()
        """The thread that trains; the writer updates it with its steps."""
        self.process_id = os.getpid()
        """The process that trains."""
        self._settle = weakref.WeakMethod(settle)

    def is_own(self) -> bool:
        """Return whether the calling thread is the one that trains."""
        return self.thread_id == threading.get_ident() and self.process_id == os.getpid()

    def settle(self) -> bool:
        """Write all complete steps, wait until they are visible, and return whether this process writes at all."""
        settle = self._settle()
        return settle is not None and settle()


_OPEN: Final[weakref.WeakValueDictionary[str, OpenWriter]] = weakref.WeakValueDictionary()


def announce(url: str, writer: OpenWriter) -> None:
    """Register the writer of a trial."""
    _OPEN[url] = writer


def withdraw(url: str, writer: OpenWriter) -> None:
    """Remove a writer that has ended its trial."""
    if _OPEN.get(url) is writer:
        del _OPEN[url]


def settle_own(url: str) -> bool:
    """Return whether the calling thread writes a trial and has not ended it; its complete steps are visible then."""
    writer = _OPEN.get(url)
    return writer is not None and writer.is_own() and writer.settle()
