"""Starts the timeline of a process, and has the frameworks report their steps to it."""

from __future__ import annotations

import functools
import importlib
import logging
import os
from collections.abc import Mapping
from types import ModuleType
from typing import Final

from sagemaker_debug_ext._imports.callbacks import when_imported
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugValueError
from sagemaker_debug_ext.profiler.timeline.current import current_timeline, set_current_timeline
from sagemaker_debug_ext.profiler.timeline.detail.config_file import config_path, read_settings
from sagemaker_debug_ext.profiler.timeline.detail.listener import DetailListener
from sagemaker_debug_ext.profiler.timeline.guard import Guard
from sagemaker_debug_ext.profiler.timeline.step_timer import StepTimer
from sagemaker_debug_ext.profiler.timeline.timeline import Timeline
from sagemaker_debug_ext.profiler.timeline.trace_writer import TraceFileWriter

_LOG: Final = logging.getLogger(__name__)
TIMELINE_VARIABLE: Final = "SAGEMAKER_DEBUG_EXT_TIMELINE"
_HOST_VARIABLE: Final = "SM_CURRENT_HOST"
_RANK_VARIABLE: Final = "RANK"
_STARTUP: Final = os.path.join(os.path.dirname(__file__), "startup")

_FRAMEWORKS: Final = {"torch": "torch", "keras": "keras", "xgboost": "xgboost"}
"""Module of a framework → our module for it, which is imported only after it."""

_FOLDERS: Final = __name__.rpartition(".")[0] + ".frameworks."
_ALL_ERRORS: Final = (Exception,)


def start_timeline(output_path: str | os.PathLike[str], node: str | None = None) -> Timeline:
    """Time the steps of this process from now on, in PyTorch, Keras and XGBoost.

    Training computes the same to the last bit. Steps are timed until the process ends or the timeline is stopped.

    Args:
        output_path: The folder ``profiler-output``; it is created with the first step.
        node: The machine, as files name it; ``SM_CURRENT_HOST`` if not given, or ``algo-1``.

    Returns:
        The timeline; the one that this process has if it writes to the same folder.

    Raises:
        SMDebugRuntimeError: This process has a timeline for another folder.
        SMDebugValueError: `output_path` is not a folder of this machine.
    """
    folder = os.fspath(output_path)
    if not folder or "://" in folder:
        raise SMDebugValueError(f"output_path must be a folder of this machine (got {folder!r})")
    folder = os.path.abspath(folder)
    running = current_timeline()
    if running is not None:
        if running.folder != folder:
            raise SMDebugRuntimeError(
                f"a process has one timeline: this one writes to {running.folder!r} (got {folder!r})"
            )
        return running
    host = node or os.environ.get(_HOST_VARIABLE, "algo-1")
    detail = DetailListener(folder, lambda: f"{_worker()}-{host}", config_path(os.environ))

    def make_writer(base_us: int) -> TraceFileWriter:
        return TraceFileWriter(folder, f"{_worker()}-{host}", base_us, settings=detail.settings.files)

    timeline = Timeline(folder, make_writer)
    set_current_timeline(timeline)
    guard, timer = Guard(), StepTimer(timeline.defer)
    timer.listeners.append(detail)
    timeline.every_second(detail.check)
    timeline.before_end(guard(timer.finish))
    timeline.before_end(guard(detail.finish))
    for framework, module in _FRAMEWORKS.items():
        when_imported(framework, functools.partial(_install, module, timer, guard, timeline))
    when_imported("safetensors.torch", functools.partial(_install_safetensors, timer, guard))
    return timeline


def start_timeline_from_environment(environment: Mapping[str, str] | None = None) -> Timeline | None:
    """Start the timeline that ``SAGEMAKER_DEBUG_EXT_TIMELINE`` asks for by naming a folder ``profiler-output``.

    A wrong value is logged, and the script goes on.

    Args:
        environment: Environment variables; those of the process by default.
    """
    path = (os.environ if environment is None else environment).get(TIMELINE_VARIABLE)
    if not path:
        return None
    try:
        return start_timeline(path)
    except (SMDebugRuntimeError, SMDebugValueError) as error:
        _LOG.warning("%s=%s has no effect: %s", TIMELINE_VARIABLE, path, error)
        return None


def start_timeline_from_config() -> Timeline | None:
    """Start the timeline for which ``profilerconfig.json`` asks by ``ProfilingParameters``, in its ``LocalPath``.

    Returns:
        The timeline; None if the file asks for none, or if this process has one.
    """
    settings = read_settings(config_path(os.environ))
    if not settings.is_enabled or current_timeline() is not None:
        return None
    try:
        return start_timeline(settings.folder)
    except SMDebugValueError as error:
        _LOG.warning("steps are not timed: %s", error)
        return None


def timeline_environment(output_path: str | os.PathLike[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which every Python program times its steps, without a change of the program.

    Args:
        output_path: The folder ``profiler-output``.
        environment: The variables to start from.
    """
    search_path = environment.get("PYTHONPATH", "")
    return {
        **environment,
        TIMELINE_VARIABLE: os.path.abspath(output_path),
        "PYTHONPATH": os.pathsep.join(filter(None, (_STARTUP, search_path))),
    }


def _worker() -> str:
    rank = os.environ.get(_RANK_VARIABLE, "")
    return rank if rank.isdigit() else str(os.getpid())


def _install(module: str, timer: StepTimer, guard: Guard, timeline: Timeline, framework: ModuleType) -> None:
    try:
        importlib.import_module(_FOLDERS + module).install(timer, guard, timeline)
    except _ALL_ERRORS:  # the script's import of the framework is under way, and must not fail
        _LOG.warning("steps of %s are not timed", framework.__name__, exc_info=True)


def _install_safetensors(timer: StepTimer, guard: Guard, module: ModuleType) -> None:
    from sagemaker_debug_ext.profiler.timeline.frameworks.torch import install_safetensors  # noqa: PLC0415 - PyTorch

    install_safetensors(module, timer, guard)
