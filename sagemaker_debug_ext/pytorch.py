"""Capture in PyTorch scripts: ``import sagemaker_debug_ext.pytorch as smd``."""

# ruff: noqa: E402 - check for PyTorch first, so that the error names the package to install

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode

import_optional("torch", "The PyTorch hook", extra="torch")

from sagemaker_debug_ext.hooks.pytorch.collections import Collection
from sagemaker_debug_ext.hooks.pytorch.hook import Hook, get_hook, set_hook
from sagemaker_debug_ext.hooks.registry import del_hook
from sagemaker_debug_ext.hooks.save_tensor import save_tensor
from sagemaker_debug_ext.vocabulary import CollectionKeys
from sagemaker_debug_ext.vocabulary import ModeKeys as modes  # noqa: N813 - the name that scripts import

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import create_trial

__all__ = [
    "Collection",
    "CollectionKeys",
    "Hook",
    "ReductionConfig",
    "SaveConfig",
    "SaveConfigMode",
    "create_trial",
    "del_hook",
    "get_hook",
    "modes",
    "save_tensor",
    "set_hook",
]

__path__: list[str] = []  # submodules come from the table of public names
__getattr__ = lazy_names(__name__, {"create_trial": "trials"})  # a training script rarely reads trials
