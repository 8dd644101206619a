"""Module attributes that are imported on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_names(
    module: str, homes: Mapping[str, str], hints: Mapping[str, str] | None = None
) -> Callable[[str], object]:
    """Return a module-level `__getattr__` that imports names on first use.

    Args:
        module: The module's ``__name__``.
        homes: Name → module of this package that defines it, such as ``trials``.
        hints: Missing name → hint that is added to the error message.
    """

    def find(name: str) -> object:
        if name not in homes:
            hint = f"; {hints[name]}" if hints and name in hints else ""
            raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
        value: object = getattr(importlib.import_module(f"sagemaker_debug_ext.{homes[name]}"), name)
        setattr(sys.modules[module], name, value)
        return value

    return find
