"""What tasks are made of: the entry of a task in tables, and small parts of models and losses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jobs import Job
from torch import nn

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
        ready: What else is done to the job, if anything.
    """

    data: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    model: Callable[[], nn.Module]
    loss: Callable[[], nn.Module]
    lr: float = 5e-3
    steps: int = 70
    ready: Callable[[Job], None] | None = None


class OwnLoss(nn.Module):
    """A loss that is a function of outputs and targets."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, outputs, y):
        return self.function(outputs, y)


def dense(*sizes, act=nn.ReLU, norm=None, drop=0.0):
    """Return fully connected layers of some sizes, with an activation between them."""
    layers = []
    for inputs, outputs in itertools.pairwise(sizes[:-1]):
        layers.append(nn.Linear(inputs, outputs))
        if norm:
            layers.append(norm(outputs))
        layers.append(act())
        if drop:
            layers.append(nn.Dropout(drop))
    return nn.Sequential(*layers, nn.Linear(*sizes[-2:]))


class Residual(nn.Module):
    """Adds to its input what a module makes of it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class Applied(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def standard(x: np.ndarray) -> np.ndarray:
    """Return columns with mean 0 and standard deviation 1."""
    return ((x - x.mean(0)) / x.std(0)).astype(np.float32)


def standard_inputs(job: Job) -> None:
    """Standardise inputs by the mean and deviation of those of training."""
    mean, deviation = job.x.mean(0), job.x.std(0).clamp(min=1e-6)
    job.x, job.x_eval = (job.x - mean) / deviation, (job.x_eval - mean) / deviation
