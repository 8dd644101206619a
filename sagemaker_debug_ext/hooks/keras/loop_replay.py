"""What a model answers within the traced function of a loop, computed beside the graph that trains: `LoopReplay`."""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from sagemaker_debug_ext.hooks.fail_safe import never_into_script
from sagemaker_debug_ext.hooks.keras.recording import PREDICTIONS, Recording, Wants, tapped_layers
from sagemaker_debug_ext.hooks.keras.replay import Replay
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training

LOG = logging.getLogger(__name__)

wraps_training(__name__)


class LoopReplay:
    """Computes what a model and its layers give for the inputs of a step, before the step changes the model.

    Args:
        model: The model.
        named: Named arguments of its call.
        dtype: Type of the inputs within the function, which may cast its arguments.
        wants: Returns whether a tensor may ever be saved.
        guard: Calls a function and suppresses its errors.
        unnoticed: Returns a context in which calls of models are no part of the loop.
    """

    def __init__(
        self,
        model: Any,
        named: Mapping[str, Any],
        dtype: Any,
        wants: Wants,
        guard: Callable[..., Any],
        unnoticed: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        self._model = weakref.ref(model)
        self._named = named
        self._dtype = dtype
        self._wants = wants
        self._guard = guard
        self._unnoticed = unnoticed
        self._replay = Replay(self._record)
        self._is_possible = True

    def __call__(self, inputs: Any) -> dict[str, Any]:
        """Return what the model and its layers give, as name → tensor; empty if it cannot be computed apart."""
        with never_into_script(self._give_up):
            if self._is_possible:
                return self._replay(tf.cast(inputs, self._dtype))
        return {}

    def _record(self, inputs: Any) -> dict[str, Any]:
        model: Any = self._model()
        recording = Recording(self._wants)
        with self._unnoticed(), tapped_layers(model, self._wants, self._guard), recording:
            outputs = model(inputs, **self._named)
        recording.note(*PREDICTIONS, outputs)
        return recording.tensors(gather=False)

    def _give_up(self, reason: Exception) -> None:
        self._is_possible = False
        LOG.warning("what the model gives in a tf.function is not saved: %s", reason)
