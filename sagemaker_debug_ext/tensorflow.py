"""Capture in Keras and TensorFlow scripts: ``import sagemaker_debug_ext.tensorflow as smd``."""

# ruff: noqa: E402 - check for Keras first, so that the error names the package to install

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode

import_optional("keras", "The Keras hook", extra="tensorflow")

from sagemaker_debug_ext.hooks.keras.collections import Collection
from sagemaker_debug_ext.hooks.keras.hook import KerasHook
from sagemaker_debug_ext.hooks.keras.legacy import EstimatorHook, SessionHook, get_hook, set_hook
from sagemaker_debug_ext.hooks.registry import del_hook
from sagemaker_debug_ext.hooks.save_tensor import save_tensor
from sagemaker_debug_ext.vocabulary import CollectionKeys
from sagemaker_debug_ext.vocabulary import ModeKeys as modes  # noqa: N813 - the name that scripts import

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import create_trial

__all__ = [
    "Collection",
    "CollectionKeys",
    "EstimatorHook",
    "KerasHook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "SessionHook",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "save_tensor",
    "set_hook",
]

__path__: list[str] = []  # submodules come from the table of public names
__getattr__ = lazy_names(__name__, {"create_trial": "trials"})  # a training script rarely reads trials
