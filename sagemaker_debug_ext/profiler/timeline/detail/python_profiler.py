"""Profiles Python functions of single steps by cProfile (profiler format, section 1.4)."""

from __future__ import annotations

import cProfile
import os
import time
from collections.abc import Callable
from typing import Final

from sagemaker_debug_ext.profiler.profiler_constants import CPROFILE_NAME, CPROFILE_STATS_FILENAME

_CLOCKS: Final[dict[str, Callable[[], float]]] = {
    "total_time": time.perf_counter,
    "cpu_time": time.process_time,
    "off_cpu_time": lambda: time.perf_counter() - time.process_time(),
}
_IN_TURN: Final = tuple(_CLOCKS)


class PythonProfiler:
    """Writes the functions of each step, and of each time between two steps.

    Args:
        folder: ``framework/<name of the framework>`` in the folder ``profiler-output``.
        node: The worker.
        timer: What is measured; see `PythonProfile`.
    """

    def __init__(self, folder: str, node: str, timer: str) -> None:
        self._folder = os.path.join(folder, CPROFILE_NAME, node)
        self._timer = timer
        self._num_steps = 0
        self._profile: cProfile.Profile | None = None
        self._since = 0.0
        self._last: tuple[str, int] | None = None

    def step_begins(self, step: int) -> None:  # noqa: ARG002 - the number within the mode is known at its end
        """Profile a step; the functions since the step before are written."""
        self._end_gap()
        clock = _CLOCKS[_IN_TURN[self._num_steps % 3] if self._timer == "default" else self._timer]
        self._num_steps += 1
        self._start(clock)

    def step_ends(self, mode: str, number: int) -> None:
        """Write the functions of a step, and profile until the next one begins."""
        self._write(f"{mode}-{number}-stepstart", f"{mode}-{number}-stepend")
        self._last = (mode, number)
        self._start(time.perf_counter)

    def stop(self) -> None:
        """Write the functions since the last step, and end."""
        self._end_gap()
        if self._profile is not None:  # of a step that has not ended
            self._profile.disable()
            self._profile = None

    def _end_gap(self) -> None:
        if self._last is not None:
            (mode, number), self._last = self._last, None
            self._write(f"{mode}-{number}-stepend", f"{mode}-{number + 1}-stepstart")

    def _start(self, clock: Callable[[], float]) -> None:
        self._since = time.time()
        self._profile = cProfile.Profile(clock)
        self._profile.enable()

    def _write(self, begin: str, end: str) -> None:
        profile, self._profile = self._profile, None
        if profile is not None:
            profile.disable()
            span = f"{begin}-{self._since * 1e6:.1f}_{end}-{time.time() * 1e6:.1f}"
            path = os.path.join(self._folder, span)
            os.makedirs(path, exist_ok=True)
            profile.dump_stats(os.path.join(path, CPROFILE_STATS_FILENAME))
