"""Lets the SDK's own estimators take configurations of this package, so that a script needs no change but its import.

A script that was written for the SDK names its estimator classes, and they know nothing of `with_debugger`. So when the
SDK prepares a job of an estimator that holds a setting of this package, the estimator becomes one of the class that
`with_debugger` would have made. Estimators without such settings are never touched.
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
    """Let estimators of SDK v2 take configurations of this package; done by itself when these are imported by name.

    The SDK is not loaded for it: if it is not there yet, this happens when it comes.
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
