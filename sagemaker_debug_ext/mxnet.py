"""Capture in MXNet scripts: ``import sagemaker_debug_ext.mxnet as smd``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext.config.reductions import ReductionConfig
from sagemaker_debug_ext.config.saving import SaveConfig, SaveConfigMode
from sagemaker_debug_ext.errors import SMDebugRuntimeError

try:
    import_optional("mxnet", "The MXNet hook", extra="mxnet", last_python=(3, 11))
except AttributeError as error:  # MXNet uses names that numpy 1.24 removed
    raise SMDebugRuntimeError(f"MXNet cannot be imported with this numpy; install one before 1.24 ({error})") from error
except OSError as error:  # its shared library depends on system libraries
    raise SMDebugRuntimeError(
        f"MXNet cannot be loaded; install the Debian packages libgomp1 and libquadmath0 ({error})"
    ) from error

from sagemaker_debug_ext.hooks.mxnet.blocks import Collection
from sagemaker_debug_ext.hooks.mxnet.hook import Hook, get_hook, set_hook
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
