"""Support for the SDK's estimators with configurations of this package, so that scripts only change an import.

Scripts for the SDK use its estimator classes, not those of `with_debugger`. When the SDK prepares a job of an estimator
that holds a setting of this package, or updates the profiler with such a setting, the class of the estimator is changed
to the one that `with_debugger` returns. Estimators without such settings are not changed.

The SDK offers `ProfilerConfig` outside of its debugger package, too, so a script may pass settings of this package to
it.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Final

from sagemaker_debug_ext._imports.callbacks import when_imported

_MODULE: Final = "sagemaker.estimator"
_CONFIG_MODULE: Final = "sagemaker.debugger.profiler_config"
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
    when_imported(_CONFIG_MODULE, _teach_config)


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


def _teach_config(module: ModuleType) -> None:
    kind: Any = module.ProfilerConfig
    original = kind.__init__
    if not getattr(original, _MARK, False):

        @functools.wraps(original)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807  # it replaces the method
            settings = {name: _sdk_twin(module, value) for name, value in kwargs.items()}
            original(self, *(_sdk_twin(module, value) for value in args), **settings)

        setattr(__init__, _MARK, True)
        kind.__init__ = __init__


def _sdk_twin(module: ModuleType, setting: Any) -> Any:
    """Return the SDK's object for framework metrics or a `Profiler` of this package; other settings unchanged."""
    is_ours = type(setting).__module__.startswith("sagemaker_debug_ext.")
    kind = getattr(module, type(setting).__name__, None) if is_ours else None
    if kind is None:
        return setting
    twin = kind()
    twin.profiling_parameters = dict(setting.profiling_parameters)
    return twin
