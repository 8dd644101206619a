"""Which folders the hooks of this process are open for, and have written to."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Final

_OPEN: dict[str, weakref.WeakKeyDictionary[object, int]] = {}
"""Folder → open hook → number of the process that made it: this one, or the one it was forked from."""

_WRITTEN: dict[str, int] = {}
"""Folder → number of the process that has written to it last: as above."""

_LOCK: Final = threading.RLock()  # one that a signal's handler can enter again, should it close a hook
"""Held while notes are taken: hooks may be made and closed on any thread."""

if hasattr(os, "register_at_fork"):  # or the child might find it held by a thread that it does not have
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


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
