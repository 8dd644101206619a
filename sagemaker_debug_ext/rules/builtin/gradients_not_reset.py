"""GradientsNotReset: gradients add up over steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.builtin.base import Reading, TensorRule, naming
from sagemaker_debug_ext.rules.builtin.watching import GRADIENT_PREFIX, Streaks, is_training
from sagemaker_debug_ext.rules.needs import Need
from sagemaker_debug_ext.rules.selection import Selection
from sagemaker_debug_ext.rules.step import Array, StepView, norm, to_float64
from sagemaker_debug_ext.vocabulary import CollectionKeys

Numbers = npt.NDArray[np.float64]

EXPLAINS: Final = 0.999
"""Cosine from which on an update is that which an optimizer would make."""
MAX_ELEMENTS: Final = 100_000
"""Larger weights are passed over: one small weight tells as much."""


@attrs.define
class Optimizers:
    """What usual optimizers, at their usual settings, would change a weight by, given its gradients so far.

    Gradient descent, with momentum 0.9, and Adam; up to the learning rate.
    """

    steps: int = 0
    momentum: Numbers | float = 0.0
    mean: Numbers | float = 0.0
    square: Numbers | float = 0.0

    def updates(self, gradient: Numbers) -> Iterable[Numbers]:
        """Take the next gradient, and return the directions of the updates."""
        self.steps += 1
        self.momentum = 0.9 * self.momentum + gradient
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient**2
        corrected = self.mean / (1 - 0.9**self.steps)
        size = np.sqrt(self.square / (1 - 0.999**self.steps)) + 1e-8
        return -gradient, -self.momentum, -corrected / size


def cosine(first: Array, second: Array) -> float:
    """Return the cosine of the angle between two arrays; 0 if one of them is 0 or not finite."""
    size = norm(first) * norm(second)
    found = float(np.einsum("i,i->", first, second)) / size if size > 0 else 0.0
    return found if np.isfinite(found) else 0.0


@attrs.define
class _Watch:
    """A weight, with what it would do if gradients were reset and if they added up."""

    step: int
    weight: Numbers
    gradient: Numbers
    total: Numbers
    reset: Optimizers = attrs.field(factory=Optimizers)
    added: Optimizers = attrs.field(factory=Optimizers)


class GradientsNotReset(TensorRule):
    """Weights change as if gradients added up over steps: they are not reset.

    Hooks save the gradient of each step by itself, so the rule looks at what weights do. It takes weights and their
    gradients at each TRAIN step (or step of no mode) from the first on, without a gap, and computes what gradient
    descent, momentum 0.9 and Adam would change a weight by, once if gradients are reset and once if they add up. It
    fires if at `patience` steps in a row the change is explained by the sum, to a cosine of 0.999, and by none of the
    optimizers with gradients that are reset. Other optimizers, clipping and weight decay leave it silent.

    Parameters:
        tensor_regex: Regular expressions searched in names of weights, as a list or separated by commas. When not
            given: the collection ``weights``.
        patience: For how many steps in a row; 4 when not given.

    Source:
        Forgetting to reset gradients is a fault special to PyTorch programs, which its documentation warns of
        (recipe «Zeroing out gradients»).

    Example:
        >>> rule = create_rule("GradientsNotReset", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "GradientsNotReset"
    advice = (
        "Call optimizer.zero_grad() once before each backward pass, or after each update when gradients accumulate."
    )

    def configure(self) -> None:
        """Choose the tensors."""
        patterns = self.parameters["tensor_regex"]
        self.selection = Selection(patterns=patterns) if patterns else Selection(collections=(CollectionKeys.WEIGHTS,))
        self._watches: dict[str, _Watch] = {}
        self._streaks = Streaks()

    def needs(self) -> tuple[Need, ...]:
        """Return the weights and their gradients."""
        return (
            Need("weights", self.selection),
            Need("gradients", Selection(collections=(CollectionKeys.GRADIENTS,))),
        )

    def measure(self, view: StepView, name: str) -> Reading | None:
        """Return for how many steps the sum of gradients, and nothing else, has explained a weight's change."""
        if not is_training(view) or view.mode_step is None:
            return None
        weight, gradient = _flat(view, name), _flat(view, GRADIENT_PREFIX + name)
        if weight is None or gradient is None or weight.size != gradient.size:
            return None
        watch = self._watches.get(name)
        if view.mode_step == 0:
            self._watches[name] = _Watch(0, weight, gradient, gradient)
            return None
        if watch is None or watch.step != view.mode_step - 1 or watch.weight.size != weight.size:
            self._watches.pop(name, None)  # after a gap nothing can be said any more
            return None
        change = weight - watch.weight
        by_reset = max(cosine(change, update) for update in watch.reset.updates(watch.gradient))
        by_sum = max(cosine(change, update) for update in watch.added.updates(watch.total))
        watch.step, watch.weight, watch.gradient, watch.total = view.mode_step, weight, gradient, watch.total + gradient
        length = self._streaks.observe(name, by_sum > EXPLAINS > by_reset)
        patience: int = self.parameters["patience"]
        return Reading(by_sum, fires=length >= patience, threshold=EXPLAINS, severity=length, text=f"{by_reset:.3f}")

    def describe(self, names: Sequence[str], first: Reading) -> str:
        """Say how well the sum explains the change."""
        return (
            f"Gradients are not reset, as {naming(names)} shows: the change of the first is what the sum of all "
            f"gradients so far makes it (cosine {first.value:.4f}), not that of the step (cosine {first.text})."
        )


def _flat(view: StepView, name: str) -> Numbers | None:
    """Return a tensor's values as one axis; None if it was not saved, or is too large."""
    value = view.value(name) if name in view.tensor_names else None
    if value is None or value.size > MAX_ELEMENTS or value.dtype.kind == "c":
        return None
    flat: Numbers = to_float64(value).reshape(-1)
    return flat
