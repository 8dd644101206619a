"""Material that no hook could write in the time of a test: thousands of layers at thousands of steps."""

from __future__ import annotations

import attrs
import numpy as np

from sagemaker_debug_ext.looking.curves import Curve
from sagemaker_debug_ext.looking.material import gather
from sagemaker_debug_ext.looking.measures import MEASURES, LayerGrid, LayerMeasures
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

PARTS = ("q_proj", "k_proj", "v_proj", "o_proj", "mlp.up", "mlp.down", "norm1", "norm2", "attn.bias", "lora")


def noisy_grid(measure, num_layers, num_steps):
    """Return a measure of noise, which no compression makes small, in little memory: each row is the next one shifted.

    Args:
        measure: Name of the measure.
        num_layers: Number of rows.
        num_steps: Number of columns.
    """
    shift = 7
    noise = np.exp(0.3 * np.random.RandomState(0).standard_normal(shift * num_layers + num_steps)).astype("f4")
    if MEASURES[measure].kind == "share":
        noise /= noise.max()
    values = np.lib.stride_tricks.sliding_window_view(noise, num_steps)[: shift * num_layers : shift]
    prefix = "gradient/" if MEASURES[measure].group == "gradients" else ""
    names = tuple(f"{prefix}layers.{row // 10}.{PARTS[row % 10]}.weight" for row in range(num_layers))
    steps = tuple(range(0, 10 * num_steps, 10))
    saved = np.broadcast_to(True, values.shape)
    return LayerGrid(MEASURES[measure], names, steps, values, saved, "made for a test")


def made_material(folder, grids, num_points):
    """Return the material of a trial with some measures, and with eight curves of so many points."""
    trial = SmallTrial(folder)
    trial.write(ModeKeys.TRAIN, 0, {"CrossEntropyLoss_output_0": np.float32(1)})
    trial.end()
    random = np.random.RandomState(1)
    course = 2 * np.exp(-np.arange(num_points) / num_points)
    curves = tuple(
        Curve(name, ModeKeys.TRAIN, tuple(range(num_points)), course + 0.2 * random.rand(num_points), number == 0)
        for number, name in enumerate(("loss", *(f"scalar/metric{number}" for number in range(7))))
    )
    return attrs.evolve(
        gather(create_trial(str(folder)), None),
        measures=LayerMeasures({grid.measure.name: grid for grid in grids}, num_points, num_points),
        curves=curves,
        curve_names=tuple(curve.name for curve in curves),
    )
