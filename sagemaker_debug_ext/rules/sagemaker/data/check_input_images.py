"""CheckInputImages: input images whose values are not centred."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView


@attrs.define
class _Tally:
    """Sums over the images seen so far, by colour channel."""

    sums: Array
    elements: int = 0
    images: int = 0

    def add(self, images: Array, axis: int) -> None:
        others = tuple(other for other in range(images.ndim) if other != axis)
        self.sums = self.sums + to_float64(images).sum(axis=others)
        self.elements += images.size // images.shape[axis]
        self.images += images.shape[0]

    def largest_mean(self) -> float:
        return float(np.max(np.abs(self.sums / self.elements)))


class CheckInputImages(TensorRule):
    """Input images are not centred: the mean of a colour channel is far from 0.

    Checks the input tensors at every saved step of every mode; axis 0 is the batch. The means are taken over all images
    of a tensor so far. Once `threshold_samples` images have been seen, the rule fires at each step at which the mean of
    any channel is further from 0 than `threshold_mean`. The variance is not checked. A tensor without the channel axis
    is not evaluated.

    Parameters:
        threshold_mean: Largest tolerated distance of a channel's mean from 0; 0.2 when not given.
        threshold_samples: Images to see before the first verdict; 500 when not given.
        regex: Regular expressions searched in tensor names, as a list or separated by commas;
            ``.*hybridsequential0_input_0`` when not given.
        channel: Axis of the colour channel, not 0, which is the batch; 1 when not given.

    Example:
        >>> rule = create_rule("CheckInputImages", trial, {"regex": "conv0_input", "threshold_samples": 100})
        >>> invoke_rule(rule)
    """

    spec_name = "CheckInputImages"
    has_per_tensor_state = True
    advice = "Subtract the mean of each colour channel over the training images before passing images to the model."

    def configure(self) -> None:
        if self.parameters["channel"] == 0:
            raise SMDebugValueError(
                f"parameter 'channel' of rule {self.rule_name} must not be the batch's axis (got 0)"
            )
        self.selection = Selection(patterns=self.parameters["regex"])
        self._tallies: dict[str, _Tally] = {}

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the channel mean that is furthest from 0."""
        images = view.value(name)
        axis: int = self.parameters["channel"]
        if images is None or images.dtype.kind == "c" or not -images.ndim < axis < images.ndim:
            return None
        axis %= images.ndim
        tally = self._tallies.get(name)
        if tally is None or tally.sums.size != images.shape[axis]:
            tally = self._tallies[name] = _Tally(np.zeros(images.shape[axis]))
        tally.add(images, axis)
        if tally.images < self.parameters["threshold_samples"]:
            return None
        mean = tally.largest_mean()
        limit: float = self.parameters["threshold_mean"]
        return Measurement(mean, fires=mean > limit, threshold=limit, severity=mean, text=str(tally.images))

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Images are not centred in {describe_tensors(names)}: over {first.text} images of the first, the mean "
            f"of a channel is {first.value:.4g} away from 0 (at most {first.threshold:g} allowed)."
        )
