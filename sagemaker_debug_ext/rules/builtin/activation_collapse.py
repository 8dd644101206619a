"""ActivationCollapse: a layer gives nearly the same output for every sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sagemaker_debug_ext.rules.builtin.base import Reading, TensorRule, naming
from sagemaker_debug_ext.rules.builtin.watching import Streaks, is_training
from sagemaker_debug_ext.rules.roles import Role
from sagemaker_debug_ext.rules.selection import chosen_or
from sagemaker_debug_ext.rules.step import Array, StepView, to_float64


def variation(output: Array) -> float | None:
    """Return how much outputs differ between samples, relative to their size.

    That is the root of the mean variance over the batch, divided by the root of the mean square. None for fewer than
    four samples, and for outputs that are all 0.
    """
    if output.ndim < 2 or output.shape[0] < 4 or output.dtype.kind in "iubc":
        return None
    flat = to_float64(output).reshape(len(output), -1)
    size = float(np.sqrt(np.mean(np.square(flat))))
    return float(np.sqrt(np.mean(np.var(flat, axis=0)))) / size if size > 0 else 0.0


class ActivationCollapse(TensorRule):
    """A layer gives nearly the same output whatever its input is.

    Looks at outputs of layers at TRAIN steps (all steps that have no mode), axis 0 being the batch. How much outputs
    differ between samples, relative to their size, is their variation; the rule fires if it is below `threshold` at
    `patience` saved steps in a row. A layer whose outputs are all 0 has the variation 0.

    Parameters:
        tensor_regex: Regular expressions searched in the names of layer outputs, as a list or separated by commas.
            When not given: those of all layers, as the framework names them.
        threshold: Least variation; 0.001 when not given.
        patience: For how many saved steps in a row it must be below; 3 when not given.

    Source:
        The variance of activations as a sign of health of a network: Glorot and Bengio, Understanding the Difficulty of
        Training Deep Feedforward Neural Networks, AISTATS 2010.

    Example:
        >>> rule = create_rule("ActivationCollapse", trial, {"tensor_regex": "encoder.*_output"})
        >>> invoke_rule(rule)
    """

    spec_name = "ActivationCollapse"
    judges_tensors_alone = True
    advice = (
        "Look at the layers up to the first one named: weights of 0, dead units, saturated activations or a bias that "
        "drowns the input; initialise to suit the activation, add normalisation, lower the learning rate."
    )

    def configure(self) -> None:
        """Choose the tensors."""
        self.selection = chosen_or(self.parameters["tensor_regex"], Role.LAYER_OUTPUT)
        self._streaks = Streaks()

    def measure(self, view: StepView, name: str) -> Reading | None:
        """Return the variation of a layer's output."""
        measured = view.statistic(name, variation) if is_training(view) else None
        if measured is None:
            return None
        limit: float = self.parameters["threshold"]
        length = self._streaks.observe(name, measured < limit)
        return Reading(measured, fires=length >= self.parameters["patience"], threshold=limit, severity=-measured)

    def describe(self, names: Sequence[str], first: Reading) -> str:
        """Say how little the outputs differ."""
        return (
            f"Outputs hardly depend on the input in {naming(names)}: between samples the first varies by "
            f"{first.value:.2g} of its size, less than {first.threshold:g}."
        )
