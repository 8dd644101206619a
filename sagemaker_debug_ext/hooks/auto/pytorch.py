"""Capture of unmodified PyTorch scripts: the hook finds models and losses automatically.

`install` adds a global forward pre-hook to PyTorch. A module that the script calls directly, not through another
module, is a model if it has trainable parameters, and a loss if its class is named like one. After many calls without
a new module, the pre-hook is removed.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from typing import Any, Final

from torch import nn
from torch.nn.modules import module as modules
from torch.utils.hooks import RemovableHandle

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.fail_safe import never_into_script
from sagemaker_debug_ext.hooks.options.config_file import HookConfiguration
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training
from sagemaker_debug_ext.hooks.pytorch.hook import Hook
from sagemaker_debug_ext.hooks.pytorch.module_hooks import HookCallback

LOG = logging.getLogger(__name__)

wraps_training(__name__)

_SETTLED_AFTER_CALLS: Final = 100_000
"""Number of consecutive calls of known modules after which no new model or loss is expected."""


class AutoHook(Hook):
    """A hook that derives the mode of a step from the model, and finds losses by calls of ``backward``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, detect_losses=True, **kwargs)
        self.mode_follows_model = True

    @property
    def is_closed(self) -> bool:
        """Whether the script has closed it."""
        return self._lifecycle.is_closed

    def join(self, module: nn.Module) -> None:
        """Register a module whose forward pass is starting."""
        is_further_loss = _is_loss(module) and any(root.is_model for root in self._roots)  # may be trainable
        if _is_model(module) and not is_further_loss:
            self.register_module(module)
            self.begin_step(module)
        else:
            self.register_loss(module)


class _Finder:
    """Finds models and losses among all modules that are called."""

    def __init__(self, configuration: HookConfiguration) -> None:
        self._configuration = configuration
        self._hook: AutoHook | None = None
        self._known: set[int] = set()
        self._kept: list[nn.Module] = []  # keeps known modules alive, so that no other module reuses their id
        self._num_calls_without_news = 0
        self._pid = os.getpid()
        self.handle: RemovableHandle | None = None

    def look(self, module: nn.Module, _: tuple[Any, ...]) -> None:
        """Inspect a module that is about to run."""
        if id(module) in self._known:
            self._num_calls_without_news += 1
            if self._num_calls_without_news == _SETTLED_AFTER_CALLS:
                self.stop()
            return
        self._num_calls_without_news = 0
        if os.getpid() != self._pid:
            return
        if self._hook is not None and self._hook.is_closed:
            self.stop()
            return
        parts = list(module.modules())
        self._kept.append(module)
        is_part = any(id(part) in self._known for part in parts)
        self._known.update(id(part) for part in parts)
        if is_part or not (_is_model(module) or _is_loss(module)):
            return
        with never_into_script(functools.partial(_report, type(module).__name__)):
            if self._hook is None:
                if registry.has_hook():
                    self.stop()
                    return
                self._hook = AutoHook.create_from_configuration(self._configuration)
            self._hook.join(module)

    def stop(self) -> None:
        """Stop inspecting modules."""
        if self.handle is not None:
            self.handle.remove()
            self.handle = None


def _report(name: str, error: Exception) -> None:
    """Log why a module is not captured, with a traceback if the reason is not known."""
    if isinstance(error, (DebugExtError, OSError)):
        LOG.warning("a %s is not captured: %s", name, error)
    else:
        LOG.error("a %s is not captured", name, exc_info=error)


def _is_model(module: nn.Module) -> bool:
    return any(parameter.requires_grad for parameter in module.parameters())


def _is_loss(module: nn.Module) -> bool:
    return type(module).__name__.lower().endswith("loss")


def install(configure: Callable[[int], HookConfiguration]) -> None:
    """Capture the models and losses of this process as soon as they run.

    Args:
        configure: Default save interval → hook configuration.
    """
    finder = _Finder(configure(AutoHook.default_save_interval))
    finder.handle = modules.register_module_forward_pre_hook(HookCallback(finder.look))
