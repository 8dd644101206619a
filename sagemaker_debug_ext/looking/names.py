"""Names of tensors as people read them, the same in each sentence and picture of a story."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.reading.tensor_roles import NamingScheme

_SEPARATORS: Final = "./_"
_QUOTED: Final = re.compile("'([^'\n]+)'")
_OF_OPTIMIZER: Final = re.compile("(.+)_(gradients_kept|learning_rate)_([0-9]+)")
_WORDS: Final = {
    "gradients_kept": "the gradients that {} keeps",
    "learning_rate": "the learning rate of {}",
    "sample_weights": "the weights of the samples",
}
"""What the hooks' own records are about."""


def shared_path(names: Sequence[str]) -> str:
    """Return the longest path that all names start with, including its last separator; a single name is returned whole.

    Example:
        >>> shared_path(["net.fc1.weight", "net.fc1.bias"])
        'net.fc1.'
    """
    if not names:
        return ""
    first, last = min(names), max(names)  # all names between them share what these two do
    if first == last:
        return first
    common = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: max(first.rfind(separator, 0, common) for separator in _SEPARATORS) + 1]


@attrs.frozen
class Labels:
    """Labels of the tensors of a trial.

    A parameter and its gradient have the path of the parameter in the model, input and output of a layer its path, and
    what the hook records by itself is told in words.

    Args:
        scheme: The names that the hook gives.
        parameters: Names of the parameters.
        layers: The layers with outputs.
        model: The path that all parameters share.
        stem: The path that all layers share.
    """

    scheme: NamingScheme
    parameters: frozenset[str]
    layers: frozenset[str]
    model: str
    stem: str

    @classmethod
    def of_groups(
        cls, scheme: NamingScheme, parameters: Iterable[str], gradients: Iterable[str], outputs: Iterable[str]
    ) -> Labels:
        """Return the labels for the parameters, gradients and outputs of layers that a trial has."""
        known = frozenset(parameters)
        paths = {scheme.path_of(name) for name in (*known, *gradients)}
        layers = frozenset(scheme.side_of_layer(name)[0] for name in outputs) - {""}
        return cls(scheme, known, layers, *(shared_path(tuple(p)) if len(p) > 1 else "" for p in (paths, layers)))

    def of(self, name: str) -> str:
        """Return the label of a tensor."""
        if name in self.parameters or self.scheme.is_gradient(name):
            return self.scheme.path_of(name).removeprefix(self.model)
        layer, _ = self.scheme.side_of_layer(name)
        if layer in self.layers:
            return layer.removeprefix(self.stem)
        return self._record(name) or name

    def before(self, name: str) -> str:
        """Return what a sentence has before the label: which of the tensors with this label it is."""
        if self.scheme.is_gradient(name):
            return "the gradient of "
        layer, side = self.scheme.side_of_layer(name)
        return f"the {side} of layer " if layer in self.layers else ""

    def in_text(self, text: str) -> str:
        """Return sentences with the labels of the tensors that are quoted in them; the first begins with a capital."""
        labelled = _QUOTED.sub(lambda found: self._quoted(found[1]), text)
        return labelled[:1].upper() + labelled[1:]

    def _quoted(self, name: str) -> str:
        return self._record(name) or f"{self.before(name)}'{self.of(name)}'"

    @staticmethod
    def _record(name: str) -> str | None:
        """Return what a hook's own record is about; None for other tensors."""
        found = _OF_OPTIMIZER.fullmatch(name)
        if found is None:
            return _WORDS.get(name)
        optimizer = found[1] if found[3] == "0" else f"{found[1]} {int(found[3]) + 1}"
        return _WORDS[found[2]].format(optimizer)
