"""What tasks are made of: their entry in tables, and small parts of data, models and losses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from harness.parts import FunctionLoss, column

ROWS = 960
"""How many samples most tasks have; the last 128 are for evaluation."""


class Task(NamedTuple):
    """A task: what makes its data, model and loss, and how it is trained."""

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
    """Return what makes the module of a loss that is a function."""
    return functools.partial(Criterion, function)


class Skip(nn.Module):
    """A branch that is added to its input."""

    def __init__(self, *branch):
        super().__init__()
        self.branch = nn.Sequential(*branch)

    def forward(self, x):
        return x + self.branch(x)


def above(score: np.ndarray, share: float) -> np.ndarray:
    """Return a column of 1 for the share of samples with the highest scores, and of 0 for others."""
    return column(score > np.quantile(score, 1 - share))
