"""The table entry of a task, and parts of models and data that only this suite has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from harness.parts import FunctionLoss, column

ROWS = 960
"""Number of samples of most tasks. The last 128 are for evaluation."""


class Task(NamedTuple):
    """A task: functions that make its data, model and loss, and its training settings."""

    data: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    model: Callable[[], nn.Module]
    loss: Callable[[], nn.Module]
    settings: dict[str, Any]
    """Attributes of the job, such as the learning rate."""


def task(data, model, loss, **settings) -> Task:
    """Return a task."""
    return Task(data, model, loss, settings)


class Criterion(FunctionLoss):
    """The `FunctionLoss` of this suite, named as in its saved tensors."""


def criterion(function) -> Callable[[], nn.Module]:
    """Return a function that makes the module of a loss function."""
    return functools.partial(Criterion, function)


class Skip(nn.Module):
    """A branch with a skip connection."""

    def __init__(self, *branch):
        super().__init__()
        self.branch = nn.Sequential(*branch)

    def forward(self, x):
        return x + self.branch(x)


def above(score: np.ndarray, share: float) -> np.ndarray:
    """Return a column with 1 for the share of samples with the highest scores, and 0 for the others."""
    return column(score > np.quantile(score, 1 - share))
