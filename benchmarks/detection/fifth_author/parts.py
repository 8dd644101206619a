"""What tasks are made of: their entry in tables, and small parts of data, models and losses."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import nn

ROWS = 960
"""How many samples most tasks have; the last 128 are for evaluation."""


class Task(NamedTuple):
    """A task: what makes its data, model and loss, and how it is trained."""

    data: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    model: Callable[[], nn.Module]
    loss: Callable[[], nn.Module]
    how: dict[str, Any]
    """Attributes of the job, such as the learning rate."""


def task(data, model, loss, **how) -> Task:
    """Return a task."""
    return Task(data, model, loss, how)


class Criterion(nn.Module):
    """A loss that is a function of what the model gives and of targets."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, output, y):
        return self.function(output, y)


def criterion(function) -> Callable[[], nn.Module]:
    """Return what makes the module of a loss that is a function."""
    return functools.partial(Criterion, function)


class Map(nn.Module):
    """A function as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Skip(nn.Module):
    """A branch that is added to its input."""

    def __init__(self, *branch):
        super().__init__()
        self.branch = nn.Sequential(*branch)

    def forward(self, x):
        return x + self.branch(x)


def stack(*sizes, act=nn.ReLU, norm=None, drop=0.0, last=()):
    """Return fully connected layers.

    Args:
        *sizes: Of inputs, of hidden layers, of outputs.
        act: What makes the activation of hidden layers.
        norm: What makes the normalisation before it, from a size; none if left out.
        drop: Dropout after it.
        last: What follows the last layer.
    """
    parts = []
    for before, after in itertools.pairwise(sizes[:-1]):
        parts.append(nn.Linear(before, after))
        parts += [norm(after)] if norm else []
        parts.append(act())
        parts += [nn.Dropout(drop)] if drop else []
    return nn.Sequential(*parts, nn.Linear(*sizes[-2:]), *last)


def unit(x: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and deviation 1."""
    return ((x - x.mean(0)) / x.std(0)).astype(np.float32)


def numbers(y: np.ndarray) -> np.ndarray:
    """Return one number for each sample, as a column."""
    return np.asarray(y, np.float32).reshape(len(y), -1)


def above(score: np.ndarray, share: float) -> np.ndarray:
    """Return a column of 1 for the share of samples with the highest scores, and of 0 for others."""
    return numbers(score > np.quantile(score, 1 - share))
