"""Which folders the hooks of this process are open for, and have written to."""

from __future__ import annotations

import logging
import os
import weakref
from typing import Final

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.hooks.claims import has_claim
from sagemaker_debug_ext.hooks.forks import fork_safe_lock
from sagemaker_debug_ext.store import manifest
from sagemaker_debug_ext.store.backends import Backend

LOG = logging.getLogger(__name__)

_OPEN: dict[str, weakref.WeakKeyDictionary[object, int]] = {}
"""Folder → open hook → number of the process that made it: this one, or the one it was forked from."""

_WRITTEN: dict[str, int] = {}
"""Folder → number of the process that has written to it last: as above."""

_LOCK: Final = fork_safe_lock()
"""Held while notes are taken: hooks may be made and closed on any thread, and in a signal's handler."""


def enter(hook: object, backend: Backend) -> None:
    """Take note of a new hook for a folder; a warning tells of another one that is open for it.

    Raises:
        SMDebugRuntimeError: The folder holds a trial that has ended, or that another hook of this process writes.
    """
    if manifest.has_ended(backend):
        raise SMDebugRuntimeError(
            f"out_dir must not hold a trial that has ended (got {backend.url!r}): choose another folder, "
            "or remove that one"
        )
    if has_claim(backend):
        raise SMDebugRuntimeError(
            f"out_dir must belong to one hook, and another one of this process writes to {backend.url!r}: "
            "use that hook, or choose another folder"
        )
    if note_open(hook, backend.url):
        LOG.warning(
            "another hook of this process is open for %r: the one that saves first has the folder, and saving of "
            "the other is switched off; use one hook, or another folder",
            backend.url,
        )


def note_open(hook: object, folder: str) -> bool:
    """Take note of a new hook, and tell whether another one of this process is open for the same folder."""
    with _LOCK:
        hooks = _OPEN.setdefault(folder, weakref.WeakKeyDictionary())
        has_others = os.getpid() in hooks.values()
        hooks[hook] = os.getpid()
        return has_others


def note_closed(hook: object, folder: str) -> None:
    """Take note of a hook's end."""
    with _LOCK:
        hooks = _OPEN.get(folder)
        if hooks is not None:
            hooks.pop(hook, None)
            if not hooks:
                del _OPEN[folder]


def note_written(folder: str) -> None:
    """Take note that a hook of this process writes to a folder."""
    _WRITTEN[folder] = os.getpid()


def is_written(folder: str) -> bool:
    """Tell whether a hook of this process writes to a folder, or has."""
    return _WRITTEN.get(folder) == os.getpid()
