"""The hook of this process: the one created last, or set by the script."""

from __future__ import annotations

import logging
import os
from typing import Any, Final, Protocol, TypeVar

from sagemaker_debug_ext.errors import SMDebugTypeError, brief

LOG = logging.getLogger(__name__)

SWITCH_VARIABLE: Final = "USE_SMDEBUG"
_OFF: Final = frozenset({"0", "f", "false", "n", "no", "off"})


class _CreatedFromFile(Protocol):
    @classmethod
    def create_from_json_file(cls, json_file_path: str | None = None) -> Any: ...


_HookT = TypeVar("_HookT", bound=_CreatedFromFile)


class _Slot:
    hook: object | None = None


def has_hook() -> bool:
    """Tell whether this process has a hook, of any kind."""
    return _Slot.hook is not None


def get_hook(
    hook_class: type[_HookT], json_config_path: str | None = None, create_if_not_exists: bool = False
) -> _HookT | None:
    """Return the hook of this process.

    Args:
        hook_class: The kind wanted; a hook of another kind is dropped.
        json_config_path: The configuration file to create a hook from; None means SageMaker's.
        create_if_not_exists: Create one from the configuration file if there is none.

    Returns:
        None if there is none, if the configuration file is missing, or if the environment variable ``USE_SMDEBUG``
        says no.
    """
    if os.environ.get(SWITCH_VARIABLE, "true").strip().lower() in _OFF:
        LOG.debug("no hook: %s is %r", SWITCH_VARIABLE, os.environ[SWITCH_VARIABLE])
        return None
    hook = _Slot.hook if isinstance(_Slot.hook, hook_class) else None
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
        SMDebugTypeError: It is no `hook_class`.
    """
    if not isinstance(hook, hook_class):
        raise SMDebugTypeError(f"hook must be a {hook_class.__module__}.{hook_class.__name__} (got {brief(hook)})")
    _Slot.hook = hook


def del_hook() -> None:
    """Forget the hook of this process; it is not closed."""
    _Slot.hook = None
