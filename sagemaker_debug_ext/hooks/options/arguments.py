"""Validate the arguments of hooks that need a back end of the store, the file system or a log."""

from __future__ import annotations

import logging
import os

from sagemaker_debug_ext.config.hook_options import HookOptions, to_path
from sagemaker_debug_ext.config.saving import SaveConfig
from sagemaker_debug_ext.errors import SMDebugValueError, brief
from sagemaker_debug_ext.hooks.capture.save_plan import warn_never_saves
from sagemaker_debug_ext.store.backends import Backend, LocalBackend, open_backend

LOG = logging.getLogger(__name__)


def open_out_dir(out_dir: object) -> Backend:
    """Return `out_dir` if it is a back end, otherwise the back end of the path.

    Raises:
        SMDebugTypeError: `out_dir` is neither a back end nor a path.
        SMDebugValueError: It is blank, or the path of a file, or lies below one.
    """
    return out_dir if isinstance(out_dir, Backend) else open_folder(to_path(out_dir, "out_dir"), "out_dir")


def open_folder(path: str, what: str) -> Backend:
    """Return the back end of a folder.

    Args:
        path: The folder; it need not exist yet.
        what: Name of the argument.

    Raises:
        SMDebugValueError: It is the path of a file, or lies below one.
    """
    backend = open_backend(path)
    if isinstance(backend, LocalBackend):
        file = next(filter(os.path.isfile, (backend.root, *backend.root.parents)), None)
        if file is not None:
            raise SMDebugValueError(f"{what} must be a folder (got {path!r}, and {str(file)!r} is a file)")
    return backend


def check_tensorboard_dir(options: HookOptions, out_dir: str) -> str | None:
    """Return the folder for TensorBoard files; None if none are wanted.

    Raises:
        SMDebugValueError: It is the path of a file, or lies below one.
    """
    if options.tensorboard_dir is None:
        return f"{out_dir}/tensorboard" if options.writes_tensorboard else None
    open_folder(options.tensorboard_dir, "tensorboard_dir")
    return options.tensorboard_dir


def complete_save_config(save_config: SaveConfig | None, interval: int) -> SaveConfig:
    """Return the save settings, complete for all modes; log a warning if they never save a step.

    Args:
        save_config: The settings given.
        interval: Steps between saves where the settings have none.
    """
    default = SaveConfig(save_interval=interval)
    complete = default if save_config is None else save_config.merge_default_save_config(default)
    warn_never_saves(complete, "the hook")
    return complete


def warn_about_workers(include_workers: object) -> None:
    """Log a warning if `include_workers` is neither ``all`` nor ``one``."""
    if not (isinstance(include_workers, str) and include_workers in ("all", "one")):
        LOG.warning(
            "include_workers should be 'all' or 'one' (got %s): only the first worker saves", brief(include_workers)
        )
