"""The arguments of hooks: what they may be."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sagemaker_debug_ext.config.hook_options import FULL_POLICIES
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, brief
from sagemaker_debug_ext.hooks.capture.save_plan import warn_never_saves
from sagemaker_debug_ext.store.backends import Backend, LocalBackend, open_backend

LOG = logging.getLogger(__name__)


def open_out_dir(out_dir: object) -> Backend:
    """Return the back end that `out_dir` is, or is the path of.

    Raises:
        SMDebugTypeError: It is neither.
        SMDebugValueError: It is empty, or the path of a file, or lies below one.
    """
    return out_dir if isinstance(out_dir, Backend) else _open_folder(_path_text(out_dir, "out_dir"), "out_dir")


def check_tensorboard_dir(tensorboard_dir: object) -> str | None:
    """Return the path as text; None stays None.

    Raises:
        SMDebugTypeError: It is neither a path nor None.
        SMDebugValueError: It is empty, or the path of a file, or lies below one.
    """
    if tensorboard_dir is None:
        return None
    path = _path_text(tensorboard_dir, "tensorboard_dir")
    _open_folder(path, "tensorboard_dir")
    return path


def _path_text(path: object, what: str) -> str:
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise SMDebugTypeError(f"{what} must be a path (got {brief(path)})")
    if not text.strip():
        raise SMDebugValueError(f"{what} must be a path (got {brief(path)})")
    return text


def _open_folder(path: str, what: str) -> Backend:
    backend = open_backend(path)
    if isinstance(backend, LocalBackend):
        file = next(filter(os.path.isfile, (backend.root, *backend.root.parents)), None)
        if file is not None:
            raise SMDebugValueError(f"{what} must be a folder (got {path!r}, and {str(file)!r} is a file)")
    return backend


def check_flag(value: object, what: str) -> bool:
    """Return `value` as a bool; besides those of Python and NumPy the numbers 0 and 1 are some.

    Args:
        value: The value.
        what: The argument that holds it.

    Raises:
        SMDebugTypeError: It is none; texts are none, or "false" would count as true.
    """
    if isinstance(value, (int, np.integer, np.bool_)) and value in (0, 1):
        return bool(value)
    raise SMDebugTypeError(f"{what} must be True or False (got {brief(value)})")


def check_count(value: object, what: str, least: int) -> int:
    """Return a whole number as an int; ``1e9`` is one.

    Args:
        value: The number.
        what: The argument that holds it.
        least: The least that makes sense.

    Raises:
        SMDebugTypeError: It is no whole number.
        SMDebugValueError: It is less than `least`.
    """
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole and not (isinstance(value, (float, np.floating)) and float(value).is_integer()):
        raise SMDebugTypeError(f"{what} must be a whole number of at least {least} (got {brief(value)})")
    number = int(value)  # type: ignore[call-overload]
    if number < least:
        raise SMDebugValueError(f"{what} must be a whole number of at least {least} (got {brief(value)})")
    return number  # type: ignore[no-any-return]


def complete_save_config(save_config: Any, interval: int) -> SaveConfig:
    """Return when to save, complete for all modes, in whichever form it was given; warn where that is never.

    Args:
        save_config: What was given.
        interval: Steps between saves where that says nothing.
    """
    default = SaveConfig(save_interval=interval)
    parsed = SaveConfig.parse(save_config)
    complete = default if parsed is None else parsed.merge_default_save_config(default)
    warn_never_saves(complete, "the hook")
    return complete


def check_reduction_config(reduction_config: object) -> ReductionConfig | None:
    """Return `reduction_config`.

    Raises:
        SMDebugTypeError: It is neither a `ReductionConfig` nor None.
    """
    if reduction_config is not None and not isinstance(reduction_config, ReductionConfig):
        raise SMDebugTypeError(f"reduction_config must be a ReductionConfig or None (got {brief(reduction_config)})")
    return reduction_config


def check_policy(when_full: object) -> None:
    """Refuse what is no way of dealing with slow storage.

    Raises:
        SMDebugValueError: It is none.
    """
    if when_full not in FULL_POLICIES:
        raise SMDebugValueError(f"when_full must be 'block', 'drop' or 'spill' (got {when_full!r})")


def check_workers(include_workers: Any) -> Any:
    """Return `include_workers`; a warning tells of one that is neither ``all`` nor ``one``, and means the latter."""
    if not (isinstance(include_workers, str) and include_workers in ("all", "one")):
        LOG.warning(
            "include_workers should be 'all' or 'one' (got %s): only the first worker saves", brief(include_workers)
        )
    return include_workers


def list_patterns(include_regex: str | Sequence[str] | None) -> list[str]:
    """Return patterns as a list, also a single one; an empty text is none.

    Raises:
        SMDebugTypeError: It is neither a text nor a list, or one of the patterns is no text.
    """
    if isinstance(include_regex, str):
        return [include_regex] if include_regex else []
    return list_names(include_regex, "include_regex")


def list_names(value: Iterable[str] | None, what: str) -> list[str]:
    """Return names as a list, an empty one for None.

    Args:
        value: The names.
        what: The argument that holds them.

    Raises:
        SMDebugTypeError: It is a single text or no list, or one of the names is no text.
    """
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SMDebugTypeError(f"{what} must be a list of texts (got {brief(value)})")
    names = list(value)
    if not all(isinstance(name, str) for name in names):
        raise SMDebugTypeError(f"{what} must hold texts only (got {brief(names)})")
    return names
