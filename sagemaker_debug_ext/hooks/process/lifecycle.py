"""The life of a hook in its process: open, switched off by a failure, closed."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable

from sagemaker_debug_ext.hooks.fail_safe import run_all
from sagemaker_debug_ext.hooks.process.exit import current_exception_id, is_exiting_with_error, on_exit
from sagemaker_debug_ext.hooks.process.fork import SharedFlag, fork_token
from sagemaker_debug_ext.hooks.process.sigterm import GRACE_SECONDS, on_sigterm

LOG = logging.getLogger(__name__)


class HookLifecycle:
    """Tracks whether a hook works and in which process, and registers it for process exit and SIGTERM.

    A hook works in the process that made it. If it was not used before a fork, its copy works in the child, too, from
    the child's first use on. Data loaders, which are forked as well, do not use it.

    Args:
        url: Where the hook writes, for messages.
        lock: The hook's lock.
        can_move: Called in a forked child; returns whether the hook was not used before the fork.
        on_move: Called in a forked child when the hook begins to work there.
    """

    def __init__(
        self,
        url: str,
        lock: threading.RLock,
        can_move: Callable[[], bool],
        on_move: Callable[[], object],
    ) -> None:
        self.failure: Exception | None = None
        """The first failure; None as long as there is none."""
        self.is_off = False
        """Whether saving is switched off, by a failure or because this process does not write."""
        self.is_closed = False
        self.was_interrupted = False
        """Whether Ctrl-C has interrupted closing, so that the rest is still to be done."""
        self.has_raised = False
        """Whether the hook's ``with`` block was left by an exception."""
        self.has_moved = SharedFlag()
        """Whether a forked child has used the hook."""
        self._url = url
        self._lock = lock
        self._can_move = can_move
        self._on_move = on_move
        self._has_warned = False
        self._has_told_of_fork = False
        self._exception_at_start = current_exception_id()
        self._fork_token = fork_token()
        self._forget_exit: Callable[[], None] = _do_nothing
        self._forget_sigterm: Callable[[], None] = _do_nothing

    def attach(self, close: Callable[[], object], finish_early: Callable[[bool], object] | None) -> None:
        """Register the hook's callbacks.

        Args:
            close: Called at process exit.
            finish_early: Called at SIGTERM with whether the process ends, while the lock is held; None for no handler.
        """
        self._forget_exit = on_exit(close)
        if finish_early is not None:
            self._forget_sigterm = on_sigterm(lambda ends_process: self._on_sigterm(finish_early, ends_process))

    def is_own_process(self) -> bool:
        """Return whether the hook works in this process, and not only in the one that this was forked from."""
        return fork_token() is self._fork_token

    def use(self) -> bool:
        """Return whether the hook saves, for a call that uses it; the first one in a forked child may move it there."""
        if fork_token() is not self._fork_token and not (self.is_closed or self._has_told_of_fork) and self._can_move():
            self._fork_token = fork_token()
            self.has_moved.set()
            self._on_move()
        return self.is_active()

    def is_active(self) -> bool:
        """Return whether the hook saves."""
        return not (self.is_off or self.is_closed) and (fork_token() is self._fork_token or self._is_of_parent())

    def accepts(self, call: str) -> bool:
        """Return whether the hook accepts a call of the script. Warn once if it is closed."""
        if self.is_closed and not self._has_warned:
            self._has_warned = True
            LOG.warning("%s() does nothing: the hook for %r is closed", call, self._url)
        return self.use()

    def has_error_exit(self) -> bool:
        """Return whether an exception ends the ``with`` block or the process; one handled since the start does not."""
        return self.has_raised or is_exiting_with_error(since=self._exception_at_start)

    def switch_off(self, error: Exception, is_strict: bool) -> None:
        """Switch saving off because of an error; called from any thread. Only the first error is kept and logged."""
        self.is_off = True
        if self.failure is not None:
            return
        self.failure = error
        if not is_strict:
            with contextlib.suppress(Exception):  # of a logging handler of the script
                LOG.error("sagemaker_debug_ext: saving is switched off, training goes on: %s", error, exc_info=error)

    def raise_failure(self) -> None:
        """Raise the first failure, if there is one."""
        if self.failure is not None:
            raise self.failure

    def begin_close(self) -> bool:
        """Mark the hook as closed; return False if it is closed already or belongs to another process."""
        if (self.is_closed and not self.was_interrupted) or not self.is_own_process():
            return False
        self.is_closed = True
        self.was_interrupted = False
        return True

    def detach(self) -> None:
        """Stop handling process exit and SIGTERM."""
        run_all(self._forget_exit, self._forget_sigterm)

    def _is_of_parent(self) -> bool:
        """Warn once that the hook saves nothing in a forked child, and return False."""
        if not self._has_told_of_fork:
            self._has_told_of_fork = True
            LOG.warning(
                "the hook for %r saves nothing in process %d, which was forked from the one that uses it: "
                "make the hook in the process that trains",
                self._url,
                os.getpid(),
            )
        return False

    def _on_sigterm(self, finish_early: Callable[[bool], object], ends_process: bool) -> None:
        if self.is_closed or not self.is_own_process() or not self._lock.acquire(timeout=GRACE_SECONDS):
            return
        try:
            finish_early(ends_process)
        finally:
            self._lock.release()


def _do_nothing() -> None:
    """Stand in for a callback that is not registered."""
