"""Names and modules that are made on first use: public names, submodules, and the module paths of smdebug and the SDK.

`migration.table` knows where the public names of both packages are here. It is loaded only when a script asks this
package for a name or module that no file defines.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_PACKAGE: Final = __name__.partition(".")[0]


def lazy_names(module: str, homes: Mapping[str, str] | None = None) -> Callable[[str], object]:
    """Return a module-level `__getattr__` that imports names and submodules on first use.

    A name that has neither a home nor a file is looked up in the table of public names. A name that is gone on purpose
    raises an `AttributeError` that says what to use instead.

    Args:
        module: The module's ``__name__``.
        homes: Name → module of this package that defines it, such as ``trials``.
    """

    def find(name: str) -> object:
        value: object
        if homes and name in homes:
            value = getattr(importlib.import_module(f"{_PACKAGE}.{homes[name]}"), name)
        elif name.startswith("__"):  # asked for by tools and by the import system
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        elif _has_submodule(module, name):
            value = importlib.import_module(f"{module}.{name}")
        else:
            from sagemaker_debug_ext.migration import table  # noqa: PLC0415 - most scripts never need it

            value = table.load(module, name)
        setattr(sys.modules[module], name, value)
        return value

    return find


def _has_submodule(module: str, name: str) -> bool:
    """Return whether a file defines a submodule."""
    folders = getattr(sys.modules[module], "__path__", ())
    return PathFinder.find_spec(f"{module}.{name}", folders) is not None


class FaceFinder:
    """Finds the modules of smdebug and the SDK that have no file here; it is asked after all other finders.

    A module that is gone on purpose, and a name that is gone from a module, raise an `ImportError` that says what to
    use instead. The import system looks for a missing name as a submodule if the module has a ``__path__``.
    """

    @staticmethod
    def find_spec(
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG004 - the interface of finders
        target: ModuleType | None = None,  # noqa: ARG004 - likewise
    ) -> ModuleSpec | None:
        """Return the spec of a module in the table of public names; None for others."""
        if not fullname.startswith(f"{_PACKAGE}."):
            return None
        from sagemaker_debug_ext.migration import table  # noqa: PLC0415 - most scripts never need it

        return table.find_spec(fullname)


def install_face_finder() -> None:
    """Make the modules in the table of public names importable. Further calls have no effect."""
    if FaceFinder not in sys.meta_path:
        sys.meta_path.append(FaceFinder)  # after the finders of files, which costs ordinary imports nothing
