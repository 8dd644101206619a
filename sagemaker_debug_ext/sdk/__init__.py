"""Submission of jobs with Debugger settings from SDK v2, SDK v3 and boto3, without importing the SageMaker SDK.

`with_debugger` returns a subclass of an SDK class that supports Debugger settings. The names below are imported on
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names

if TYPE_CHECKING:
    from sagemaker_debug_ext.requests.explain import explain
    from sagemaker_debug_ext.sdk._settings import set_default_hook
    from sagemaker_debug_ext.sdk._with_debugger import with_debugger
    from sagemaker_debug_ext.sdk.clients import AttachedDebugger, attach_debugger, debugger_request, upload_rule_sources
    from sagemaker_debug_ext.sdk.estimators import DebuggerMixin
    from sagemaker_debug_ext.sdk.jobs import RuleStatus, RuleStatuses, TrainingJob
    from sagemaker_debug_ext.sdk.plain_estimators import support_plain_estimators
    from sagemaker_debug_ext.sdk.self_managed import set_default_mode
    from sagemaker_debug_ext.sdk.trainers import TrainerDebuggerMixin

_HOMES = {
    "AttachedDebugger": "sdk.clients",
    "DebuggerMixin": "sdk.estimators",
    "RuleStatus": "sdk.jobs",
    "RuleStatuses": "sdk.jobs",
    "TrainerDebuggerMixin": "sdk.trainers",
    "TrainingJob": "sdk.jobs",
    "attach_debugger": "sdk.clients",
    "debugger_request": "sdk.clients",
    "explain": "requests.explain",
    "set_default_hook": "sdk._settings",
    "set_default_mode": "sdk.self_managed",
    "support_plain_estimators": "sdk.plain_estimators",
    "upload_rule_sources": "sdk.clients",
    "with_debugger": "sdk._with_debugger",
}

__all__ = [
    # the SDK
    "with_debugger",
    "DebuggerMixin",
    "TrainerDebuggerMixin",
    "set_default_hook",
    "set_default_mode",
    "support_plain_estimators",
    # boto3
    "attach_debugger",
    "AttachedDebugger",
    "debugger_request",
    "upload_rule_sources",
    # before a job, and after it
    "explain",
    "TrainingJob",
    "RuleStatus",
    "RuleStatuses",
]

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
