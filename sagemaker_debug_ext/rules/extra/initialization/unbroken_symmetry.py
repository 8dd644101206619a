"""UnbrokenSymmetry: all units of a layer are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.training import StreakCounter, is_training
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

DIGITS: Final = 5
MIN_ALIKE: Final = 3
"""Smallest mean number of units of each kind."""
MAX_ELEMENTS: Final = 4_000_000


def has_equal_units(weight: Array) -> bool | None:
    """Return whether each unit of a weight equals others, up to rounding; None for fewer than two units.

    There may be several sets of equal units, because recurrent layers store several gates in one weight.
    """
    if weight.ndim < 2 or min(weight.shape[:2]) < 2 or weight.dtype.kind not in "fV" or weight.size > MAX_ELEMENTS:
        return None
    rows = to_float64(weight).reshape(len(weight), -1)
    size = float(np.abs(rows).max())
    if not 0 < size < np.inf:  # this also excludes NaN
        return size == 0
    units = np.round(rows[np.any(rows, axis=1)] / size, DIGITS)  # pruned units are 0 on purpose
    return len(np.unique(units, axis=0)) <= max(1, len(units) // MIN_ALIKE)


def has_equal_last_units(weight: Array) -> bool | None:
    """Return `has_equal_units` for a weight whose last axis is the axis of the units."""
    return has_equal_units(np.moveaxis(weight, -1, 0)) if weight.ndim else None


class UnbrokenSymmetry(TensorRule):
    """All units of a layer have the same weights, and so learn the same.

    Checks weights of at least two axes at TRAIN steps (or steps without a mode); axis 0 is the axis of the units. The
    rule fires if all units are equal at the first `patience` saved steps. It also fires if they form sets of three or
    more equal units, because the gates of a recurrent layer share a weight. A layer that starts at 0 on purpose, such
    as the last one of a residual block, has these steps to change. Units that become equal later, for example by
    clamping, have another cause and do not fire.

    Parameters:
        tensor_regex: Regular expressions searched in names of weights, as a list or separated by commas. When not
            given: the collection ``weights``.
        patience: Number of consecutive saved steps; 4 when not given.

    Source:
        The need to break the symmetry between units: Goodfellow, Bengio and Courville, Deep Learning, 2016, section
        8.4.

    Example:
        >>> rule = create_rule("UnbrokenSymmetry", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "UnbrokenSymmetry"
    has_per_tensor_state = True
    advice = (
        "Initialise the weights at random, with a spread that suits the activation; only biases may start out equal."
    )

    def configure(self) -> None:
        self.selection = chosen_or(self.parameters["tensor_regex"], collections=(CollectionKeys.WEIGHTS,))
        self._streaks = StreakCounter()
        self._have_differed: set[str] = set()

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("weights", self.selection),)

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of steps for which the units have been equal."""
        if not is_training(view):
            return None
        patience: int = self.parameters["patience"]
        if name in self._have_differed:  # for ever after, whatever the weights are
            return Measurement(0, fires=False, threshold=patience)
        has_units_last = naming_scheme_of(view.trial).has_units_last(name)
        found = view.statistic(name, has_equal_last_units if has_units_last else has_equal_units)
        if found is None:
            return None
        if not found:
            self._have_differed.add(name)
        length = self._streaks.observe(name, found)
        return Measurement(length, fires=length >= patience, threshold=patience, severity=length)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"All units are identical in {describe_tensors(names)}: those of the first have had equal weights for "
            f"{first.value:g} saved steps."
        )
