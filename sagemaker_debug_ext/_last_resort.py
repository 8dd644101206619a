"""Warnings of this package where nobody has set up logging."""

from __future__ import annotations

import logging
import sys
from typing import Final

_PACKAGE: Final = __name__.partition(".")[0]


class LastResort(logging.Handler):
    """Writes warnings to the standard error stream as Python would if there was no handler, and says whose they are.

    It is silent as soon as the program has a handler of its own that hears of them: then that one decides.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, and the traceback if there is one."""
        if self._is_heard(record.name):
            return
        try:
            sys.stderr.write(f"{_PACKAGE}: {self.format(record)}\n")
        except Exception:  # noqa: BLE001 - as for any handler
            self.handleError(record)

    def _is_heard(self, name: str) -> bool:
        logger: logging.Logger | None = logging.getLogger(name)
        while logger is not None:
            if any(handler is not self for handler in logger.handlers):
                return True
            logger = logger.parent if logger.propagate else None
        return False


def install() -> None:
    """Give the package's logger its handler, unless an earlier import has done so."""
    logger = logging.getLogger(_PACKAGE)
    handler = LastResort(logging.WARNING)
    handler.name = __name__
    if all(known.name != handler.name for known in logger.handlers):
        logger.addHandler(handler)
