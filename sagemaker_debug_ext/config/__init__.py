"""Configuration classes: frozen values that are validated on construction.

These modules depend on no AWS API, file or framework; `sagemaker_debug_ext.requests` builds requests from the values.
The names are imported on first use, because a script uses few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names

if TYPE_CHECKING:
    from sagemaker_debug_ext.config.actions import SMS, Action, ActionList, Email, StopTraining
    from sagemaker_debug_ext.config.collection import Collection
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

_HOMES = {
    "Action": "config.actions",
    "ActionList": "config.actions",
    "Collection": "config.collection",
    "CollectionConfig": "config.collection_config",
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
    "StopTraining": "config.actions",
    "TensorBoardOutputConfig": "config.outputs",
    "cProfileTimer": "config.profiler",
}

__all__ = [
    # what to save
    "DebuggerHookConfig",
    "CollectionConfig",
    "TensorBoardOutputConfig",
    "Collection",
    "SaveConfig",
    "SaveConfigMode",
    "ReductionConfig",
    # rules and their actions
    "Rule",
    "ProfilerRule",
    "RuleBase",
    "Action",
    "ActionList",
    "StopTraining",
    "Email",
    "SMS",
    # the profiler
    "ProfilerConfig",
    "Profiler",
    "FrameworkProfile",
    "DetailedProfilingConfig",
    "DataloaderProfilingConfig",
    "PythonProfilingConfig",
    "HorovodProfilingConfig",
    "SMDataParallelProfilingConfig",
    "PythonProfiler",
    "cProfileTimer",
]

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
