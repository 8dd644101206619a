"""Losses that PyTorch does not have as modules."""

from __future__ import annotations

import torch
from torch.nn import functional

from harness.parts import FunctionLoss


class Written(FunctionLoss):
    """The `FunctionLoss` of this suite, named as in its saved tensors."""


def hinge(scores, first):
    """Return the hinge loss of a pair: the better one should be ahead by one."""
    return (1 - first * (scores[:, 0] - scores[:, 1])).clamp(min=0).mean()


def evidence(output, x):
    """Return the negative evidence lower bound: cross entropy plus the weighted divergence of the code."""
    picture, mean, log_variance = output
    divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean() / 2
    return functional.binary_cross_entropy_with_logits(picture, x) + 0.005 * divergence


def quantiles(output, y):
    """Return the pinball loss of three quantiles."""
    shares = torch.tensor([0.1, 0.5, 0.9])
    error = y - output
    return torch.maximum(shares * error, (shares - 1) * error).mean()
