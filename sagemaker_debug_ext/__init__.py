"""Debug training jobs: submit them with Debugger settings, capture tensors, analyse them and run rules.

The public names are imported on first use, so ``import sagemaker_debug_ext`` is cheap. It loads neither numpy nor any
AWS or machine-learning library.
"""

# The package adds no handler to its logger, not even a NullHandler. Without any handler, Python's `logging.lastResort`
# prints warnings to stderr, so users hear that a hook has stopped saving even if they have not configured logging.

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import install_face_finder, lazy_names
from sagemaker_debug_ext.vocabulary import ModeKeys as modes  # noqa: N813 - the name that scripts import

if TYPE_CHECKING:
    from sagemaker_debug_ext import rule_configs
    from sagemaker_debug_ext.catalog.images import get_rule_container_image_uri
    from sagemaker_debug_ext.config.actions import SMS, ActionList, Email, StopTraining
    from sagemaker_debug_ext.config.collection_config import CollectionConfig
    from sagemaker_debug_ext.config.hook import DebuggerHookConfig
    from sagemaker_debug_ext.config.outputs import TensorBoardOutputConfig
    from sagemaker_debug_ext.config.profiler import (
        DataloaderProfilingConfig,
        DetailedProfilingConfig,
        FrameworkProfile,
        HorovodProfilingConfig,
        Profiler,
        ProfilerConfig,
        PythonProfiler,
        PythonProfilingConfig,
        SMDataParallelProfilingConfig,
        cProfileTimer,
    )
    from sagemaker_debug_ext.config.reductions import ReductionConfig
    from sagemaker_debug_ext.config.rules import ProfilerRule, Rule, RuleBase
    from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
    from sagemaker_debug_ext.config.self_managed import SelfManaged
    from sagemaker_debug_ext.hooks.save_tensor import save_tensor
    from sagemaker_debug_ext.requests import debugger_request, training_job_request
    from sagemaker_debug_ext.requests.explain import explain
    from sagemaker_debug_ext.requests.self_managed import self_managed_request
    from sagemaker_debug_ext.rule_configs import get_default_profiler_processing_job, get_default_profiler_rule
    from sagemaker_debug_ext.sdk._with_debugger import with_debugger
    from sagemaker_debug_ext.trials import create_trial
    from sagemaker_debug_ext.vocabulary import CollectionKeys

__version__ = "0.1.0"

_HOMES = {
    "ActionList": "config.actions",
    "CollectionConfig": "config.collection_config",
    "CollectionKeys": "vocabulary",
    "DataloaderProfilingConfig": "config.profiler",
    "DebuggerHookConfig": "config.hook",
    "DetailedProfilingConfig": "config.profiler",
    "Email": "config.actions",
    "FrameworkProfile": "config.profiler",
    "HorovodProfilingConfig": "config.profiler",
    "Profiler": "config.profiler",
    "ProfilerConfig": "config.profiler",
    "ProfilerRule": "config.rules",
    "PythonProfiler": "config.profiler",
    "PythonProfilingConfig": "config.profiler",
    "ReductionConfig": "config.reductions",
    "Rule": "config.rules",
    "RuleBase": "config.rules",
    "SMDataParallelProfilingConfig": "config.profiler",
    "SMS": "config.actions",
    "SaveConfig": "config.saving",
    "SaveConfigMode": "config.saving",
    "SelfManaged": "config.self_managed",
    "StopTraining": "config.actions",
    "TensorBoardOutputConfig": "config.outputs",
    "cProfileTimer": "config.profiler",
    "create_trial": "trials",
    "debugger_request": "requests",
    "explain": "requests.explain",
    "get_default_profiler_processing_job": "rule_configs",
    "get_default_profiler_rule": "rule_configs",
    "get_rule_container_image_uri": "catalog.images",
    "save_tensor": "hooks.save_tensor",
    "self_managed_request": "requests.self_managed",
    "training_job_request": "requests",
    "with_debugger": "sdk._with_debugger",
}

_FOR_ESTIMATORS = {"DebuggerHookConfig", "ProfilerConfig", "ProfilerRule", "Rule", "TensorBoardOutputConfig"}
"""Names that scripts pass to estimators of the SageMaker SDK; using one lets plain estimators accept these objects."""

__all__ = [
    # submit
    "ActionList",
    "CollectionConfig",
    "DataloaderProfilingConfig",
    "DebuggerHookConfig",
    "DetailedProfilingConfig",
    "Email",
    "FrameworkProfile",
    "HorovodProfilingConfig",
    "Profiler",
    "ProfilerConfig",
    "ProfilerRule",
    "PythonProfiler",
    "PythonProfilingConfig",
    "Rule",
    "RuleBase",
    "SMDataParallelProfilingConfig",
    "SMS",
    "SelfManaged",
    "StopTraining",
    "TensorBoardOutputConfig",
    "cProfileTimer",
    "debugger_request",
    "explain",
    "get_default_profiler_processing_job",
    "get_default_profiler_rule",
    "get_rule_container_image_uri",
    "rule_configs",
    "self_managed_request",
    "training_job_request",
    "with_debugger",
    # capture
    "CollectionKeys",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "modes",
    "save_tensor",
    # analyse
    "create_trial",
    "__version__",
]


install_face_finder()
_load = lazy_names(__name__, _HOMES)


def __getattr__(name: str) -> object:
    if name == "rule_configs":
        return importlib.import_module("sagemaker_debug_ext.rule_configs")
    if name in _FOR_ESTIMATORS:
        from sagemaker_debug_ext.sdk.plain_estimators import support_plain_estimators  # noqa: PLC0415 - loads no SDK

        support_plain_estimators()
    return _load(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
