"""Trials with a fault at a known place: a layer whose gradients vanish, and one that becomes NaN."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

LAYERS = tuple(f"net.layer{number}.weight" for number in range(6))
STEPS = 40
BROKEN_AT = 30
BROKEN = LAYERS[2]


def write_job(path, *, workers=("worker_0",), fault=None, names=LAYERS, steps=STEPS, slow=1.0):
    """Write weights, gradients and a loss; `fault` maps step, name and gradient to the gradient to save."""
    random = np.random.RandomState(0)
    trial = SmallTrial(path, workers)
    weights = {name: random.randn(4, 3).astype("f4") for name in names}
    for step in range(steps):
        tensors = {"CrossEntropyLoss_output_0": np.float32(2 * np.exp(-slow * step / 20) + 0.01 * random.rand())}
        for name in names:
            tensors[name] = weights[name].copy()
        for name in reversed(names):  # as a backward pass saves them
            gradient = (0.1 * random.randn(4, 3)).astype("f4")
            tensors[f"gradient/{name}"] = gradient if fault is None else fault(step, name, gradient)
            weights[name] = weights[name] - 0.05 * gradient
        trial.write(ModeKeys.TRAIN, step, tensors)
    trial.end()
    return str(path)


def becomes_nan(step, name, gradient):
    return gradient * np.float32("nan") if step >= BROKEN_AT and name == BROKEN else gradient


def grows(step, name, gradient):
    return gradient * np.float32(2.0 ** (2 * (step - 19))) if step >= 20 and name == BROKEN else gradient


@pytest.fixture
def sound(tmp_path):
    return create_trial(write_job(tmp_path / "sound"))


@pytest.fixture
def broken(tmp_path):
    return create_trial(write_job(tmp_path / "broken", fault=becomes_nan))


@pytest.fixture
def growing(tmp_path):
    return create_trial(write_job(tmp_path / "growing", fault=grows))
