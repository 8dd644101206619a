"""What a frozen batch normalisation gets, compared with what it was trained on."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.inference.training import gradient_in
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

GRADIENTS: Final = Selection(collections=(CollectionKeys.GRADIENTS,))
MOST_SAMPLES: Final = 64
"""Number of samples of a batch that are looked at."""
FEWEST_VALUES: Final = 32
"""Number of values of a channel that show its spread."""
TINY: Final = 1e-3
"""Scale of a channel that is switched off."""
NARROW: Final = 0.25
WIDE: Final = 4.0
"""Spreads of what a batch normalisation gets, as ratios to what it was trained on, that tell of other data."""


def spread_of_frozen(view: StepView, output_name: str) -> float | None:
    """Return the spread of what a frozen batch normalisation gets, as a ratio to that of what it was trained on.

    It divides each channel by its standard deviation in training, so that the output without offset and scale has the
    deviation of 1 for such data. Returns the median of all channels; None if the layer is trained, or never was.
    """
    scheme = naming_scheme_of(view.trial)
    offset_name = scheme.offset_of(output_name, view.tensor_names)
    if offset_name is None:
        return None
    scale_name = re.sub(r"beta(:0)?$", r"gamma\1", re.sub(r"bias$", "weight", offset_name))
    if scale_name not in view.tensor_names or gradient_in(view, scale_name) or not view.selected(GRADIENTS):
        return None
    output, scale = view.value(output_name), view.value(scale_name)
    if output is None or scale is None or output.ndim < 2 or not np.ptp(scale) > 0:  # those of a new layer are equal
        return None
    return spread_of_channels(np.moveaxis(output, -1, 1) if scheme.has_channels_last(output_name) else output, scale)


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
    if flat.shape[1] < FEWEST_VALUES or not is_on.any():
        return None
    return float(np.median(flat.std(axis=1)[is_on] / np.abs(to_float64(scale))[is_on]))
