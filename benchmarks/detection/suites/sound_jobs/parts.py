"""The table entry of a task, and parts of models and data that only this suite has."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from torch import nn

from harness.jobs import Job
from harness.parts import FunctionLoss

ROWS = 900
"""Number of samples of most tasks. The last 128 are for evaluation."""


class Task(NamedTuple):
    """A task: functions that make its data, model and loss, and its training settings.

    Args:
        data: Returns inputs and targets, from a random generator.
        model: Makes the model.
        loss: Makes the loss.
        lr: Learning rate of Adam.
        steps: Number of training steps.
        finish: Change of the job after all others.
    """

    data: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    model: Callable[[], nn.Module]
    loss: Callable[[], nn.Module]
    lr: float = 5e-3
    steps: int = 70
    finish: Callable[[Job], None] | None = None


class OwnLoss(FunctionLoss):
    """The `FunctionLoss` of this suite, named as in its saved tensors."""


class Residual(nn.Module):
    """A module with a skip connection."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


def standard_inputs(job: Job) -> None:
    """Standardise all inputs by the mean and deviation of the training inputs."""
    mean, deviation = job.x.mean(0), job.x.std(0).clamp(min=1e-6)
    job.x, job.x_eval = (job.x - mean) / deviation, (job.x_eval - mean) / deviation
