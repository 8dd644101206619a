"""Configuration classes: frozen values that are validated on construction.

These modules depend on no AWS API, file or framework; `sagemaker_debug_ext.requests` builds requests from the values.
"""

from __future__ import annotations

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
