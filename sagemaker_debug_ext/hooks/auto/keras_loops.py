"""What a loop with a gradient tape tells of the program: how it calls the model, and which loss it computes.

Only arguments and results of Python calls are looked at, while a tape of the script is open. The graph that trains
stays as it is, so that training rounds as ever.
"""

from __future__ import annotations

import functools
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
    """The last call of a model: the model, whether it was told to train, and the identity of what it returned."""

    model: weakref.ref[Any]
    trains: bool
    output: int


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
        self._described: set[Any] = set()
        self._num_losses = 0
        self._num_models = 0

    def wrap_model(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of the call of a model that notes whether it is told to train.

        In eager code, the wrapper has the inputs and outputs of the outermost model saved.
        """

        @functools.wraps(call)
        def called(model: Any, *args: Any, **kwargs: Any) -> Any:
            self._num_models += 1
            try:
                outputs = call(model, *args, **kwargs)
            finally:
                self._num_models -= 1
            hook = self._find_hook()
            if hook is not None:
                if not self._num_models and args and self._is_eager():
                    hook.save_tape_logs(args[0], outputs)
                told = kwargs.get("training", args[1] if len(args) > 1 else None)
                self._last = _LastCall(weakref.ref(model), isinstance(told, (bool, int)) and bool(told), id(outputs))
                self._describe(hook, self._last, None)
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
        if hook is not None and last is not None and last.output == id(predictions):
            self._describe(hook, last, make(of))

    def _describe(self, hook: KerasHook, last: _LastCall, loss: LoopLoss | None) -> None:
        """Record the program, once for each way of calling the model and each loss."""
        model = last.model()
        key = (id(model), last.trains, None if loss is None else loss.type)
        if model is not None and key not in self._described:
            self._described.add(key)
            hook.describe_loop(model, LoopCall(last.trains, loss))


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
