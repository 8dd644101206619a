"""Collections of Keras and TensorFlow tensors, to which variables and layers can be added."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import keras

from sagemaker_debug_ext.config.collection import Collection as BaseCollection
from sagemaker_debug_ext.errors import SMDebugTypeError, brief
from sagemaker_debug_ext.hooks.keras.backend import is_variable
from sagemaker_debug_ext.hooks.keras.names import variable_path
from sagemaker_debug_ext.vocabulary import CollectionKeys

LOG = logging.getLogger(__name__)

_CHOOSING: Final = {
    CollectionKeys.GRADIENTS: re.compile(r"^gradients/"),
    CollectionKeys.LAYERS: re.compile(r"/(inputs|outputs)(_\d+)?$"),
}
"""Collections whose patterns choose among what they hold → the names of that."""


class _LayerTensors(NamedTuple):
    layer: Any
    inputs: bool
    outputs: bool


class Collection(BaseCollection):
    """A named group of tensors, to which variables, and inputs and outputs of layers, can be added."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._layers: list[_LayerTensors] = []
        self._members: set[str] = set()

    def add_keras_layer(self, layer: Any, inputs: bool = False, outputs: bool = True) -> None:
        """Include the inputs, the outputs, or both of a layer.

        Raises:
            SMDebugTypeError: `layer` is not a Keras layer.
        """
        if not isinstance(layer, keras.Layer):
            raise SMDebugTypeError(f"layer must be a keras.Layer (got {brief(layer)})")
        self._layers.append(_LayerTensors(layer, inputs, outputs))

    def add(self, arg: Any) -> None:
        """Include a variable of a model, or the outputs of the layer that produces a symbolic Keras tensor.

        Lists of these are accepted; other values are skipped with a warning.
        """
        if isinstance(arg, (list, tuple, set)):
            for member in arg:
                self.add(member)
        elif is_variable(arg):
            self.include(rf"(^|/)weights/{re.escape(variable_path(arg))}:0$")
        elif isinstance(arg, keras.KerasTensor) and isinstance(arg._keras_history.operation, keras.Layer):  # noqa: SLF001
            self.add_keras_layer(arg._keras_history.operation)  # noqa: SLF001
        else:
            LOG.warning("collection %r: a %s cannot be added", self.name, type(arg).__name__)

    def add_for_mode(self, arg: Any, mode: Any) -> None:  # noqa: ARG002 - variables are the same in every mode
        """Add, in every mode, what `add` adds."""
        self.add(arg)

    def add_member(self, tensor_name: str) -> bool:
        """Include a tensor by its kind, which the collections file lists once it is saved; return whether it is new."""
        is_new = tensor_name not in self._members
        self._members.add(tensor_name)
        return is_new

    def matches(self, tensor_name: str) -> bool:
        """Return whether a tensor of that name belongs to the collection.

        Patterns of ``layers`` and ``gradients`` choose among what these hold, those of ``layers`` by the name of the
        layer, too. Patterns of other collections add members.
        """
        kind = _CHOOSING.get(self.name)
        if kind is None or not self.include_regex:
            return tensor_name in self._members or super().matches(tensor_name)
        layer = tensor_name.rpartition("/")[0] if self.name == CollectionKeys.LAYERS else tensor_name
        return bool(kind.search(tensor_name)) and (super().matches(tensor_name) or super().matches(layer))

    def resolve_layers(self, names: Mapping[int, str]) -> None:
        """Convert the added layers to patterns.

        Args:
            names: `id` → name of the layers of the model; other layers have their own name.
        """
        for layer, inputs, outputs in self._layers:
            name = re.escape(names.get(id(layer), layer.name))
            kinds = [kind for kind, wanted in (("inputs", inputs), ("outputs", outputs)) if wanted]
            self.include([rf"^{name}/{kind}(_\d+)?$" for kind in kinds])
        self._layers.clear()
