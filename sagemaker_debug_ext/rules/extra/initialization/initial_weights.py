"""InitialWeights: the scale of the first weights is far from the one that training needs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.training import is_training
from sagemaker_debug_ext.rules.inference.updates import update_ratio
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, norm
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

EMBEDDING: Final = re.compile("emb|wte|wpe|lora", re.IGNORECASE)
"""Names of weights that start at 0 on purpose, or whose second axis is unrelated to the size of outputs."""

RECURRENT: Final = re.compile("_hh_|h2h|recurrent", re.IGNORECASE)
"""Names of weights that are applied at each step of a sequence."""
OF_ONE_VALUE: Final = "has the same value everywhere, so all its units learn the same"
OFTEN: Final = 2
"""Divisor of the limit of recurrent weights, because their gain applies repeatedly."""
FEWEST_SMALL: Final = 2
"""Number of small layers that together let hardly any gradient through."""
SMALL_UPDATE: Final = 0.1
"""Relative change of a weight up to which the updated weight stands for the initial one."""


def gain(weight: Array) -> float | None:
    """Return the ratio of the size of outputs to that of inputs; None for weights of one axis or with only zeros.

    It is the root mean square of the weights times the root of the number of inputs of a unit. The slope of a line, a
    single number, has no usual size.
    """
    if weight.ndim < 2 or weight.size < 2:
        return None
    size = norm(weight)
    return size / math.sqrt(len(weight)) if size > 0 else None


def root_mean_square(weight: Array) -> float | None:
    """Return the root mean square of a weight; None if it has no elements or only zeros."""
    size = norm(weight)
    return size / math.sqrt(weight.size) if size > 0 else None


def is_of_one_value(weight: Array) -> bool:
    """Return whether all elements are the same, and neither 0 nor 1, with which some layers start on purpose.

    Weights with elements along one axis only are biases or scales.
    """
    if weight.size <= max(weight.shape, default=0) or weight.dtype.kind not in "fV":
        return False
    first = weight.reshape(-1)[0]
    return bool(first not in (0, 1) and np.all(weight == first))


def gain_of_last(weight: Array) -> float | None:
    """Return the `gain` of a weight whose last axis is the axis of the units."""
    return gain(np.moveaxis(weight, -1, 0)) if weight.ndim else None


class InitialWeights(TensorRule):
    """Weights start far too large or far too small.

    Checks weights of two or more axes at the first TRAIN step (or step 0 of a trial without modes); axis 0 is the axis
    of the units. Weights with ``emb``, ``wte``, ``wpe`` or ``lora`` in their names are skipped. The gain of a layer is
    the root mean square of its weights times the root of the number of inputs of a unit. It is the ratio of the size of
    outputs to that of inputs, and from 0.5 to 1.5 with the usual initialisations. Layers that the program record calls
    embeddings have indices as inputs: their gain is the root mean square itself, which may be small.

    The rule fires if the gain is above `max_gain`, or if that of at least two layers is below `min_gain`. Weights that
    are all 0 do not count. A single small layer has a gradient of usual size, so that it soon grows; policies of agents
    often end in one. For recurrent weights, recognized by their names, the limit is half of `max_gain`, because they
    are applied at each step of a sequence. The rule also fires if all elements of a weight have one value other than 0
    and 1, because its units then all learn the same.

    The hooks of Keras and MXNet save weights after the update. These weights are evaluated after the first update, at
    the next saved step, and only if that step shows that updates change them little.

    Parameters:
        tensor_regex: Regular expressions searched in names of weights, as a list or separated by commas. When not
            given: the collection ``weights``.
        max_gain: Largest gain; 8 when not given.
        min_gain: Smallest gain; 0.02 when not given.

    Source:
        The spread of weights that keeps the size of activations: He and others, Delving Deep into Rectifiers, ICCV
        2015.

    Example:
        >>> rule = create_rule("InitialWeights", trial, {"max_gain": 4})
        >>> invoke_rule(rule)
    """

    spec_name = "InitialWeights"
    is_stateless = True
    advice = "Initialise the weights to suit the activation, for example by He for ReLU and by Glorot for tanh."

    def configure(self) -> None:
        self.selection = chosen_or(self.parameters["tensor_regex"], collections=(CollectionKeys.WEIGHTS,))

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("weights", self.selection),)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the gain of a layer."""
        if not is_training(view) or EMBEDDING.search(name):
            return None
        scheme, is_table = naming_scheme_of(view.trial), view.once(_is_of_embedding, name)
        measure = root_mean_square if is_table else gain_of_last if scheme.has_units_last(name) else gain
        if scheme.is_updated(name):
            first = self._first_value(view, name)
            found = None if first is None else measure(first)
        else:
            found = view.statistic(name, measure) if view.mode_step == 0 else None
        if found is None or not math.isfinite(found):
            return None
        high: float = self.parameters["max_gain"] / (OFTEN if RECURRENT.search(name) else 1)
        low: float = 0.0 if is_table else self.parameters["min_gain"]
        if view.mode_step == 0 and view.statistic(name, is_of_one_value):
            return Measurement(found, fires=True, threshold=high, severity=math.inf, text=OF_ONE_VALUE)
        fires = found > high or found < low
        limit = high if found > high else low
        text = f"makes outputs {found:.3g} times as large as inputs ({low:g} to {high:g} times expected)"
        return Measurement(found, fires=fires, threshold=limit, severity=abs(math.log(found)), text=text)

    def issues_of(self, view: StepView, measurements: Mapping[str, Measurement]) -> list[Issue]:
        """Return the issue of the layers with an unsuitable gain; a small one needs a second one."""
        low: float = self.parameters["min_gain"]
        small = [name for name, found in measurements.items() if found.fires and found.threshold == low]
        alone = small if len(small) < FEWEST_SMALL else []
        return super().issues_of(
            view, {name: measurement for name, measurement in measurements.items() if name not in alone}
        )

    def _first_value(self, view: StepView, name: str) -> Array | None:
        """Return a weight after its first update, if the next update shows that updates change it little."""
        step = view.mode_step
        if step is None or self.views.saved_before(name, view.mode, step) != 0:
            return None
        first, current = view.previous(name, view.mode), view.value(name)
        if first is None or current is None or first.value.shape != current.shape:
            return None
        ratio = update_ratio(current, first.value, epsilon=1e-12)
        return first.value if ratio / step <= SMALL_UPDATE else None

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return f"Initial weights are unsuitable in {describe_tensors(names)}: the first {first.text}."


def _is_of_embedding(view: StepView, name: str) -> bool:
    """Return whether a weight is that of a layer that the program record calls an embedding."""
    embeddings = {f"{layer.name}_input_0" for layer in view.program.layers if layer.type.startswith("Embedding")}
    return any(given in embeddings for given, _ in naming_scheme_of(view.trial).layers_of(name))
