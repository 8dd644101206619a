"""The hook of this process: the one created last, or set by the script."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, brief
from sagemaker_debug_ext.hooks.process.fork import SharedFlag, fork_safe_lock
from sagemaker_debug_ext.store import job_end
from sagemaker_debug_ext.store.backends import Backend
from sagemaker_debug_ext.store.claims import owns_claim

LOG = logging.getLogger(__name__)

SWITCH_VARIABLE: Final = "USE_SMDEBUG"
_OFF: Final = frozenset({"0", "f", "false", "n", "no", "off"})

CHILD_TRAINS: Final = SharedFlag()
"""Whether a forked child has made a hook of its own that captures a training."""


class _CreatedFromFile(Protocol):
    @classmethod
    def create_from_json_file(cls, json_file_path: str | None = None) -> Any: ...


_HookT = TypeVar("_HookT", bound=_CreatedFromFile)
_AnyT = TypeVar("_AnyT")
_HookT_co = TypeVar("_HookT_co", covariant=True)


class _Slot:
    hook: object | None = None


def has_hook() -> bool:
    """Return whether this process has a hook of any kind."""
    return _Slot.hook is not None


def current(hook_class: type[_AnyT]) -> _AnyT | None:
    """Return the hook of this process if it is of a class; None otherwise."""
    return _Slot.hook if isinstance(_Slot.hook, hook_class) else None


def current_has_trained() -> bool:
    """Return whether the hook of this process has seen a training step, or a forked child captures its own."""
    return bool(CHILD_TRAINS) or bool(getattr(_Slot.hook, "has_trained", False))


def get_hook(
    hook_class: type[_HookT], json_config_path: str | None = None, create_if_not_exists: bool = False
) -> _HookT | None:
    """Return the hook of this process.

    Args:
        hook_class: The class of the hook; a hook of another class is dropped.
        json_config_path: The configuration file to create a hook from; None means SageMaker's.
        create_if_not_exists: Create one from the configuration file if there is none.

    Returns:
        None if there is none, if the configuration file is missing, or if the environment variable ``USE_SMDEBUG``
        disables hooks.
    """
    if os.environ.get(SWITCH_VARIABLE, "true").strip().lower() in _OFF:
        LOG.debug("no hook: %s is %r", SWITCH_VARIABLE, os.environ[SWITCH_VARIABLE])
        return None
    hook = current(hook_class)
    if hook is None and create_if_not_exists:
        try:
            hook = hook_class.create_from_json_file(json_config_path)
        except FileNotFoundError as error:
            LOG.info("no hook: there is no configuration file %s", error.filename)
    _Slot.hook = hook
    return hook


def set_hook(hook: object, hook_class: type[Any]) -> None:
    """Make `hook` the hook of this process.

    Raises:
        SMDebugTypeError: It is not a `hook_class`.
    """
    if not isinstance(hook, hook_class):
        raise SMDebugTypeError(f"hook must be a {hook_class.__module__}.{hook_class.__name__} (got {brief(hook)})")
    _Slot.hook = hook


def del_hook() -> None:
    """Remove the hook of this process without closing it."""
    _Slot.hook = None


class _GetHook(Protocol[_HookT_co]):
    def __call__(self, json_config_path: str | None = None, create_if_not_exists: bool = False) -> _HookT_co | None: ...


def accessors(
    hook_class: type[_HookT], create_if_not_exists: bool
) -> tuple[_GetHook[_HookT], Callable[[_HookT], None]]:
    """Return the functions `get_hook` and `set_hook` of a framework.

    Args:
        hook_class: The hook of the framework.
        create_if_not_exists: The default of `get_hook`; every framework has the one of smdebug.
    """

    def get_framework_hook(
        json_config_path: str | None = None, create_if_not_exists: bool = create_if_not_exists
    ) -> _HookT | None:
        """Return the hook of this process.

        Args:
            json_config_path: The hook configuration file to create it from; None means SageMaker's.
            create_if_not_exists: Create it from that file if there is none.

        Returns:
            None if there is no hook, if the file is missing, or if the environment variable ``USE_SMDEBUG`` disables
            hooks.
        """
        return get_hook(hook_class, json_config_path, create_if_not_exists)

    def set_framework_hook(hook: _HookT) -> None:
        """Make `hook` the hook of this process.

        Raises:
            SMDebugTypeError: It is not a hook of this framework.
        """
        set_hook(hook, hook_class)

    for function, name in ((get_framework_hook, "get_hook"), (set_framework_hook, "set_hook")):
        function.__name__ = function.__qualname__ = name
        function.__module__ = hook_class.__module__
    get_framework_hook.__annotations__["return"] = f"{hook_class.__name__} | None"
    set_framework_hook.__annotations__["hook"] = hook_class.__name__
    return get_framework_hook, set_framework_hook


_OPEN: dict[str, weakref.WeakKeyDictionary[object, int]] = {}
"""Folder → open hook → id of the process that made it: this one, or its parent before a fork."""

_WRITTEN: dict[str, int] = {}
"""Folder → id of the process that last wrote to it."""

_LOCK: Final = fork_safe_lock()
"""Held while the tables change, because hooks are made and closed on any thread, and in signal handlers."""


def register(hook: object, backend: Backend, *, may_go_on: bool = False) -> None:
    """Register a new hook for a folder; log a warning if another one is open for it.

    Args:
        hook: The hook.
        backend: The back end of its folder.
        may_go_on: Whether a trial that has ended goes on, because its job was interrupted, with time to end the trial,
            and has been restarted.

    Raises:
        SMDebugRuntimeError: The folder holds a trial that has ended, or that another hook of this process writes.
    """
    if may_go_on:
        job_end.reopen(backend)
    else:
        job_end.check_not_ended(backend)
    if owns_claim(backend):
        raise SMDebugRuntimeError(
            f"out_dir must belong to one hook, and another one of this process writes to {backend.url!r}: "
            "use that hook, or choose another folder"
        )
    if mark_open(hook, backend.url):
        LOG.warning(
            "another hook of this process is open for %r: the one that saves first has the folder, and saving of "
            "the other is switched off; use one hook, or another folder",
            backend.url,
        )


def mark_open(hook: object, folder: str) -> bool:
    """Mark a hook as open, and return whether this process has another one open for the same folder."""
    with _LOCK:
        hooks = _OPEN.setdefault(folder, weakref.WeakKeyDictionary())
        has_others = os.getpid() in hooks.values()
        hooks[hook] = os.getpid()
        return has_others


def open_hooks(folder: str) -> list[Any]:
    """Return the hooks of this process that are open for a folder."""
    with _LOCK:
        return [hook for hook, process_id in _OPEN.get(folder, {}).items() if process_id == os.getpid()]


def mark_closed(hook: object, folder: str) -> None:
    """Mark a hook as closed."""
    with _LOCK:
        hooks = _OPEN.get(folder)
        if hooks is not None:
            hooks.pop(hook, None)
            if not hooks:
                del _OPEN[folder]


def mark_written(folder: str) -> None:
    """Mark a folder as written by a hook of this process."""
    _WRITTEN[folder] = os.getpid()


def is_written(folder: str) -> bool:
    """Return whether a hook of this process writes to a folder or has written to it."""
    return _WRITTEN.get(folder) == os.getpid()
