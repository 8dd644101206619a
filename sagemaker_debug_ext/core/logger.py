"""The logger, under the module path from which scripts for Debugger import it."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

from sagemaker_debug_ext._imports.lazy import lazy_names

__all__ = ["DuplicateLogFilter", "get_logger"]

_MOST_REPEATS: Final = 3
_MOST_MESSAGES: Final = 1000


class DuplicateLogFilter(logging.Filter):
    """Lets through each message three times, whatever its arguments. It forgets all after a thousand different ones."""

    def __init__(self) -> None:
        super().__init__()
        self._num_seen: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a message has come three times at most."""
        if len(self._num_seen) >= _MOST_MESSAGES:
            self._num_seen.clear()
        self._num_seen[str(record.msg)] += 1
        return self._num_seen[str(record.msg)] <= _MOST_REPEATS


def get_logger(name: str = "smdebug") -> logging.Logger:
    """Return a logger for scripts that logs a message at most three times; applications configure it like any other."""
    logger = logging.getLogger(f"sagemaker_debug_ext.{name}")
    if not any(isinstance(given, DuplicateLogFilter) for given in logger.filters):
        logger.addFilter(DuplicateLogFilter())
    return logger


__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
