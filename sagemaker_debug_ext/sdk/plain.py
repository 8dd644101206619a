"""Lets the SDK's own estimators take configurations of this package, so that a script needs no change but its import.

A script that was written for the SDK names its estimator classes, and they know nothing of `with_debugger`. So when the
SDK prepares a job of an estimator that holds a setting of this package, the estimator becomes one of the class that
`with_debugger` would have made. Estimators without such settings are never touched.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

_MODULE: Final = "sagemaker.estimator"
_STEP: Final = "_prepare_rules"
_MARK: Final = "_takes_sagemaker_debug_ext"


def support_plain_estimators() -> None:
    """Let estimators of SDK v2 take configurations of this package; done by itself when these are imported by name.

    The SDK is not loaded for it: if it is not there yet, this happens when it comes.
    """
    module = sys.modules.get(_MODULE)
    if module is not None:
        _teach(module)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _teach(module: ModuleType) -> None:
    base = getattr(module, "EstimatorBase", None)
    original = getattr(base, _STEP, None)
    # A module that is being imported has no class yet; its import ends in `_Loader`. SDK v3 has none at all.
    if original is None or getattr(original, _MARK, False):
        return

    @functools.wraps(original)
    def prepare_rules(self: Any) -> Any:
        from sagemaker_debug_ext.sdk.adapting import with_debugger  # noqa: PLC0415  # needed by few
        from sagemaker_debug_ext.sdk.estimators import take_over, uses_debugger  # noqa: PLC0415

        if not uses_debugger(self):
            return original(self)
        take_over(self, with_debugger(type(self)))
        return getattr(self, _STEP)()

    setattr(prepare_rules, _MARK, True)
    setattr(base, _STEP, prepare_rules)


class _Finder(importlib.abc.MetaPathFinder):
    """Notices when the SDK's module of estimators is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads the module as ever, and teaches its estimators."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _teach(module)

    def __getattr__(self, name: str) -> Any:
        # What else a loader can do, such as returning the source for tracebacks.
        return getattr(self._loader, name)
