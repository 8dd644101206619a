"""See what happens inside a training job: submit with Debugger settings, capture tensors, analyse them, run rules.

The public names below are imported when they are first used, so that ``import sagemaker_debug_ext`` stays cheap and
loads neither numpy nor any AWS or machine-learning library.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sagemaker_debug_ext import rule_configs
    from sagemaker_debug_ext.config.actions import SMS, ActionList, Email, StopTraining
    from sagemaker_debug_ext.config.collections import CollectionConfig
    from sagemaker_debug_ext.config.hook import DebuggerHookConfig
    from sagemaker_debug_ext.config.outputs import TensorBoardOutputConfig
    from sagemaker_debug_ext.config.reductions import ReductionConfig
    from sagemaker_debug_ext.config.rules import ProfilerRule, Rule
    from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
    from sagemaker_debug_ext.trials import create_trial
    from sagemaker_debug_ext.vocabulary import CollectionKeys
    from sagemaker_debug_ext.vocabulary import ModeKeys as modes

__version__ = "0.1.0"

_HOMES = {
    "ActionList": "config.actions",
    "CollectionConfig": "config.collections",
    "CollectionKeys": "vocabulary",
    "DebuggerHookConfig": "config.hook",
    "Email": "config.actions",
    "ProfilerRule": "config.rules",
    "ReductionConfig": "config.reductions",
    "Rule": "config.rules",
    "SMS": "config.actions",
    "SaveConfig": "config.saving",
    "SaveConfigMode": "config.saving",
    "StopTraining": "config.actions",
    "TensorBoardOutputConfig": "config.outputs",
    "create_trial": "trials",
}

__all__ = [
    # submit
    "ActionList",
    "CollectionConfig",
    "DebuggerHookConfig",
    "Email",
    "ProfilerRule",
    "Rule",
    "SMS",
    "StopTraining",
    "TensorBoardOutputConfig",
    "rule_configs",
    # capture
    "CollectionKeys",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "modes",
    # analyse
    "create_trial",
    "__version__",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> object:
    if name == "modes":
        from sagemaker_debug_ext.vocabulary import ModeKeys  # noqa: PLC0415 - the point of this function

        value: object = ModeKeys
    elif name == "rule_configs":
        value = importlib.import_module("sagemaker_debug_ext.rule_configs")
    elif name in _HOMES:
        value = getattr(importlib.import_module(f"sagemaker_debug_ext.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
