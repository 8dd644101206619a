"""What tasks are made of: the entry of a task in tables, and small parts of models and losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from torch import nn

from harness.jobs import Job
from harness.parts import FunctionLoss

ROWS = 900
"""How many samples a task has, if nothing else is said; the last 128 are for evaluation."""


class Task(NamedTuple):
    """A task: what makes its data, model and loss, and how it is trained.

    Args:
        data: Gives inputs and targets, from a generator of random numbers.
        model: Gives the model.
        loss: Gives the loss.
        lr: Learning rate, for Adam.
        steps: How many steps it takes to learn.
        finish: What else is done to the job, if anything.
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
    """Adds to its input what a module makes of it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


def standard_inputs(job: Job) -> None:
    """Standardise inputs by the mean and deviation of those of training."""
    mean, deviation = job.x.mean(0), job.x.std(0).clamp(min=1e-6)
    job.x, job.x_eval = (job.x - mean) / deviation, (job.x_eval - mean) / deviation
