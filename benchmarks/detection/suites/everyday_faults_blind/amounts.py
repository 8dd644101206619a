"""Regression tasks: amounts, counts, quantiles, future states."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from harness.parts import column, dense, standardize
from suites.everyday_faults_blind.parts import ROWS, Skip, criterion, task

# --- data ------------------------------------------------------------------------------------------------------------


def cars(rng):
    """Brand and fuel as codes, and four numbers. Target: the standardised logarithm of the price."""
    brand, fuel, x = rng.integers(0, 12, ROWS), rng.integers(0, 4, ROWS), rng.normal(size=(ROWS, 4))
    y = rng.normal(size=12)[brand] + 0.5 * rng.normal(size=4)[fuel] - 0.8 * x[:, 0] - 0.4 * np.maximum(x[:, 1], 0)
    return np.column_stack([brand, fuel, x]).astype(np.float32), standardize(
        (y + 0.15 * rng.normal(size=ROWS))[:, None]
    )


def bicycles(rng):
    """Hour, season and weather. Target: the number of bicycles lent."""
    hour, season = rng.uniform(0, 2 * np.pi, (2, ROWS))
    weather = rng.normal(size=(ROWS, 3))
    rate = 1.8 - 0.9 * np.cos(hour) + 0.5 * np.sin(season) - 0.4 * np.maximum(weather[:, 0], 0)
    x = np.column_stack([np.sin(hour), np.cos(hour), np.sin(season), np.cos(season), weather])
    return x.astype(np.float32), column(rng.poisson(np.exp(rate)))


def flights(rng):
    """Seven features. Target: the delay of a flight, which is sometimes large."""
    x = rng.normal(size=(ROWS, 7))
    y = x[:, 0] + 0.8 * np.abs(x[:, 1]) - 0.5 * x[:, 2] + 0.25 * np.exp(0.3 * x[:, 3]) * rng.standard_t(2.1, ROWS)
    return x.astype(np.float32), column(y)


def plants(rng):
    """Four measures of a power plant. Target: its output in megawatts, about 450."""
    x = rng.normal(size=(ROWS, 4))
    y = 450 - 12 * x[:, 0] - 5 * x[:, 1] ** 2 + 4 * x[:, 2] * x[:, 3] + 2 * rng.normal(size=ROWS)
    return x.astype(np.float32), column(y)


def gauges(rng):
    """Five measures. Target: a level, with less noise where the second measure is low."""
    x = rng.normal(size=(ROWS, 5))
    y = np.sin(1.5 * x[:, 0]) + 0.7 * x[:, 2] + np.exp(0.6 * x[:, 1] - 1.5) * rng.normal(size=ROWS)
    return x.astype(np.float32), column(y)


def regions(rng):
    """Six features. Target: sales, with different weights in each of three regions."""
    x, weights = rng.normal(size=(ROWS, 6)), rng.normal(size=(3, 6))
    y = (x * weights[np.digitize(x[:, 0], [-0.5, 0.5])]).sum(1) + 0.1 * rng.normal(size=ROWS)
    return x.astype(np.float32), column(y)


def pendulums(rng):
    """Angle and speed of a pendulum, and a push. Target: angle and speed a little later."""
    angle, speed, push = rng.uniform(-2.5, 2.5, ROWS), rng.normal(size=ROWS) * 1.5, rng.normal(size=ROWS)
    x, step = np.column_stack([angle, speed, push]), 0.1
    for _ in range(5):
        speed = speed + step * (-3 * np.sin(angle) - 0.2 * speed + push)
        angle = angle + step * speed
    return x.astype(np.float32), np.column_stack([angle, speed]).astype(np.float32)


def hills(rng):
    """Places on a map. Target: the height there."""
    x, tops = rng.uniform(-1, 1, (2 * ROWS, 2)), rng.uniform(-0.9, 0.9, (7, 2))
    heights = rng.uniform(0.5, 1.5, 7) * rng.choice([-1, 1], 7)
    y = (np.exp(-((x[:, None] - tops) ** 2).sum(2) / 0.06) * heights).sum(1)
    return x.astype(np.float32), standardize(y[:, None])


def baskets(rng):
    """Eight articles of thirty, in any order. Target: their standardised total price."""
    x = rng.integers(0, 30, (ROWS, 8))
    y = rng.gamma(2, 1, 30)[x].sum(1) * np.where((x < 5).any(1), 0.8, 1)
    return x, standardize(y[:, None])


def concrete(rng):
    """Eight amounts in kilograms and litres, not standardised. Target: the standardised strength."""
    x = rng.gamma(4, 1, (ROWS, 8)) * np.array([80, 25, 15, 45, 2, 240, 190, 12])
    share = x / x.mean(0)
    y = 2 * share[:, 0] / (share[:, 3] + 0.5) + 0.8 * np.log1p(share[:, 7]) + 0.3 * share[:, 4]
    return x.astype(np.float32), standardize((y + 0.1 * rng.normal(size=ROWS))[:, None])


def teacher(rng):
    """Ten features. Target: the scores of a large network for five classes."""
    x, inner, outer = rng.normal(size=(ROWS, 10)), rng.normal(size=(10, 64)), rng.normal(size=(64, 5))
    return x.astype(np.float32), (np.tanh(x @ inner / 2) @ outer / 3).astype(np.float32)


# --- models ----------------------------------------------------------------------------------------------------------


class Priced(nn.Module):
    """Embeddings of two codes, and the numbers beside them."""

    def __init__(self, size=4, act=nn.ReLU, norm=None):
        super().__init__()
        self.brand, self.fuel = nn.Embedding(12, size), nn.Embedding(4, 2)
        self.rest = dense(size + 2 + 4, 32, 16, 1, act=act, norm=norm)

    def forward(self, x):
        return self.rest(torch.cat([self.brand(x[:, 0].long()), self.fuel(x[:, 1].long()), x[:, 2:]], 1))


def begun_at(layers, value):
    """Return layers with the last bias set to a value."""
    nn.init.constant_(layers[-1].bias, value)
    return layers


class Doubted(nn.Module):
    """Predicts a mean and the logarithm of a variance."""

    def __init__(self, inputs=5, size=32):
        super().__init__()
        self.common, self.mean, self.doubt = dense(inputs, size, size), nn.Linear(size, 1), nn.Linear(size, 1)

    def forward(self, x):
        x = torch.tanh(self.common(x))
        return self.mean(x), self.doubt(x).clamp(-6, 6)


class Chosen(nn.Module):
    """A mixture of experts: a gate picks two of them for each sample."""

    def __init__(self, inputs=6, count=4, best=2, size=12):
        super().__init__()
        self.experts = nn.ModuleList(dense(inputs, size, 1) for _ in range(count))
        self.gate, self.best = nn.Linear(inputs, count), best

    def forward(self, x):
        liked, places = self.gate(x).topk(self.best, 1)
        said = torch.cat([expert(x) for expert in self.experts], 1)
        return (liked.softmax(1) * said.gather(1, places)).sum(1, keepdim=True)


class Later(nn.Module):
    """The state, plus a predicted change."""

    def __init__(self, size=32):
        super().__init__()
        self.change = dense(3, size, size, 2, act=nn.Softplus)

    def forward(self, x):
        return x[:, :2] + self.change(x)


class Waves(nn.Module):
    """Fully connected layers over random Fourier features, which are not trained."""

    def __init__(self, count=24, scale=2.0):
        super().__init__()
        self.register_buffer("frequencies", torch.randn(2, count) * scale)
        self.layers = dense(2 * count, 48, 1)

    def forward(self, x):
        turned = x @ self.frequencies * math.pi / 2
        return self.layers(torch.cat([turned.sin(), turned.cos()], 1))


class Bag(nn.Module):
    """The mean of embedded articles, and fully connected layers after it."""

    def __init__(self, size=16):
        super().__init__()
        self.article, self.each, self.all = nn.Embedding(30, size), nn.Linear(size, size), dense(size, 24, 1)

    def forward(self, x):
        return self.all(torch.relu(self.each(self.article(x))).mean(1))


def measured(size=32):
    """Return layers that begin with batch normalisation, for inputs that are not standardised."""
    return nn.Sequential(nn.BatchNorm1d(8), dense(8, size, size, 1))


def gated(inputs, outputs, size=24, blocks=2):
    """Return blocks of gated linear units with skip connections."""
    inner = (Skip(nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.GLU(), nn.Dropout(0.05)) for _ in range(blocks))
    return nn.Sequential(nn.Linear(inputs, size), *inner, nn.Linear(size, outputs))


# --- losses ----------------------------------------------------------------------------------------------------------


def pinball(output, y):
    """Return the pinball loss of the quantiles 0.2, 0.5 and 0.8."""
    share = torch.tensor([0.2, 0.5, 0.8])
    return torch.where(y > output, share * (y - output), (1 - share) * (output - y)).mean()


def doubt(output, y):
    """Return the negative log likelihood of a normal distribution."""
    mean, log_variance = output
    return nn.functional.gaussian_nll_loss(mean, y, log_variance.exp())


def cooled(scores, wanted, heat=2.0):
    """Return the distillation loss: the divergence from the teacher at a high temperature."""
    ours, theirs = (scores / heat).log_softmax(1), (wanted / heat).softmax(1)
    return nn.functional.kl_div(ours, theirs, reduction="batchmean") * heat**2


def log_cosh(output, y):
    """Return the mean logarithm of the hyperbolic cosine of errors."""
    return (nn.functional.softplus(-2 * (output - y)) + output - y - math.log(2)).mean()


SQUARE = nn.MSELoss

AMOUNT_TASKS = {
    "cars": task(cars, Priced, SQUARE, lr=1e-2, steps=120),
    "bicycles": task(bicycles, lambda: dense(7, 32, 32, 1, act=nn.SiLU), nn.PoissonNLLLoss, lr=5e-3, steps=120),
    "bicycles, rate itself": task(
        bicycles, lambda: dense(7, 32, 1, last=[nn.Softplus()]), lambda: nn.PoissonNLLLoss(log_input=False),
        lr=1e-2, steps=140,
    ),
    "flights": task(flights, lambda: dense(7, 32, 32, 3), criterion(pinball), lr=5e-3, steps=120),
    "flights, robust": task(flights, lambda: gated(7, 1), nn.HuberLoss, lr=5e-3, steps=120),
    "plants": task(plants, lambda: begun_at(dense(4, 32, 32, 1), 450.0), SQUARE, lr=1e-2, steps=160),
    "gauges": task(gauges, Doubted, criterion(doubt), lr=5e-3, steps=150),
    "regions": task(regions, Chosen, SQUARE, lr=1e-2, steps=150),
    "pendulums": task(pendulums, Later, SQUARE, lr=5e-3, steps=140),
    "hilltops": task(hills, Waves, nn.L1Loss, lr=5e-3, steps=140, batch=64),
    "shopping": task(baskets, Bag, SQUARE, lr=1e-2, steps=140),
    "concrete": task(concrete, measured, criterion(log_cosh), lr=1e-2, steps=120),
    "teacher": task(teacher, lambda: dense(10, 24, 24, 5), criterion(cooled), lr=5e-3, steps=140),
}  # fmt: skip
