"""Import hooks that run a callback when a module is imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def when_imported(name: str, react: Callable[[ModuleType], object]) -> None:
    """Call a function with a module once the module is loaded: now if it is already loaded, else after its import.

    Registering the same function again before the import has no effect. If the function raises, the import fails.

    Args:
        name: Full name of the module.
        react: Called once, with the module.
    """
    module = sys.modules.get(name)
    if module is not None and not _is_being_imported(module):
        react(module)
    elif not any(isinstance(finder, _Finder) and finder.waits_for(name, react) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(name, react))


def _is_being_imported(module: ModuleType) -> bool:
    return bool(getattr(module.__spec__, "_initializing", False))


class _Finder(importlib.abc.MetaPathFinder):
    """Wraps the loader of one module; the spec itself comes from the other finders."""

    def __init__(self, name: str, react: Callable[[ModuleType], object]) -> None:
        self._name = name
        self._react = react

    def waits_for(self, name: str, react: Callable[[ModuleType], object]) -> bool:
        """Return whether the finder was created for this module and function."""
        return (self._name, self._react) == (name, react)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name or self not in sys.meta_path:
            return None
        # Ask only the finders after this one: several finders for the same module then wrap each other in turn.
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self._finish)
                return spec
        return None

    def _finish(self, module: ModuleType) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            self._react(module)


class _Loader(importlib.abc.Loader):
    """Delegates to another loader and calls a function after the module has been executed."""

    def __init__(self, loader: Any, tell: Callable[[ModuleType], object]) -> None:
        self._loader = loader
        self._tell = tell

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._tell(module)

    def __getattr__(self, name: str) -> Any:
        # Other loader methods, such as get_source, which tracebacks use.
        return getattr(self._loader, name)
