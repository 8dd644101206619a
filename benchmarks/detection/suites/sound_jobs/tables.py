"""Data and models of the tasks on tables."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from harness.parts import dense, standardize
from suites.sound_jobs.parts import ROWS, Residual

# --- data ------------------------------------------------------------------------------------------------------------


def houses(rng):
    """Measures of houses in their own units, and one of five districts. Target: the standardised log price."""
    area, age, distance = rng.lognormal(4.6, 0.4, ROWS), rng.uniform(0, 90, ROWS), rng.gamma(2, 4, ROWS)
    district = rng.integers(0, 5, ROWS)
    price = 0.9 * np.log(area) - 0.006 * age - 0.03 * distance + np.array([0, 0.2, -0.1, 0.35, 0.1])[district]
    price += 0.1 * rng.normal(size=ROWS)
    x = np.column_stack([area, age, distance, np.eye(5)[district]])
    return x.astype(np.float32), standardize(price[:, None])


def leavers(rng):
    """Two columns of codes and four of numbers. Target: whether a customer leaves; a few do."""
    plan, region, numbers = rng.integers(0, 5, ROWS), rng.integers(0, 8, ROWS), rng.normal(size=(ROWS, 4))
    score = np.array([-2, -1, 0, 1, 2])[plan] + rng.normal(size=8)[region] + 1.5 * numbers[:, 0] - numbers[:, 1] ** 2
    y = score > np.quantile(score, 0.85)
    return np.column_stack([plan, region, numbers]).astype(np.float32), y.astype(np.float32)[:, None]


def cheats(rng):
    """Ten features. Target: whether a case is fraud, one in twelve."""
    y = rng.random(ROWS) < 1 / 12
    x = rng.normal(size=(ROWS, 10)) + y[:, None] * np.array([2.0, -2.0, 1.5, 1.0] + [0.0] * 6)
    return x.astype(np.float32), y.astype(np.float32)[:, None]


def spirals(rng):
    """Points of two spiral arms. Target: the arm."""
    y, turn = rng.integers(0, 2, ROWS), rng.uniform(0.3, 1.0, ROWS)
    angle = 5 * turn + np.pi * y
    x = np.stack([np.cos(angle), np.sin(angle)], 1) * turn[:, None] * 2 + 0.05 * rng.normal(size=(ROWS, 2))
    return x.astype(np.float32), y


def signs(rng):
    """Six numbers, of -1 or 1 with some noise. Target: whether the product of the first three is positive."""
    x = rng.choice([-1.0, 1.0], (ROWS, 6))
    return (x + 0.2 * rng.normal(size=x.shape)).astype(np.float32), (x[:, :3].prod(1) > 0).astype(np.int64)


def grades(rng):
    """Six features. Target: which of four thresholds are reached, for five ordered grades."""
    x = rng.normal(size=(ROWS, 6))
    score = x[:, 0] + np.tanh(2 * x[:, 1]) - 0.5 * x[:, 2] + 0.2 * rng.normal(size=ROWS)
    return x.astype(np.float32), (score[:, None] > np.array([-1.5, -0.5, 0.5, 1.5])).astype(np.float32)


def kelvins(rng):
    """Six features. Target: a temperature, far from zero."""
    x = rng.normal(size=(ROWS, 6))
    y = 290 + 3 * x[:, 0] + 2 * np.abs(x[:, 1]) + 1.5 * x[:, 2] * (x[:, 3] > 0) + 0.3 * rng.normal(size=ROWS)
    return x.astype(np.float32), y.astype(np.float32)[:, None]


def claims(rng):
    """Five features and the insured time. Target: the number of claims."""
    x, time = rng.normal(size=(ROWS, 5)), rng.uniform(0.2, 3, ROWS)
    y = rng.poisson(time * np.exp(0.6 * x[:, 0] - 0.5 * np.abs(x[:, 1])))
    return np.column_stack([x, time]).astype(np.float32), y.astype(np.float32)[:, None]


def rents(rng):
    """Six features. Target: a number with heavy-tailed noise that grows with the fourth feature."""
    x = rng.normal(size=(ROWS, 6))
    y = 1.5 * x[:, 0] - x[:, 1] + np.sin(2 * x[:, 2]) + 0.3 * np.exp(0.4 * x[:, 3]) * rng.standard_t(2.2, ROWS)
    return x.astype(np.float32), y.astype(np.float32)[:, None]


def genres(rng):
    """Twelve features. Target: which of six labels fit, each to a quarter to a half of the samples."""
    x = rng.normal(size=(ROWS, 12))
    scores = np.maximum(x @ rng.normal(size=(12, 8)), 0) @ rng.normal(size=(8, 6))
    y = scores > np.quantile(scores, [0.5, 0.6, 0.7, 0.75, 0.6, 0.5], axis=0).diagonal()
    return x.astype(np.float32), y.astype(np.float32)


def patients(rng):
    """Eight features. Target: one of three kinds, and a number."""
    x = rng.normal(size=(ROWS, 8))
    hidden = np.tanh(x @ rng.normal(size=(8, 3)))
    value = hidden[:, 0] - hidden[:, 1] + 0.1 * rng.normal(size=ROWS)
    return x.astype(np.float32), np.stack([hidden.argmax(1), value], 1).astype(np.float32)


def lifetimes(rng):
    """Six features. Target: a time, and whether the event happened then (1) or observation ended (0)."""
    x = rng.normal(size=(ROWS, 6))
    time = rng.exponential(np.exp(-1.0 * x[:, 0] + 0.8 * x[:, 1]))
    end = rng.exponential(3.0, ROWS)
    return x.astype(np.float32), np.stack([np.minimum(time, end), time <= end], 1).astype(np.float32)


def queues(rng):
    """Five features. Target: a waiting time, which is positive and skewed."""
    x = rng.normal(size=(ROWS, 5))
    return x.astype(np.float32), rng.gamma(4, np.exp(0.7 * x[:, 0] - 0.5 * x[:, 1]) / 4)[:, None].astype(np.float32)


def arms(rng):
    """Position of a hand. Target: an angle of the arm; several angles may be right."""
    y = rng.uniform(0, 1, ROWS)
    x = y + 0.3 * np.sin(2 * np.pi * y) + 0.03 * rng.normal(size=ROWS)
    return ((x - 0.5) * 4).astype(np.float32)[:, None], ((y - 0.5) * 4).astype(np.float32)[:, None]


def meetings(rng):
    """Codes of person, topic and time. Target: whether the meeting is liked, which depends on pairs of codes."""
    codes = np.stack([rng.integers(0, size, 2 * ROWS) for size in (12, 9, 7)], axis=1)
    tastes = [rng.normal(size=(size, 2)) for size in (12, 9, 7)]
    who, what, when = (taste[codes[:, column]] for column, taste in enumerate(tastes))
    return codes, ((who * what + what * when).sum(1) > 0).astype(np.float32)[:, None]


def regimes(rng):
    """Four features. Target: a number that is linear in them within each of four regions."""
    x = rng.normal(size=(ROWS, 4))
    region = (x[:, 0] > 0) * 2 + (x[:, 1] > 0)
    y = (x * (rng.normal(size=(4, 4)) * 1.2)[region]).sum(1) + 0.1 * rng.normal(size=ROWS)
    return x.astype(np.float32), y.astype(np.float32)[:, None]


def bearings(rng):
    """Readings of six antennas. Target: the direction, as a point of the unit circle."""
    angle, places = rng.uniform(0, 2 * np.pi, ROWS), np.arange(6) * np.pi / 3
    x = np.exp(np.cos(angle[:, None] - places)) - 1.2 + 0.15 * rng.normal(size=(ROWS, 6))
    return x.astype(np.float32), np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)


def paintings(rng):
    """Positions in an image. Target: the brightness there."""
    x = rng.uniform(-1, 1, (2 * ROWS, 2))
    y = np.sin(4 * x[:, 0] + 1) * np.cos(3 * x[:, 1]) + 0.5 * (np.hypot(x[:, 0], x[:, 1]) < 0.5)
    return x.astype(np.float32), y.astype(np.float32)[:, None]


# --- models ----------------------------------------------------------------------------------------------------------


class Coded(nn.Module):
    """Embeddings of the first columns, and the numbers in the others beside them."""

    def __init__(self, codes=(5, 8), numbers=4, hidden=24, act=nn.ReLU):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, 3) for size in codes)
        self.rest = dense(3 * len(codes) + numbers, hidden, hidden, 1, act=act)

    def forward(self, x):
        codes = [table(x[:, column].long()) for column, table in enumerate(self.tables)]
        return self.rest(torch.cat([*codes, x[:, len(codes) :]], 1))


class Ordered(nn.Module):
    """Ordinal regression: one score, and learned thresholds."""

    def __init__(self):
        super().__init__()
        self.score, self.marks = dense(6, 24, 24, 1, act=nn.Tanh), nn.Parameter(torch.linspace(-1, 1, 4))

    def forward(self, x):
        return self.score(x) - self.marks


class Exposed(nn.Module):
    """Predicts the logarithm of a rate, and adds the logarithm of the time in the last column."""

    def __init__(self):
        super().__init__()
        self.rate = dense(5, 24, 24, 1, act=nn.SiLU)

    def forward(self, x):
        return self.rate(x[:, :-1]) + x[:, -1:].log()


class TwoHeads(nn.Module):
    """A trunk with a head for three classes and a head for a number."""

    def __init__(self, act=nn.ReLU):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), act(), nn.Linear(32, 24), act())
        self.kind, self.value = nn.Linear(24, 3), nn.Linear(24, 1)

    def forward(self, x):
        x = self.trunk(x)
        return torch.cat([self.kind(x), self.value(x)], 1)


class Factors(nn.Module):
    """A factorisation machine over codes."""

    def __init__(self, codes=(12, 9, 7), size=4):
        super().__init__()
        self.biases = nn.ModuleList(nn.Embedding(count, 1) for count in codes)
        self.factors = nn.ModuleList(nn.Embedding(count, size) for count in codes)
        for table in (*self.biases, *self.factors):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, x):
        factors = torch.stack([table(x[:, column]) for column, table in enumerate(self.factors)])
        pairs = (factors.sum(0) ** 2 - (factors**2).sum(0)).sum(1, keepdim=True) / 2
        return pairs + sum(table(x[:, column]) for column, table in enumerate(self.biases))


class WideAndDeep(nn.Module):
    """A score for each code, plus a network over their embeddings."""

    def __init__(self, codes=(12, 9, 7), size=6):
        super().__init__()
        self.wide = nn.ModuleList(nn.Embedding(count, 1) for count in codes)
        self.tables = nn.ModuleList(nn.Embedding(count, size) for count in codes)
        self.deep = dense(size * len(codes), 32, 16, 1)
        for table in self.wide:
            nn.init.zeros_(table.weight)

    def forward(self, x):
        wide = sum(table(x[:, column]) for column, table in enumerate(self.wide))
        return wide + self.deep(torch.cat([table(x[:, column]) for column, table in enumerate(self.tables)], 1))


class Experts(nn.Module):
    """The mean of several experts, weighted by a gate."""

    def __init__(self, inputs=4, experts=4, outputs=1):
        super().__init__()
        self.experts = nn.ModuleList(dense(inputs, 12, outputs) for _ in range(experts))
        self.gate, self.softmax = nn.Linear(inputs, experts), nn.Softmax(1)

    def forward(self, x):
        said = torch.stack([expert(x) for expert in self.experts], 1)
        return (said * self.softmax(self.gate(x))[:, :, None]).sum(1)


class Sine(nn.Module):
    """A layer with a sine activation and small initial weights."""

    def __init__(self, inputs, outputs, frequency):
        super().__init__()
        self.linear, self.frequency = nn.Linear(inputs, outputs), frequency
        bound = 1 / inputs if frequency > 1 else (6 / inputs) ** 0.5
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.frequency * self.linear(x))


class Highway(nn.Module):
    """A highway layer: a gate decides how much of the input passes unchanged."""

    def __init__(self, size):
        super().__init__()
        self.change, self.gate = nn.Linear(size, size), nn.Linear(size, size)
        nn.init.constant_(self.gate.bias, -1.0)

    def forward(self, x):
        share = torch.sigmoid(self.gate(x))
        return share * torch.tanh(self.change(x)) + (1 - share) * x


def residual(inputs, outputs, size=24, blocks=2):
    """Return residual blocks with layer normalisation."""
    inner = [
        Residual(nn.Sequential(nn.LayerNorm(size), nn.Linear(size, size), nn.GELU(), nn.Linear(size, size)))
        for _ in range(blocks)
    ]
    return nn.Sequential(nn.Linear(inputs, size), *inner, nn.LayerNorm(size), nn.Linear(size, outputs))
