"""What a model gives within the traced function of a loop, computed beside the graph that trains: `LoopReplay`."""

from __future__ import annotations

import contextlib
import io
import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import tensorflow as tf

from sagemaker_debug_ext.hooks.fail_safe import never_into_script
from sagemaker_debug_ext.hooks.keras.names import layers_of
from sagemaker_debug_ext.hooks.keras.recording import PREDICTIONS, Recording, Wants, apart, tapped_layers
from sagemaker_debug_ext.hooks.keras.replay import Replay
from sagemaker_debug_ext.hooks.process.sigterm import wraps_training

LOG = logging.getLogger(__name__)

wraps_training(__name__)

_KINDS: Final[tuple[Any, ...]] = (list, dict, set)
"""Containers whose elements are restored."""


class LoopReplay:
    """Computes what a model and its layers give for the inputs of a step, before the step changes the model.

    Args:
        model: The model.
        named: Named arguments of its call.
        dtype: Type of the inputs within the function, which may cast its arguments.
        wants: Returns whether a tensor may ever be saved.
        guard: Calls a function and suppresses its errors.
    """

    def __init__(
        self, model: Any, named: Mapping[str, Any], dtype: Any, wants: Wants, guard: Callable[..., Any]
    ) -> None:
        self._model = weakref.ref(model)
        self._named = named
        self._dtype = dtype
        self._wants = wants
        self._guard = guard
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
        owners = [model, *(layer for _, layer in layers_of(model))]
        recording = Recording(self._wants)
        with apart(), _unchanged(owners), tapped_layers(model, self._wants, self._guard), recording:
            outputs = model(inputs, **self._named)
        recording.note(*PREDICTIONS, outputs)
        return recording.tensors(gather=False)

    def _give_up(self, reason: Exception) -> None:
        self._is_possible = False
        LOG.warning("what the model gives in a tf.function is not saved: %s", reason)


@contextlib.contextmanager
def _unchanged(owners: Iterable[Any]) -> Iterator[None]:
    """Give objects their attributes back after the context, with the elements of containers, and print nothing in it.

    The script's own code in a model runs once more while a graph is built. It may count its calls, or keep a tensor.
    """
    kept = [(vars(owner), dict(vars(owner))) for owner in owners]
    values = {id(value): value for _, members in kept for value in members.values()}
    containers = [
        (value, kind, kind(value)) for value in values.values() for kind in _KINDS if issubclass(type(value), kind)
    ]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        for members, before in kept:
            members.clear()
            members.update(before)
        for value, kind, elements in containers:
            if kind is list:
                list.__setitem__(value, slice(None), elements)  # past subclasses that track what they are given
            else:
                kind.clear(value)
                kind.update(value, elements)
