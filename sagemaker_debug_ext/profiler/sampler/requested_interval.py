"""How often a job asks to be sampled, which may change while it runs (profiler format, section 1.5)."""

from __future__ import annotations

import json
import logging
from typing import Final

from sagemaker_debug_ext.profiler.format.config_file import file_version, is_true
from sagemaker_debug_ext.profiler.sampler.settings import MAX_INTERVAL_MILLIS, MIN_INTERVAL_MILLIS

_LOG: Final = logging.getLogger(__name__)
_MEMBER: Final = "ProfilingIntervalInMilliseconds"


class RequestedInterval:
    """The interval in ``profilerconfig.json``, which UpdateTrainingJob changes.

    A file that cannot be read, or an interval that is not allowed, is logged and changes nothing.

    Args:
        path: The file, which need not exist; None if nothing changes the interval.
        initial_seconds: Seconds between samples where the file names none.
    """

    def __init__(self, path: str | None, initial_seconds: float) -> None:
        self._path = path
        self._initial_seconds = initial_seconds
        self._version: tuple[int, int, int] | None = None
        self._seconds: float | None = initial_seconds

    def __call__(self) -> float | None:
        """Return the seconds between samples; None while the profiler is disabled."""
        if self._path is not None:
            version = file_version(self._path)
            if version not in (None, self._version):
                self._version = version
                try:
                    self._seconds = self._read(self._path)
                except (OSError, ValueError) as error:
                    _LOG.warning("%s does not change the sampling: %s", self._path, error)
        return self._seconds

    def _read(self, path: str) -> float | None:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        if not isinstance(config, dict):
            raise ValueError("it must be a JSON object")  # noqa: TRY004 - a fault of the file, not of the code
        if is_true(config.get("DisableProfiler")):
            return None
        millis = config.get(_MEMBER)
        if millis is None:
            return self._initial_seconds
        if type(millis) is not int or not MIN_INTERVAL_MILLIS <= millis <= MAX_INTERVAL_MILLIS:
            raise ValueError(
                f"{_MEMBER} must be a whole number from {MIN_INTERVAL_MILLIS} to {MAX_INTERVAL_MILLIS} (got {millis!r})"
            )
        return millis / 1000
