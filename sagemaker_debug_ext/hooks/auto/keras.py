"""Capture of unmodified Keras scripts: the hook is added to the callbacks of every `fit`, `evaluate` and `predict`.

`install` wraps these methods with a function that adds the hook to their callbacks. `train_on_batch` and
`test_on_batch`, which have no callbacks, get the hook through the function that they run.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
from collections.abc import Callable
from typing import Any, Final

import keras

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.keras.backend import is_tensorflow
from sagemaker_debug_ext.hooks.keras.hook import KerasHook
from sagemaker_debug_ext.hooks.keras.recording import replaced
from sagemaker_debug_ext.hooks.keras.wrapped_steps import Phase
from sagemaker_debug_ext.hooks.options.config_file import HookConfiguration
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training

LOG = logging.getLogger(__name__)

wraps_training(__name__)

_METHODS: Final = ("fit", "evaluate", "predict")
_OF_BATCHES: Final = {"train_on_batch": Phase.TRAIN, "test_on_batch": Phase.TEST}
"""Methods that run a single batch without callbacks."""


class _Joiner:
    """Adds the hook to runs of models, unless they have one already."""

    def __init__(self, configuration: HookConfiguration) -> None:
        self._configuration = configuration
        self._hook: KerasHook | None = None
        self._pid = os.getpid()

    def wrap(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the method that adds the hook to the callbacks."""
        signature = inspect.signature(method)

        @functools.wraps(method)
        def captured(*args: Any, **kwargs: Any) -> Any:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:
                return method(*args, **kwargs)  # raises an error that describes the wrong arguments
            callbacks = given.get("callbacks")
            # Validation inside `fit` passes the callbacks of `fit`.
            hook = None if isinstance(callbacks, keras.callbacks.CallbackList) else self._find_hook(callbacks)
            if hook is None:
                return method(*args, **kwargs)
            own = keras.tree.flatten(callbacks) if callbacks else []
            bound = signature.bind(*args, **kwargs)
            bound.arguments["callbacks"] = [hook, *own]
            return method(*bound.args, **bound.kwargs)

        return captured

    def wrap_batch(self, method: Callable[..., Any], phase: Phase) -> Callable[..., Any]:
        """Return a wrapper of a method for single batches, whose function the hook wraps as soon as it is made."""
        attribute = f"make_{phase.value}_function"

        @functools.wraps(method)
        def captured(model: Any, *args: Any, **kwargs: Any) -> Any:
            hook = self._find_hook(None)
            if hook is None:
                return method(model, *args, **kwargs)
            original = getattr(model, attribute)

            def make(*given: Any, **named: Any) -> Any:
                made = original(*given, **named)
                hook.join_batch(model, phase)
                return made

            with replaced(model, attribute, make):
                return method(model, *args, **kwargs)

        return captured

    def _find_hook(self, callbacks: Any) -> KerasHook | None:
        if os.getpid() != self._pid or any(isinstance(item, BaseHook) for item in keras.tree.flatten(callbacks or [])):
            return None
        try:
            if self._hook is None:
                if registry.has_hook():
                    return None
                self._hook = KerasHook.create_from_configuration(self._configuration)
        except (DebugExtError, OSError) as error:
            LOG.warning("a model is not captured: %s", error)
        return self._hook


def install(configure: Callable[[int], HookConfiguration]) -> None:
    """Capture the models of this process.

    Args:
        configure: Default save interval → hook configuration.
    """
    joiner = _Joiner(configure(KerasHook.default_save_interval))
    for name in _METHODS:
        owner = next(kind for kind in keras.Model.__mro__ if name in vars(kind))
        setattr(owner, name, joiner.wrap(vars(owner)[name]))
    if is_tensorflow():
        for name, phase in _OF_BATCHES.items():
            owner = next(kind for kind in keras.Model.__mro__ if name in vars(kind))
            setattr(owner, name, joiner.wrap_batch(vars(owner)[name], phase))
