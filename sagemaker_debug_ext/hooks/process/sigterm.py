"""SIGTERM, which ends jobs on spot instances: hooks finish first, then happens what would have happened without them.

Python runs handlers on the main thread, between two instructions of whatever is under way there. So a process that is
inside a long call of a library gets to it when that call returns, and nothing can be done against SIGKILL.
"""

from __future__ import annotations

import _thread
import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

LOG = logging.getLogger(__name__)

GRACE_SECONDS: Final = 20.0
"""How long finishing may take; most platforms kill what still runs 30 to 120 seconds after SIGTERM."""

_SEND_AGAIN_SECONDS: Final = 0.005
_HOOKS: Final = "sagemaker_debug_ext.hooks."
_WRAPPING_MODULES: Final[set[str]] = set()


class SigtermHandler:
    """Stands before the handler that SIGTERM had, as long as somebody listens.

    Args:
        previous: What `signal.getsignal` said: a handler of the script, or the default action.
    """

    def __init__(self, previous: Any) -> None:
        self._previous = previous
        self._listeners: list[Callable[[bool], object]] = []
        self._put_off_since: float | None = None

    def add(self, listener: Callable[[bool], object]) -> None:
        """Call `listener` at SIGTERM."""
        self._listeners.append(listener)

    def remove(self, listener: Callable[[bool], object]) -> None:
        """Call `listener` no more; without any, the script's handler is restored unless it has set another since."""
        if listener in self._listeners:
            self._listeners.remove(listener)
        if not self._listeners:
            self.step_back()

    def step_back(self) -> None:
        """Restore the handler before this one."""
        if self._is_installed():
            with contextlib.suppress(ValueError):  # not on the main thread; without listeners this one does no harm
                signal.signal(signal.SIGTERM, self._previous)

    def _is_installed(self) -> bool:
        installed: Any = signal.getsignal(signal.SIGTERM)
        return installed is self

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Call the listeners, then act as the process would without this handler."""
        if not self._is_installed():
            self._run_chained(number, frame)
            return
        if self._listeners and _is_in_hook(frame) and not self._is_too_late():
            # What the hook is doing this moment must not be interrupted by what it would do now.
            _thread.start_new_thread(_send_again, ())
            return
        ends_process = not callable(self._previous)
        if not _is_in_hook(frame):
            self._tell(ends_process)
        self._put_off_since = None
        if not ends_process:
            self._previous(number, frame)
            return
        signal.signal(signal.SIGTERM, self._previous)
        os.kill(os.getpid(), signal.SIGTERM)

    def _run_chained(self, number: int, frame: FrameType | None) -> None:
        """Write the steps on a call by a handler that the script has set since, and leave the rest to that handler.

        Whoever set it decides what becomes of the process: without hook it would not have called the default action.
        """
        if _is_in_hook(frame):
            # What the hook is doing must not be interrupted: a thread waits for it. To send the signal again would run
            # the other handler twice.
            _thread.start_new_thread(self._tell, (False,))
        else:
            self._tell(ends_process=False)
        if callable(self._previous):
            self._previous(number, frame)

    def _tell(self, ends_process: bool) -> None:
        for listener in tuple(self._listeners):
            _call(listener, ends_process)

    def _is_too_late(self) -> bool:
        now = time.monotonic()
        if self._put_off_since is None:
            self._put_off_since = now
        return now - self._put_off_since > GRACE_SECONDS


def wraps_training(module: str) -> None:
    """Register a module whose functions stay on the stack while the script trains.

    SIGTERM runs the listeners there at once. Other functions of a hook change its state, so SIGTERM waits until they
    have returned.

    Args:
        module: The module's ``__name__``.
    """
    _WRAPPING_MODULES.add(module)


def on_sigterm(listener: Callable[[bool], object]) -> Callable[[], None]:
    """Call `listener` at SIGTERM, before the script's own handler or the default action.

    Nothing is done off the main thread, where Python lets nobody set handlers, nor where SIGTERM is ignored or handled
    outside of Python.

    Args:
        listener: Called with whether the process ends right afterwards; otherwise the script's handler decides.

    Returns:
        What to call to have it called no more.
    """
    known = signal.getsignal(signal.SIGTERM)
    is_possible = threading.current_thread() is threading.main_thread() and known not in (signal.SIG_IGN, None)
    if not is_possible:
        LOG.debug("SIGTERM is left as it is")
        return _do_nothing
    handler = known if isinstance(known, SigtermHandler) else SigtermHandler(known)
    handler.add(listener)
    if handler is not known:
        signal.signal(signal.SIGTERM, handler)
    return lambda: handler.remove(listener)


def _call(listener: Callable[[bool], object], ends_process: bool) -> None:
    try:
        listener(ends_process)
    except Exception:  # the process ends as it was told to, whatever breaks here
        LOG.exception("the trial may not be finished at SIGTERM")


def _do_nothing() -> None:
    """Stand in where nothing is to be undone."""


def _is_in_hook(frame: FrameType | None) -> bool:
    """Return whether a function of the hook is running that must not be interrupted."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith(_HOOKS) and module not in _WRAPPING_MODULES:
            return True
        frame = frame.f_back
    return False


def _send_again() -> None:
    time.sleep(_SEND_AGAIN_SECONDS)
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGTERM)


def _leave_children_alone() -> None:
    handler = signal.getsignal(signal.SIGTERM)
    if isinstance(handler, SigtermHandler):
        handler.step_back()


os.register_at_fork(after_in_child=_leave_children_alone)  # data loaders are forked, and told by SIGTERM to end
