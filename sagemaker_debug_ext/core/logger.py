"""The logger, under the module path from which scripts for Debugger import it."""

from __future__ import annotations

import logging

from sagemaker_debug_ext._imports.lazy import lazy_names

__all__ = ["get_logger"]


def get_logger(name: str = "smdebug") -> logging.Logger:
    """Return a logger of this package; applications configure it like any other."""
    return logging.getLogger(f"sagemaker_debug_ext.{name}")


__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
