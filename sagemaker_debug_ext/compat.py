"""Alias ``smdebug`` for scripts and rule files that import it and cannot be edited.

The alias is opt-in: call `install_smdebug_alias`, or enter `smdebug_alias`, before ``smdebug`` is imported.

Example:
    >>> from sagemaker_debug_ext.compat import install_smdebug_alias
    >>> install_smdebug_alias()
    >>> from smdebug.trials import create_trial
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from sagemaker_debug_ext.errors import SMDebugRuntimeError

ALIAS: Final = "smdebug"
PACKAGE: Final = "sagemaker_debug_ext"


class _AliasLoader(Loader):
    """Returns the module of this package, unchanged, under the aliased name."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 - the interface of loaders
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has replaced it with the spec of the alias


class _AliasFinder(MetaPathFinder):
    """Finds ``smdebug`` and its submodules in this package."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - the interface of finders
        target: ModuleType | None = None,  # noqa: ARG002 - likewise
    ) -> ModuleSpec | None:
        if fullname != ALIAS and not fullname.startswith(f"{ALIAS}."):
            return None
        name = PACKAGE + fullname.removeprefix(ALIAS)
        if importlib.util.find_spec(name) is None:
            return None  # so that the error names the module that was requested
        module = importlib.import_module(name)
        return ModuleSpec(fullname, _AliasLoader(module), is_package=hasattr(module, "__path__"))


_FINDER: Final = _AliasFinder()


def install_smdebug_alias() -> None:
    """Make ``import smdebug`` import this package in the whole process. Further calls have no effect.

    Raises:
        SMDebugRuntimeError: The real package has already been imported. Its classes are not those of this package, so
            both cannot be used in one process.
    """
    if _FINDER in sys.meta_path:
        return
    loaded = sys.modules.get(ALIAS)
    if loaded is not None:
        raise SMDebugRuntimeError(
            f"the alias {ALIAS!r} must be installed before the package of that name is imported (it was, from "
            f"{getattr(loaded, '__file__', None)!r})"
        )
    sys.meta_path.insert(0, _FINDER)


def remove_smdebug_alias() -> None:
    """Remove the alias. Modules that have imported it keep their references."""
    if _FINDER not in sys.meta_path:
        return
    sys.meta_path.remove(_FINDER)
    for name in [name for name in sys.modules if name == ALIAS or name.startswith(f"{ALIAS}.")]:
        del sys.modules[name]


@contextlib.contextmanager
def smdebug_alias() -> Iterator[None]:
    """Install the alias within the context; remove it afterwards unless it was installed before."""
    was_there = _FINDER in sys.meta_path
    install_smdebug_alias()
    try:
        yield
    finally:
        if not was_there:
            remove_smdebug_alias()
