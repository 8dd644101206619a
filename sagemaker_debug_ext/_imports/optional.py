"""Import of optional packages."""

from __future__ import annotations

import importlib
from types import ModuleType

from sagemaker_debug_ext.errors import MissingDependencyError


def import_optional(
    name: str, needed_for: str, extra: str | None = None, last_python: tuple[int, int] | None = None
) -> ModuleType:
    """Import an optional package; if it is missing, the error names the command that installs it.

    Args:
        name: Module to import.
        needed_for: The feature that needs the package, as the subject of a sentence.
        extra: The extra of this package that installs the module.
        last_python: The last version of Python that the package runs on; None if it runs on all.

    Raises:
        MissingDependencyError: The package is not installed.
    """
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # the package is installed, but one of its own dependencies is missing
        raise MissingDependencyError(package, needed_for, extra, last_python) from error
