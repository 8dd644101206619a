"""Capture of unmodified Keras scripts: the hook is added to the callbacks of every `fit`, `evaluate` and `predict`.

`install` wraps these methods with a function that adds the hook to their callbacks. `train_on_batch`, `test_on_batch`
and `predict_on_batch`, which have no callbacks, get the hook through the function that they run. Gradient tapes that
the script opens outside these methods are captured as `wrap_tape` captures them. Their layers are not registered,
because a graph that gives out tensors of layers may round differently. Instead, `keras_loops` records model, loss,
inputs and labels, and what the model and its layers give: in eager code as they are called, in graphs beside them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import keras

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.auto import keras_loops
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
_OF_BATCHES: Final = {
    "train_on_batch": Phase.TRAIN,
    "test_on_batch": Phase.TEST,
    "predict_on_batch": Phase.PREDICT,
}
"""Methods that run a single batch without callbacks."""

_AUTOGRAPH: Final = "tensorflow.python.autograph."
_NOT_OF_SCRIPT: Final = ("tensorflow.", "keras.", "tf_keras.")
"""Modules whose tapes are no training loop of the script."""


class _Joiner:
    """Adds the hook to runs of models, unless they have one already."""

    def __init__(self, configuration: HookConfiguration) -> None:
        self._configuration = configuration
        self._hook: KerasHook | None = None
        self._pid = os.getpid()
        self._num_running = 0

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
            bound = signature.bind(*args, **kwargs)
            if hook is not None:
                own = keras.tree.flatten(callbacks) if callbacks else []
                bound.arguments["callbacks"] = [hook, *own]
            with self._running():
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

            with replaced(model, attribute, make), self._running():
                return method(model, *args, **kwargs)

        return captured

    def wrap_tapes(self, initialise: Callable[..., None]) -> Callable[..., None]:
        """Return a wrapper of a tape's initialisation that captures tapes of the script's own loops."""

        @functools.wraps(initialise)
        def captured(tape: Any, *args: Any, **kwargs: Any) -> None:
            initialise(tape, *args, **kwargs)
            hook = self._find_hook(None) if not self._num_running and _is_called_by_script() else None
            if hook is not None:
                hook.wrap_tape(tape)

        return captured

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        """Note that a method of a model runs, which opens tapes itself."""
        self._num_running += 1
        try:
            yield
        finally:
            self._num_running -= 1

    def hook_of_loop(self) -> KerasHook | None:
        """Return the hook if a tape of the script's own loop is open."""
        return self._hook if self._hook is not None and self._hook.has_open_tape else None

    def hook_of_any(self) -> KerasHook | None:
        """Return the hook if a tape of the script's own loop is open, or a method of a model runs."""
        return self._hook if self._num_running else self.hook_of_loop()

    def hook_apart(self) -> KerasHook | None:
        """Return the hook, if there is one yet, while neither a tape is open nor a method of a model runs."""
        return self._hook if self.hook_of_any() is None else None

    def save_arguments(self, batch: Mapping[str, Any]) -> None:
        """Save what a traced loop has called a model and its loss with."""
        if self._hook is not None:
            self._hook.save_loop_batch(batch)

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


def _is_called_by_script() -> bool:
    """Return whether the caller of a wrapper is no part of TensorFlow or Keras; code converted to a graph is none."""
    frame = sys._getframe(2)  # noqa: SLF001 - there is no public way to see who opens a tape
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_AUTOGRAPH):
        frame = frame.f_back
    return not frame.f_globals.get("__name__", "").startswith(_NOT_OF_SCRIPT)


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
        import tensorflow as tf  # noqa: PLC0415 - the back end in use

        tf.GradientTape.__init__ = joiner.wrap_tapes(tf.GradientTape.__init__)
        from sagemaker_debug_ext.hooks.auto import keras_arguments  # noqa: PLC0415 - imports TensorFlow

        arguments = keras_arguments.TracedArguments(joiner.save_arguments, tf.executing_eagerly)
        watcher = keras_loops.LoopWatcher(
            joiner.hook_of_loop, joiner.hook_of_any, joiner.hook_apart, tf.executing_eagerly, arguments
        )
        keras_loops.install(watcher, tf)
        keras_arguments.install(arguments)
