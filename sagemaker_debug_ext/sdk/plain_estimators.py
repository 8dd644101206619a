"""Support for the SDK's estimators with configurations of this package, so that scripts only change an import.

Scripts for the SDK use its estimator classes, not those of `with_debugger`. When the SDK prepares a job of an estimator
that holds a setting of this package, or updates the profiler with such a setting, the class of the estimator is changed
to the one that `with_debugger` returns. Estimators without such settings are not changed.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Final

from sagemaker_debug_ext._imports.callbacks import when_imported

_MODULE: Final = "sagemaker.estimator"
_METHODS: Final = (
    "_prepare_rules",
    "_prepare_debugger_for_training",
    "_prepare_profiler_for_training",
    "update_profiler",
)
_MARK: Final = "_takes_sagemaker_debug_ext"


def support_plain_estimators() -> None:
    """Make estimators of SDK v2 accept configurations of this package; called when these are imported by name.

    The SDK is not imported; if it is imported later, its estimators are changed then.
    """
    when_imported(_MODULE, _teach)


def _teach(module: ModuleType) -> None:
    base = getattr(module, "EstimatorBase", None)
    for name in _METHODS:
        original = getattr(base, name, None)
        # SDK v3 has no such class.
        if original is not None and not getattr(original, _MARK, False):
            setattr(base, name, _convert_first(original, name))


def _convert_first(original: Any, name: str) -> Any:
    """Return a method that changes the class of the estimator if it needs it, and is the original otherwise."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        from sagemaker_debug_ext.sdk._with_debugger import with_debugger  # noqa: PLC0415  # needed by few
        from sagemaker_debug_ext.sdk.estimators import (  # noqa: PLC0415
            convert_estimator,
            has_debugger_settings,
            is_ours,
        )

        if not has_debugger_settings(self) and not any(map(is_ours, (*args, *kwargs.values()))):
            return original(self, *args, **kwargs)
        convert_estimator(self, with_debugger(type(self)))
        return getattr(self, name)(*args, **kwargs)

    setattr(method, _MARK, True)
    return method
