"""`DetailListener`: starts and stops detailed profiles at the steps that the configuration file names."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

import attrs

from sagemaker_debug_ext.profiler.format.config_file import file_version
from sagemaker_debug_ext.profiler.timeline.detail.config_file import DetailSettings, read_settings
from sagemaker_debug_ext.profiler.timeline.detail.python_profiler import PythonProfiler
from sagemaker_debug_ext.profiler.timeline.detail.ranges import RangeProgress

_LOG: Final = logging.getLogger(__name__)
_ALL_ERRORS: Final = (Exception,)
_TORCH: Final = f"{__name__.rpartition('.')[0]}.torch_profiler"


class _Profiler(Protocol):
    def step_begins(self, step: int) -> None: ...
    def step_ends(self, mode: str, number: int) -> None: ...
    def stop(self) -> None: ...


@attrs.define(eq=False)
class _Task:
    """A profiler and the steps that it is for."""

    profiler: _Profiler
    progress: RangeProgress
    is_running: bool = False


class DetailListener:
    """Profiles the steps that the configuration file names, and follows its changes.

    Args:
        output_path: The folder ``profiler-output``.
        node: Returns the worker of this process, as the names of trace files have it.
        path: The configuration file.
    """

    def __init__(self, output_path: str, node: Callable[[], str], path: str) -> None:
        self._output_path = output_path
        self._node = node
        self._path = path
        self._version = file_version(path)
        self.settings = read_settings(path)
        self._tasks: list[_Task] | None = None
        self._old_tasks: list[_Task] = []

    def check(self) -> None:
        """Read the file again if it has changed; called now and then, not on the training thread."""
        version = file_version(self._path)
        if version == self._version:
            return
        self._version = version
        settings = read_settings(self._path)
        if settings != self.settings:
            self.settings = settings
            self._old_tasks, self._tasks = self._old_tasks + (self._tasks or []), None

    def step_begins(self, step: int) -> None:
        """Start and stop what begins or ends with a step."""
        while self._old_tasks:
            self._stop(self._old_tasks.pop())
        tasks = self._tasks
        if tasks is None:  # now the framework that trains is known
            tasks = self._tasks = self._make_tasks(self.settings)
        for task in tasks:
            self._begin(task, step)

    def step_ends(self, mode: str, number: int) -> None:
        """Notify the running profilers."""
        for task in self._tasks or ():
            if task.is_running:
                self._call(task, task.profiler.step_ends, mode, number)

    def finish(self) -> None:
        """Stop all profilers at the end of the process."""
        for task in [*self._old_tasks, *(self._tasks or ())]:
            self._stop(task)

    def _begin(self, task: _Task, step: int) -> None:
        if task.progress.is_over and not task.is_running:
            return
        if task.progress.includes(step, time.time()):
            task.is_running = True
            self._call(task, task.profiler.step_begins, step)
        else:
            self._stop(task)

    def _stop(self, task: _Task) -> None:
        if task.is_running:
            task.is_running = False
            self._call(task, task.profiler.stop)

    @staticmethod
    def _call(task: _Task, function: Any, *arguments: Any) -> None:
        try:
            function(*arguments)
        except _ALL_ERRORS:  # another profiler may be active, or the disk full; steps are timed all the same
            _LOG.warning("a detailed profile ends early", exc_info=True)
            task.is_running, task.progress.is_over = False, True

    def _make_tasks(self, settings: DetailSettings) -> list[_Task]:
        for problem in settings.problems:
            _LOG.warning("%s: %s", self._path, problem)
        tasks = []
        if settings.python is not None:
            folder = os.path.join(self._output_path, "framework", _framework())
            profiler: _Profiler = PythonProfiler(folder, self._node(), settings.python.timer)
            tasks.append(_Task(profiler, RangeProgress(settings.python.limits)))
        if settings.detailed is not None and "torch" in sys.modules:
            made = importlib.import_module(_TORCH).TorchProfiler(self._output_path, self._node())
            tasks.append(_Task(made, RangeProgress(settings.detailed)))
        return tasks


def _framework() -> str:
    """Return the name of the framework that trains, as folders have it."""
    names = {"torch": "pytorch", "keras": "tensorflow", "xgboost": "xgboost"}
    return next((name for module, name in names.items() if module in sys.modules), "python")
