"""MissingActivation: consecutive layers without an activation between them, or with one that passes little on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.activations import is_plain, outputs_of_softmax
from sagemaker_debug_ext.rules.inference.training import StreakCounter, is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

BENDING_NOTHING: Final = ("Dropout", "BatchNorm")
"""Beginnings of the names of classes whose layers are no activation."""
FEWEST_CONVOLUTIONS: Final = 3
"""Number of convolutions from which on they are looked at."""
MOST_CONVOLUTIONS: Final = 0.55
"""Fraction of the convolutions that may enter another layer unchanged; of separable ones, every other one does."""
MOST_PASSED: Final = 3
"""Number of layers, the next fully connected one included, in which to look for an output."""


class _Layer(NamedTuple):
    """Names of a weight, and of the input and output of its layer; and whether it is a convolution."""

    weight: str
    given: str
    output: str
    is_convolution: bool


class _Passed(NamedTuple):
    """What a layer that bends nothing gets and makes."""

    given: Array
    output: str
    made: Array


class MissingActivation(BuiltinRule):
    """Layers have no activation between them, so that several are equivalent to one.

    Checks inputs and outputs of fully connected layers and convolutions, at TRAIN steps (or steps without a mode). The
    rule fires if the output of a layer equals, element by element, the input of another one at `patience` consecutive
    saved steps. This must hold for at least half of the fully connected layers, because factorized matrices, which
    follow each other on purpose, are fewer. A layer that is narrower than both its input and what the next one makes
    does not count: it is a bottleneck, as the code of an autoencoder. Of three convolutions or more, it must hold for
    more than 55 %, because every other one of those that are separable follows another. They are looked at in the first
    `patience` steps.

    Outputs of layers that take the same input count if they are joined for another one, as in a recurrent network
    written by hand, and all fully connected layers but the last one enter another one that way or unchanged.

    It also fires if the program record names a softmax whose output is the input of a fully connected layer. Its shares
    add up to 1, so that of many units each gets little to pass on.

    Parameters:
        patience: Number of consecutive saved steps; 3 when not given.

    Source:
        Removing an activation is an operator of DeepCrime: Humbatova, Jahangirova and Tonella, ISSTA 2021.

    Example:
        >>> rule = create_rule("MissingActivation", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "MissingActivation"
    fires_after_patience = True
    advice = "Use an activation for single units, such as ReLU, between the layers."
    selection = Selection(collections=(CollectionKeys.WEIGHTS,))

    def configure(self) -> None:
        self._streaks = StreakCounter()
        self._num_looked = 0

    def needs(self) -> tuple[TensorRequirement, ...]:
        return TensorRequirement("weights", self.selection), TensorRequirement(
            "outputs", Selection(roles=(Role.LAYER_OUTPUT,))
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if layers follow each other."""
        if not is_training(view):
            return None
        found = [self._evaluate_connected(view), self._evaluate_convolutions(view)]
        known = [issues for issues in found if issues is not None]
        return [issue for issues in known for issue in issues] if known else None

    def _evaluate_connected(self, view: StepView) -> list[Issue] | None:
        """Return the issues of fully connected layers; None if there are too few."""
        layers = list(self._layers(view))
        if len(layers) < 2:
            return None
        given = _inputs_of(view, layers)
        following = [layer.output for layer in layers if _is_followed(view, layer, layers, given)]
        limit = max(1, len(layers) / 2)  # no layer follows the last one
        if len(following) < limit:
            joined = [
                layer for layer in layers if layer.output not in following and _is_joined(view, layer, layers, given)
            ]
            if len(joined) > 1 and all(_is_same(given[joined[0].given], given[layer.given]) for layer in joined):
                following += [layer.output for layer in joined]
                limit = len(layers) - 1
        holds = len(following) >= limit
        softmaxes = [
            name
            for name in view.of_names(outputs_of_softmax)
            if (output := view.value(name)) is not None and _entered(name, output, layers, given)
        ]
        patience: int = self.parameters["patience"]
        issues = []
        if self._streaks.observe("none", holds) >= patience:
            issues.append(self._unfollowed(view, following, limit))
        if self._streaks.observe("softmax", bool(softmaxes)) >= patience:
            text = (
                f"A softmax lies between layers in {describe_tensors(softmaxes)}: its shares add up to 1, so that "
                "little of each unit enters the next layer."
            )
            issues.append(self.found(view, text, tensors=softmaxes, value=len(softmaxes), threshold=0))
        return issues

    def _evaluate_convolutions(self, view: StepView) -> list[Issue] | None:
        """Return the issue of convolutions at the first steps, because their outputs are large; None if too few."""
        if self._num_looked >= self.parameters["patience"]:
            return None
        convolutions = list(self._layers(view, of_convolutions=True))
        if len(convolutions) < FEWEST_CONVOLUTIONS:
            return None
        self._num_looked += 1
        layers = [*convolutions, *self._layers(view)]
        given = _inputs_of(view, layers)
        following = [layer.output for layer in convolutions if _is_followed(view, layer, layers, given)]
        limit = MOST_CONVOLUTIONS * len(convolutions)
        streak = self._streaks.observe("convolutions", len(following) > limit)
        return [self._unfollowed(view, following, limit)] if streak >= self.parameters["patience"] else []

    def _unfollowed(self, view: StepView, outputs: list[str], limit: float) -> Issue:
        text = f"No activation follows {describe_tensors(outputs)}: the output enters the next layer unchanged."
        return self.found(view, text, tensors=outputs, value=len(outputs), threshold=limit)

    def _layers(self, view: StepView, *, of_convolutions: bool = False) -> Iterator[_Layer]:
        """Yield the fully connected layers, or the convolutions, whose input and output were saved."""
        saved = set(view.tensor_names)
        scheme = naming_scheme_of(view.trial)
        for name in view.selected(self.selection):
            weight = view.value(name)
            if weight is None or weight.ndim < 2 or (weight.ndim > 2) != of_convolutions:
                continue
            for given, output in scheme.layers_of(name):
                if {given, output} <= saved and _takes_numbers(view, given):
                    yield _Layer(name, given, output, of_convolutions)
                    break


def _takes_numbers(view: StepView, name: str) -> bool:
    """Return whether a layer is fully connected, and not an embedding, whose inputs are indices."""
    given = view.value(name)
    return given is not None and given.dtype.kind in "fV"


def _is_followed(view: StepView, layer: _Layer, layers: list[_Layer], given: Mapping[str, Array]) -> bool:
    """Return whether the output of a layer is the input of another one, but for layers between that bend nothing.

    Args:
        view: The step.
        layer: The layer.
        layers: All layers.
        given: The inputs of all layers, by name.
    """
    output = view.value(layer.output)
    if output is None or not np.any(output):
        return False
    passed = view.once(_passed_through)
    name = layer.output
    for _ in range(MOST_PASSED):
        following = _entered(name, output, layers, given)
        if following:
            is_bottleneck = not layer.is_convolution and all(_is_narrowest(view, layer, other) for other in following)
            return not is_bottleneck and _has_no_activation(view, layer)
        further = next((part for part in passed if _is_same(output, part.given)), None)
        if further is None:
            return False
        name, output = further.output, further.made
    return False


def _has_no_activation(view: StepView, layer: _Layer) -> bool:
    """Return whether the output of a layer is that of its weight, for frameworks whose layers may have activations."""
    name = layer.output.removesuffix("/outputs")
    activation = next((record.activation for record in view.program.layers if record.name == name), "unknown")
    if not layer.is_convolution:  # the values of a ReLU that cuts nothing do not show it
        may_be_plain = activation in (None, "linear", "unknown")
        return may_be_plain and is_plain(view, layer.weight, layer.given, layer.output)
    return not naming_scheme_of(view.trial).fuses_activations or activation in (None, "linear")


def _inputs_of(view: StepView, layers: list[_Layer]) -> dict[str, Array]:
    """Return the inputs of layers, by name."""
    return {layer.given: value for layer in layers if (value := view.value(layer.given)) is not None}


def _passed_through(view: StepView) -> list[_Passed]:
    """Return the layers of a step that the program record calls dropout or batch normalisation."""
    scheme = naming_scheme_of(view.trial)
    saved = set(view.tensor_names)
    found = []
    for layer in view.program.layers:
        for output in (f"{layer.name}_output_0", f"{layer.name}/outputs"):
            if layer.type.startswith(BENDING_NOTHING) and output in saved:
                given, made = view.value(scheme.input_of(output)), view.value(output)
                if given is not None and made is not None:
                    found.append(_Passed(given, output, made))
    return found


def _entered(name: str, output: Array, layers: list[_Layer], given: Mapping[str, Array]) -> list[_Layer]:
    """Return the layers, other than its own, of which an output is the unchanged input."""
    return [other for other in layers if other.output != name and _is_same(output, given[other.given])]


def _is_narrowest(view: StepView, layer: _Layer, following: _Layer) -> bool:
    """Return whether a layer makes fewer numbers than it gets, and than the next one makes."""
    taken, made, other = (view.value(name) for name in (layer.given, layer.output, following.output))
    if taken is None or made is None or other is None or 0 in (taken.ndim, made.ndim, other.ndim):
        return False
    return bool(made.shape[-1] < min(taken.shape[-1], other.shape[-1]))


def _is_joined(view: StepView, layer: _Layer, layers: list[_Layer], given: Mapping[str, Array]) -> bool:
    """Return whether the output of a layer is a part of the input of another one, joined along the last axis."""
    output = view.value(layer.output)
    if output is None or not np.any(output):
        return False
    return any(
        _is_part(output, given[other.given]) for other in layers if other.output != layer.output
    ) and _has_no_activation(view, layer)


def _is_part(output: Array, given: Array) -> bool:
    """Return whether the columns of an array are consecutive ones of a wider array."""
    if 0 in (output.ndim, given.ndim):
        return False
    width, spare = output.shape[-1], given.shape[-1] - output.shape[-1]
    if output.shape[:-1] != given.shape[:-1] or spare < 1:
        return False
    starts = np.flatnonzero(given.reshape(-1, width + spare)[0, : spare + 1] == output.item(0))
    return any(np.array_equal(output, given[..., start : start + width]) for start in starts)


def _is_same(output: Array, given: Array) -> bool:
    """Return whether two arrays are equal; the first elements nearly always tell that they are not."""
    return output.shape == given.shape and output.item(0) == given.item(0) and np.array_equal(output, given)
