"""What frozen batch normalisations get, compared with what they were trained on: `FrozenNorms`."""

from __future__ import annotations

import collections
import math
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.inference.training import gradient_in, parameters_beside
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

GRADIENTS: Final = Selection(collections=(CollectionKeys.GRADIENTS,))
LAYER_OUTPUTS: Final = Selection(roles=(Role.LAYER_OUTPUT,))
MOST_SAMPLES: Final = 64
"""Number of samples of a batch that are looked at."""
FEWEST_VALUES: Final = 32
"""Number of values of a channel that show its spread."""
TINY: Final = 1e-3
"""Scale of a channel that is switched off."""
NARROW: Final = 0.25
WIDE: Final = 4.0
"""Spreads of what a batch normalisation gets, as ratios to what it was trained on, that tell of other data."""
FOLLOWED: Final = (0.5, 2.0)
"""Ratio of the variance of a batch to the average, from which on and up to which that has followed."""
FEWEST_STEPS: Final = 50
"""Number of training steps after which averages have followed, where they are not saved: five times the usual lag."""


class FrozenNorms:
    """Compares what frozen batch normalisations get with what they were trained on.

    A frozen one divides each channel by the average of its standard deviation in training, so that its output without
    offset and scale has a deviation of 1 for such data.
    """

    def __init__(self) -> None:
        self._num_trained: collections.Counter[str] = collections.Counter()
        self._last_trained: dict[str, StepView] = {}
        self._spreads: tuple[int, dict[str, float]] = (-1, {})

    def spreads(self, view: StepView, outputs: Sequence[str]) -> dict[str, float]:
        """Return the spread of what each frozen normalisation gets, as a ratio to that of what it was trained on.

        None is known if the averages of one lag, because others get what that one makes.
        """
        if self._spreads[0] != view.step:
            found = {name: self._spread(view, name) for name in outputs}
            known = {name: spread for name, spread in found.items() if spread is not None}
            self._spreads = view.step, {} if any(map(math.isnan, known.values())) else known
        return self._spreads[1]

    def _spread(self, view: StepView, output_name: str) -> float | None:
        """Return the median spread of all channels; None if the layer is not frozen, NaN if its averages lag."""
        scheme = naming_scheme_of(view.trial)
        offset_name = scheme.offset_of(output_name, view.tensor_names)
        scale_name = _beside(offset_name or "", "weight", "gamma")
        if offset_name is None or scale_name not in view.tensor_names or not view.selected(GRADIENTS):
            return None
        if gradient_in(view, scale_name):
            self._num_trained[output_name] += 1
            self._last_trained[output_name] = view
            return None
        output, scale = view.value(output_name), view.value(scale_name)
        if output is None or scale is None or output.ndim < 2 or scale.dtype.kind not in "fV":
            return None
        if not np.ptp(scale) > 0:  # those of a new layer are equal
            return None
        if not self._has_followed(output_name, offset_name):
            return math.nan
        return spread_of_channels(
            np.moveaxis(output, -1, 1) if scheme.has_channels_last(output_name) else output, scale
        )

    def _has_followed(self, output_name: str, offset_name: str) -> bool:
        """Return whether the averages of a normalisation that was trained in this job followed its data then."""
        if output_name not in self._last_trained:  # it was trained before
            return True
        trained = self._last_trained[output_name]
        average = trained.value(_beside(offset_name, "running_var", "moving_variance"))
        given = trained.value(naming_scheme_of(trained.trial).input_of(output_name))
        if average is None or given is None or given.ndim < 2 or given.shape[-1] != len(average):
            return self._num_trained[output_name] >= FEWEST_STEPS
        variance = to_float64(given[:MOST_SAMPLES]).reshape(-1, len(average)).var(axis=0)
        ratio = float(np.median(variance / np.maximum(to_float64(average), np.finfo(np.float32).tiny)))
        return FOLLOWED[0] <= ratio <= FOLLOWED[1]


def follow_trained_layers(view: StepView, output_name: str) -> bool:
    """Return whether a layer with a gradient comes before an output, so that what this is made of is yet to be learnt.

    Hooks save tensors in the order in which they are computed.
    """
    place = view.place(output_name)
    before = (name for name in view.selected(LAYER_OUTPUTS) if view.place(name) < place)
    parameters = (parameter for name in before for parameter in parameters_beside(view, name))
    return any(gradient_in(view, parameter) is not None for parameter in parameters)


def spread_of_channels(output: Array, scale: Array) -> float | None:
    """Return the median standard deviation of channels, divided by their scales; None for few values.

    Args:
        output: Output of a batch normalisation, axis 1 being the channels.
        scale: Its scale, one number for each channel.
    """
    if scale.shape != output.shape[1:2]:
        return None
    flat = np.moveaxis(to_float64(output[:MOST_SAMPLES]), 1, 0).reshape(len(scale), -1)
    is_on = np.abs(scale) > TINY
    if flat.shape[1] < FEWEST_VALUES or not is_on.any() or not np.isfinite(flat).all():
        return None
    return float(np.median(flat.std(axis=1)[is_on] / np.abs(to_float64(scale))[is_on]))


def _beside(offset_name: str, in_pytorch: str, in_keras: str) -> str:
    """Return the name of another variable of a normalisation, given that of its offset."""
    return re.sub(r"beta(:0)?$", rf"{in_keras}\1", re.sub(r"bias$", in_pytorch, offset_name))
