"""Which folders the hooks of this process are open for, and have written to."""

from __future__ import annotations

import os
import weakref
from typing import Final

from sagemaker_debug_ext.hooks.forks import fork_safe_lock

_OPEN: dict[str, weakref.WeakKeyDictionary[object, int]] = {}
"""Folder → open hook → number of the process that made it: this one, or the one it was forked from."""

_WRITTEN: dict[str, int] = {}
"""Folder → number of the process that has written to it last: as above."""

_LOCK: Final = fork_safe_lock()
"""Held while notes are taken: hooks may be made and closed on any thread, and in a signal's handler."""


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
