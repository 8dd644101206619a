"""Let scripts and rule files that import ``smdebug``, and cannot be edited, import this package instead.

Nothing here happens by itself: `install_smdebug_alias` has to be called, or `smdebug_alias` entered, before the import.

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
    """Gives the module of this package under the other name, unchanged."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 - the interface of loaders
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put the alias's there


class _AliasFinder(MetaPathFinder):
    """Finds ``smdebug`` and everything below it in this package."""

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
            return None  # the error then names the module that was asked for
        module = importlib.import_module(name)
        return ModuleSpec(fullname, _AliasLoader(module), is_package=hasattr(module, "__path__"))


_FINDER: Final = _AliasFinder()


def install_smdebug_alias() -> None:
    """Let ``import smdebug`` give this package, from now on and in the whole process. Twice does nothing.

    Raises:
        SMDebugRuntimeError: The real package has been imported already: two of them in one process would not know each
            other's classes.
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
    """Let ``import smdebug`` be as it was. Modules that have imported it keep what they have."""
    if _FINDER not in sys.meta_path:
        return
    sys.meta_path.remove(_FINDER)
    for name in [name for name in sys.modules if name == ALIAS or name.startswith(f"{ALIAS}.")]:
        del sys.modules[name]


@contextlib.contextmanager
def smdebug_alias() -> Iterator[None]:
    """Have the alias inside, and afterwards only if it was there before."""
    was_there = _FINDER in sys.meta_path
    install_smdebug_alias()
    try:
        yield
    finally:
        if not was_there:
            remove_smdebug_alias()
