"""Measures of a trial's layers over its steps: norms, change of weights, shares of zeros and of non-finite values.

A `LayerGrid` holds one measure of many tensors. Its values are taken from saved reductions where the tensors themselves
were not saved. Rows are in the order in which the hook saved the tensors, which is the order of the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of, pattern_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Flags: TypeAlias = npt.NDArray[np.bool_]

MeasureKind: TypeAlias = Literal["size", "share"]


@attrs.frozen
class Measure:
    """A number for each tensor of a group at each step.

    Args:
        name: Name of the measure, as in evidence and JSON.
        title: Title for people.
        group: Group of the tensors: ``gradients``, ``weights`` or ``outputs``.
        kind: ``size`` for positive numbers on a logarithmic scale, ``share`` for numbers from 0 to 1.
    """

    name: str
    title: str
    group: str
    kind: MeasureKind


MEASURES: Final[Mapping[str, Measure]] = {
    measure.name: measure
    for measure in (
        Measure("gradient_norm", "gradient norm", "gradients", "size"),
        Measure("update_ratio", "update / weight", "weights", "size"),
        Measure("weight_norm", "weight norm", "weights", "size"),
        Measure("output_size", "size of layer outputs", "outputs", "size"),
        Measure("output_zeros", "share of zeros in layer outputs", "outputs", "share"),
        Measure("gradient_non_finite", "share of NaN and infinity in gradients", "gradients", "share"),
        Measure("output_non_finite", "share of NaN and infinity in layer outputs", "outputs", "share"),
    )
}
"""The measures by name, in the order in which they are shown."""


@attrs.frozen(eq=False)
class LayerGrid:
    """One measure of many tensors at many steps.

    Args:
        measure: The measure.
        tensors: Names of the rows, in the order of the model.
        steps: Global steps of the columns, ascending.
        values: ``(rows, steps)``: the values; NaN where a value is NaN or was not saved.
        saved: ``(rows, steps)``: where a value was saved.
        source: How the values were obtained, for people.
    """

    measure: Measure
    tensors: tuple[str, ...]
    steps: tuple[int, ...]
    values: Floats
    saved: Flags
    source: str

    def rows(self, tensors: Iterable[str]) -> LayerGrid:
        """Return the grid of some of the tensors, in the order of this grid."""
        wanted = set(tensors)
        places = [place for place, name in enumerate(self.tensors) if name in wanted]
        return attrs.evolve(
            self,
            tensors=tuple(self.tensors[place] for place in places),
            values=self.values[places],
            saved=self.saved[places],
        )

    def series(self, tensor: str) -> tuple[tuple[int, ...], Floats]:
        """Return the steps at which a tensor was saved, and its values at them."""
        row = self.tensors.index(tensor)
        at = np.flatnonzero(self.saved[row])
        return tuple(self.steps[place] for place in at.tolist()), self.values[row, at]

    def median(self) -> tuple[tuple[int, ...], Floats]:
        """Return the steps, and the median over the tensors at each."""
        at = np.flatnonzero(np.isfinite(self.values).any(axis=0))
        finite = np.where(np.isfinite(self.values[:, at]), self.values[:, at], np.nan)
        return tuple(self.steps[place] for place in at.tolist()), np.nanmedian(finite, axis=0)


@attrs.frozen(eq=False)
class LayerMeasures:
    """The measures of a trial.

    Args:
        grids: Name of the measure → grid, for the measures that the trial holds.
        num_read: Number of steps that were read.
        num_steps: Number of steps with tensors to measure.
    """

    grids: Mapping[str, LayerGrid]
    num_read: int
    num_steps: int


def tensor_groups(trial: Trial) -> dict[str, list[str]]:
    """Return the tensors to measure by group, each in the order in which the hook saved them."""
    names = in_saving_order(trial)
    scheme = naming_scheme_of(trial)
    known = trial.collections()
    weights: set[str] = set()
    for key in (CollectionKeys.WEIGHTS, CollectionKeys.BIASES):
        if key in known:
            weights |= {name for name in names if known[key].matches(name)}
    is_output = re.compile(pattern_of(Role.LAYER_OUTPUT, trial)).search
    losses = known.get(CollectionKeys.LOSSES)
    parameters = [name for name in names if name in weights and not scheme.is_gradient(name)]
    gradients = [name for name in names if scheme.is_gradient(name)]
    gradients.reverse()  # they are saved in the order of the backward pass
    known_gradients = set(gradients)
    of_parameters = (scheme.gradient_of(name, known_gradients) for name in parameters)
    return {
        "gradients": list(dict.fromkeys([*filter(None, of_parameters), *gradients])),
        "weights": parameters,
        "outputs": [name for name in names if is_output(name) and not (losses and losses.matches(name))],
    }


def in_saving_order(trial: Trial) -> list[str]:
    """Return the names of all tensors in the order in which the hook saved them."""
    reader = trial.index_reader
    order: dict[str, None] = {}
    with reader.lock:
        layouts = reader.index.layouts()
    for layout in layouts:
        order.update(dict.fromkeys(layout.slots))
    return list(order)
