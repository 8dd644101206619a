"""Names that a module has, and loads once they are asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_names(
    module: str, homes: Mapping[str, str], hints: Mapping[str, str] | None = None
) -> Callable[[str], object]:
    """Return what a module needs as its `__getattr__`.

    Args:
        module: The module's ``__name__``.
        homes: Name → module of this package that has it, such as ``trials``.
        hints: Name that is none → what the error says besides.
    """

    def find(name: str) -> object:
        if name not in homes:
            hint = f"; {hints[name]}" if hints and name in hints else ""
            raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
        value: object = getattr(importlib.import_module(f"sagemaker_debug_ext.{homes[name]}"), name)
        setattr(sys.modules[module], name, value)
        return value

    return find
