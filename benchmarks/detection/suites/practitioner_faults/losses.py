"""Losses that PyTorch does not have as modules. Faults are made by arguments."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class ContrastLoss(nn.Module):
    """Cross entropy of matching the views of a pair within the batch. Targets are not used."""

    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature

    def forward(self, views, _):
        scores = views[:, 0] @ views[:, 1].T / self.temperature
        return functional.cross_entropy(scores, torch.arange(len(scores)))


class MarginLoss(nn.Module):
    """Contrastive loss: pulls equal pairs (target 1) together, and pushes others apart up to a margin.

    Args:
        pushes: Whether other pairs are pushed apart.
        epsilon: Added to the squared distance before the root.
    """

    def __init__(self, pushes=True, epsilon=1e-6):
        super().__init__()
        self.pushes, self.epsilon = pushes, epsilon

    def forward(self, pair, same):
        distance = ((pair[:, 0] - pair[:, 1]).square().sum(1) + self.epsilon).sqrt()
        apart = (1 - distance).clamp(min=0).square() if self.pushes else 0
        return (same * distance.square() + (1 - same) * apart).mean()


class EvidenceLoss(nn.Module):
    """Negative evidence lower bound: squared error plus the weighted divergence of the code."""

    def __init__(self, weight=0.01):
        super().__init__()
        self.weight = weight

    def forward(self, output, x):
        copy_, mean, log_variance = output
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean() / 2
        return functional.mse_loss(copy_, x) + self.weight * divergence


class PairwiseLoss(nn.Module):
    """Logistic loss of the preferred item (1 or -1)."""

    def forward(self, scores, better):
        return functional.softplus(-better * (scores[:, 0] - scores[:, 1])).mean()


class ListwiseLoss(nn.Module):
    """Cross entropy between the softmax of scores and that of gains over lists."""

    def forward(self, scores, gains):
        return functional.cross_entropy(scores, gains.softmax(1))


class NormalLoss(nn.Module):
    """Negative log likelihood of a predicted mean and variance."""

    def forward(self, output, y):
        variance = functional.softplus(output[:, 1:]) + 1e-3
        return ((y - output[:, :1]).square() / variance + variance.log()).mean() / 2


class QuantileLoss(nn.Module):
    """Pinball loss of one quantile."""

    def __init__(self, quantile=0.8):
        super().__init__()
        self.quantile = quantile

    def forward(self, output, y):
        error = y - output
        return torch.maximum(self.quantile * error, (self.quantile - 1) * error).mean()


class OverlapLoss(nn.Module):
    """Dice loss of probabilities and a mask."""

    def __init__(self, squash=torch.sigmoid):
        super().__init__()
        self.squash = squash

    def forward(self, scores, mask):
        share = self.squash(scores)
        return 1 - (2 * (share * mask).sum() + 1) / (share.sum() + mask.sum() + 1)
