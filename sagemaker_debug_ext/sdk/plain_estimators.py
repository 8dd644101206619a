"""Support for the SDK's estimators with configurations of this package, so that scripts only change an import.

Scripts for the SDK use its estimator classes, not those of `with_debugger`. When the SDK prepares a job of an estimator
that holds a setting of this package, the class of the estimator is changed to the one that `with_debugger` returns.
Estimators without such settings are not changed.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any, Final

from sagemaker_debug_ext._imports import when_imported

_MODULE: Final = "sagemaker.estimator"
_STEP: Final = "_prepare_rules"
_MARK: Final = "_takes_sagemaker_debug_ext"


def support_plain_estimators() -> None:
    """Make estimators of SDK v2 accept configurations of this package; called when these are imported by name.

    The SDK is not imported; if it is imported later, its estimators are changed then.
    """
    when_imported(_MODULE, _teach)


def _teach(module: ModuleType) -> None:
    base = getattr(module, "EstimatorBase", None)
    original = getattr(base, _STEP, None)
    # SDK v3 has no such class.
    if original is None or getattr(original, _MARK, False):
        return

    @functools.wraps(original)
    def prepare_rules(self: Any) -> Any:
        from sagemaker_debug_ext.sdk._with_debugger import with_debugger  # noqa: PLC0415  # needed by few
        from sagemaker_debug_ext.sdk.estimators import convert_estimator, has_debugger_settings  # noqa: PLC0415

        if not has_debugger_settings(self):
            return original(self)
        convert_estimator(self, with_debugger(type(self)))
        return getattr(self, _STEP)()

    setattr(prepare_rules, _MARK, True)
    setattr(base, _STEP, prepare_rules)
