"""The one way to import an optional package."""

from __future__ import annotations

import importlib
from types import ModuleType

from sagemaker_debug_ext.errors import MissingDependencyError


def import_optional(name: str, needed_for: str, extra: str | None = None) -> ModuleType:
    """Import an optional package, or say how to get it.

    Args:
        name: Module to import.
        needed_for: What the caller is about to do, as the subject of a sentence.
        extra: The extra of this package that brings the module.

    Raises:
        MissingDependencyError: The package is not installed.
    """
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # the package is there, and itself misses something
        raise MissingDependencyError(package, needed_for, extra) from error
