"""What a loop with a gradient tape tells of the program: how it calls the model, and which loss it computes.

Only arguments and results of Python calls are looked at, while a tape of the script is open. The graph that trains
stays as it is, so that training rounds as ever.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any, Final

import attrs
import keras

from sagemaker_debug_ext.hooks.keras.hook import KerasHook
from sagemaker_debug_ext.hooks.program.keras import LoopCall, LoopLoss

LOSS_FUNCTIONS: Final = (
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
)
"""Losses of ``tf.nn``, which are called with ``logits``."""


@attrs.define(eq=False)
class _LastCall:
    """The last call of a model.

    Args:
        model: The model.
        trains: Whether it was told to train; None if unknown.
        output: What it returned; None if that cannot be told from others.
    """

    model: weakref.ref[Any]
    trains: bool | None
    output: weakref.ref[Any] | None


class LoopWatcher:
    """Notes calls of models and losses in the loops of a script.

    Args:
        find_hook: Returns the hook if a tape of the script is open.
        is_eager: Returns whether operations run at once, so that nothing is added to a graph.
    """

    def __init__(self, find_hook: Callable[[], KerasHook | None], is_eager: Callable[[], bool]) -> None:
        self._find_hook = find_hook
        self._is_eager = is_eager
        self._last: _LastCall | None = None
        self._num_losses = 0
        self._num_models = 0

    def wrap_model(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the call of a model that notes whether the outermost model is told to train.

        In eager code, the wrapper has the inputs and outputs of that model saved.
        """

        @functools.wraps(call)
        def called(model: Any, *args: Any, **kwargs: Any) -> Any:
            self._num_models += 1
            try:
                outputs = call(model, *args, **kwargs)
            finally:
                self._num_models -= 1
            hook = None if self._num_models else self._find_hook()
            if hook is not None:
                if args and self._is_eager():
                    hook.save_tape_logs(args[0], outputs)
                told = kwargs.get("training", args[1] if len(args) > 1 else None)
                self._last = _LastCall(weakref.ref(model), _trains(model, told), _reference(outputs))
                hook.note_loop(model, LoopCall(self._last.trains, None))
            return outputs

        return called

    def wrap_loss(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the call of a loss of Keras."""

        @functools.wraps(call)
        def called(loss: Any, y_true: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
            self._note_loss(y_pred, LoopLoss.of_keras, loss)
            self._num_losses += 1
            try:
                return call(loss, y_true, y_pred, *args, **kwargs)
            finally:
                self._num_losses -= 1

        return called

    def wrap_function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of a loss of ``tf.nn`` of some name; losses of Keras call these, too."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            if not self._num_losses:
                logits = kwargs.get("logits", args[1] if len(args) > 1 else None)
                self._note_loss(logits, LoopLoss, name)
            return function(*args, **kwargs)

        return called

    def _note_loss(self, predictions: Any, make: Callable[[Any], LoopLoss], of: Any) -> None:
        hook, last = self._find_hook(), self._last
        if hook is None or last is None or last.output is None or last.output() is not predictions:
            return
        model = last.model()
        if model is not None:
            hook.note_loop(model, LoopCall(last.trains, make(of)))


def _trains(model: Any, told: Any) -> bool | None:
    """Return whether a model is told to train, by an argument or by the default of its method; None if unknown."""
    if told is None:
        parameter = inspect.signature(type(model).call).parameters.get("training")
        default = parameter.default if parameter is not None else None
        return default if isinstance(default, bool) else False
    return bool(told) if isinstance(told, (bool, int)) else None


def _reference(outputs: Any) -> weakref.ref[Any] | None:
    """Return a weak reference to a tensor; None for anything that has none, such as a list of tensors."""
    try:
        return weakref.ref(outputs)
    except TypeError:
        return None


def install(watcher: LoopWatcher, namespace: Any) -> None:
    """Watch calls of models and losses.

    Args:
        watcher: Notes them.
        namespace: ``tf.nn``.
    """
    keras.Model.__call__ = watcher.wrap_model(keras.Model.__call__)
    keras.losses.Loss.__call__ = watcher.wrap_loss(keras.losses.Loss.__call__)
    for name in LOSS_FUNCTIONS:
        setattr(namespace, name, watcher.wrap_function(name, getattr(namespace, name)))
