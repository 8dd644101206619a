"""The arguments of hooks: what they may be, and which a hook takes."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Sequence
from typing import Any

from sagemaker_debug_ext.config.parameters import FULL_POLICIES
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.store.backends import Backend, LocalBackend, open_backend


def open_out_dir(out_dir: object) -> Backend:
    """Return the back end that `out_dir` is, or is the path of.

    Raises:
        SMDebugTypeError: It is neither.
        SMDebugValueError: It is the path of a file, or lies below one.
    """
    if isinstance(out_dir, Backend):
        return out_dir
    if not isinstance(out_dir, (str, os.PathLike)):
        raise SMDebugTypeError(f"out_dir must be a path (got {out_dir!r})")
    backend = open_backend(out_dir)
    if isinstance(backend, LocalBackend):
        file = next(filter(os.path.isfile, (backend.root, *backend.root.parents)), None)
        if file is not None:
            raise SMDebugValueError(f"out_dir must be a folder (got {str(out_dir)!r}, and {str(file)!r} is a file)")
    return backend


def complete_save_config(save_config: Any, interval: int) -> SaveConfig:
    """Return when to save, complete for all modes, in whichever form it was given.

    Args:
        save_config: What was given.
        interval: Steps between saves where that says nothing.
    """
    default = SaveConfig(save_interval=interval)
    parsed = SaveConfig.parse(save_config)
    return default if parsed is None else parsed.merge_default_save_config(default)


def check_reduction_config(reduction_config: object) -> ReductionConfig | None:
    """Return `reduction_config`.

    Raises:
        SMDebugTypeError: It is neither a `ReductionConfig` nor None.
    """
    if reduction_config is not None and not isinstance(reduction_config, ReductionConfig):
        raise SMDebugTypeError(f"reduction_config must be a ReductionConfig or None (got {reduction_config!r})")
    return reduction_config


def check_policy(when_full: object) -> None:
    """Refuse what is no way of dealing with slow storage.

    Raises:
        SMDebugValueError: It is none.
    """
    if when_full not in FULL_POLICIES:
        raise SMDebugValueError(f"when_full must be 'block', 'drop' or 'spill' (got {when_full!r})")


def list_patterns(include_regex: str | Sequence[str]) -> list[str]:
    """Return patterns as a list, also a single one.

    Raises:
        SMDebugTypeError: One of them is no text.
    """
    return [include_regex] if isinstance(include_regex, str) else list_names(include_regex, "include_regex")


def list_names(value: Iterable[str] | None, what: str) -> list[str]:
    """Return names as a list, an empty one for None.

    Args:
        value: The names.
        what: The argument that holds them.

    Raises:
        SMDebugTypeError: It is a single text, or one of the names is no text.
    """
    if isinstance(value, str):
        raise SMDebugTypeError(f"{what} must be a list of texts (got {value!r})")
    names = list(value or ())
    if not all(isinstance(name, str) for name in names):
        raise SMDebugTypeError(f"{what} must hold texts only (got {names!r})")
    return names


def signature_of(hook_class: type, base: type) -> inspect.Signature:
    """Return the parameters of a hook and of those it passes arguments on to.

    Args:
        hook_class: The hook.
        base: The last of those that are hooks.
    """
    found: dict[str, inspect.Parameter] = {}
    for some in reversed(hook_class.__mro__):
        if issubclass(some, base) and "__init__" in vars(some):
            parameters = list(inspect.signature(vars(some)["__init__"]).parameters.values())[1:]
            if not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
                found.clear()
            found |= {
                each.name: each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
            }
    return inspect.Signature(sorted(found.values(), key=lambda parameter: parameter.kind))
