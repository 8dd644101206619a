"""Classification tasks on tables."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from harness.parts import Apply, column, dense, standardize
from suites.everyday_faults_blind.parts import ROWS, Skip, above, criterion, task

# --- data ------------------------------------------------------------------------------------------------------------


def loans(rng):
    """Five standardised amounts and two one-hot codes. Target: whether a loan is not paid back, three in ten."""
    amounts, job, town = rng.normal(size=(ROWS, 5)), rng.integers(0, 6, ROWS), rng.integers(0, 9, ROWS)
    score = (
        1.4 * amounts[:, 0] - amounts[:, 1] * (amounts[:, 2] > 0) + rng.normal(size=6)[job] + rng.normal(size=9)[town]
    )
    x = np.column_stack([amounts, np.eye(6)[job], np.eye(9)[town]])
    return x.astype(np.float32), above(score + 0.4 * rng.logistic(size=ROWS), 0.3)


def crops(rng):
    """Nine measures of soil and weather. Target: one of seven crops."""
    y = rng.integers(0, 7, ROWS)
    x = rng.normal(size=(7, 9))[y] * 1.3 + rng.normal(size=(ROWS, 9)) @ (np.eye(9) + 0.3 * rng.normal(size=(9, 9)))
    return standardize(x), y


def galaxies(rng):
    """Four measures. Target: one of three kinds, which lie on nested spheres."""
    y, direction = rng.integers(0, 3, ROWS), rng.normal(size=(ROWS, 4))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return (direction * (np.array([0.4, 1.4, 2.4])[y] + 0.15 * rng.normal(size=ROWS))[:, None]).astype(np.float32), y


def crescents(rng):
    """Points of two interlocking crescents. Target: the crescent."""
    y, angle = rng.integers(0, 2, ROWS), rng.uniform(0, np.pi, ROWS)
    x = np.stack([np.cos(angle) + y, np.where(y, -np.sin(angle) + 0.4, np.sin(angle))], 1)
    return standardize(x + 0.12 * rng.normal(size=x.shape)), y


def households(rng):
    """Twelve answers and twelve flags for missing ones, a third of them. Target: whether a household is well off."""
    answers = rng.normal(size=(ROWS, 12)) @ (np.eye(12) + 0.5 * rng.normal(size=(12, 12)) / 3)
    missing = rng.random((ROWS, 12)) < 0.33
    y = above(answers @ rng.normal(size=12) + 0.5 * rng.normal(size=ROWS), 0.5)
    return np.concatenate([np.where(missing, 0, answers), missing], 1).astype(np.float32), y


def skills(rng):
    """Fourteen traits of jobs. Target: which of eight skills they need."""
    x = rng.normal(size=(ROWS, 14))
    scores = x @ rng.normal(size=(14, 8)) + 1.5 * np.abs(x[:, :8]) + rng.logistic(size=(ROWS, 8))
    return x.astype(np.float32), (scores > np.quantile(scores, 0.7, axis=0)).astype(np.float32)


def polls(rng):
    """Six traits of towns. Target: the shares of four parties."""
    x = rng.normal(size=(ROWS, 6))
    chances = np.exp(x @ rng.normal(size=(6, 4)) * 0.8 + 0.5 * np.abs(x[:, :4]))
    return x.astype(np.float32), (chances / chances.sum(1, keepdims=True)).astype(np.float32)


def patients(rng):
    """Ten findings. Target: whether a patient is ill, one in twelve. A tenth of the ill have no sign."""
    y = rng.random(ROWS) < 1 / 12
    signs = y & (rng.random(ROWS) < 0.9)
    x = rng.normal(size=(ROWS, 10)) + signs[:, None] * np.array([2.2, 1.8, -1.8, 1.5, -1.2] + [0] * 5)
    return x.astype(np.float32), column(y)


def contracts(rng):
    """Three codes and five numbers. Target: one of four contracts."""
    codes, amounts = rng.integers(0, 6, (ROWS, 3)), rng.normal(size=(ROWS, 5))
    score = sum(rng.normal(size=(6, 4))[codes[:, place]] for place in range(3)) + amounts @ rng.normal(size=(5, 4))
    score[:, 0] += 1.5 * (codes[:, 0] == codes[:, 1])
    return np.column_stack([codes, amounts]).astype(np.float32), (score + 0.3 * rng.gumbel(size=score.shape)).argmax(1)


def exams(rng):
    """Eight answers. Target: one of three courses, and the standardised points in it."""
    x = rng.normal(size=(ROWS, 8))
    hidden = np.tanh(x @ rng.normal(size=(8, 5)))
    points = hidden @ rng.normal(size=5) + 0.2 * rng.normal(size=ROWS)
    return x.astype(np.float32), np.column_stack([hidden[:, :3].argmax(1), standardize(points[:, None])]).astype(
        np.float32
    )


def parts_that_last(rng):
    """Six measures of parts. Target: for each of eight months 1 if the part fails, -1 if it was not observed."""
    x = rng.normal(size=(ROWS, 6))
    chance = 1 / (1 + np.exp(1.8 - 1.2 * x[:, 0] + 0.9 * x[:, 1] - 0.6 * np.abs(x[:, 2])))
    month, seen = rng.geometric(chance) - 1, rng.integers(3, 9, ROWS)
    months = np.arange(8)
    y = (months == month[:, None]).astype(np.float32)
    y[(months > month[:, None]) | (months >= seen[:, None])] = -1
    return x.astype(np.float32), y


# --- models ----------------------------------------------------------------------------------------------------------


class Fields(nn.Module):
    """A transformer over the columns of a table: three codes and five numbers.

    Args:
        size: Size of what each column becomes.
        drop: Dropout.
    """

    def __init__(self, size=16, drop=0.0):
        super().__init__()
        self.codes = nn.ModuleList(nn.Embedding(6, size) for _ in range(3))
        self.scale, self.shift = (nn.Parameter(torch.randn(5, size) * 0.3) for _ in range(2))
        self.mixer = nn.TransformerEncoderLayer(size, 2, 32, drop, "gelu", batch_first=True, norm_first=True)
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, 4)

    def forward(self, x):
        codes = [table(x[:, place].long()) for place, table in enumerate(self.codes)]
        cells = torch.cat([torch.stack(codes, 1), x[:, 3:, None] * self.scale + self.shift], 1)
        return self.head(self.norm(self.mixer(cells)).mean(1))


class Bumps(nn.Module):
    """Radial basis functions, and a linear layer over them."""

    def __init__(self, inputs=2, count=24, outputs=2):
        super().__init__()
        self.centres, self.widths = nn.Parameter(torch.randn(count, inputs)), nn.Parameter(torch.zeros(count))
        self.head = nn.Linear(count, outputs)

    def forward(self, x):
        distance = (x[:, None] - self.centres).square().sum(2)
        return self.head(torch.exp(-distance * self.widths.exp()))


class Branches(nn.Module):
    """A common trunk with a head for a class and a head for a number."""

    def __init__(self, inputs=8, classes=3, size=32):
        super().__init__()
        self.common = nn.Sequential(nn.Linear(inputs, size), nn.LayerNorm(size), nn.SiLU())
        self.course, self.points = dense(size, 16, classes), dense(size, 16, 1)

    def forward(self, x):
        common = self.common(x)
        return self.course(common), self.points(common)[:, 0]


def skipping(inputs, outputs, size=32, blocks=3):
    """Return residual blocks with batch normalisation."""
    inner = (Skip(nn.Linear(size, size), nn.BatchNorm1d(size), nn.ReLU(), nn.Linear(size, size)) for _ in range(blocks))
    return nn.Sequential(nn.Linear(inputs, size), *inner, nn.ReLU(), nn.Linear(size, outputs))


def self_normal(inputs, outputs, size=32):
    """Return a self-normalising network."""
    layers = dense(inputs, size, size, outputs, act=nn.SELU)
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
            nn.init.zeros_(layer.bias)
    return layers


# --- losses ----------------------------------------------------------------------------------------------------------


def shares_apart(scores, shares):
    """Return the divergence of the predicted shares from the true ones."""
    return nn.functional.kl_div(scores.log_softmax(1), shares, reduction="batchmean")


def class_and_number(output, y):
    """Return the cross entropy of the class plus half the squared error of the number."""
    scores, value = output
    return nn.functional.cross_entropy(scores, y[:, 0].long()) + 0.5 * nn.functional.mse_loss(value, y[:, 1])


def where_seen(scores, y):
    """Return the binary cross entropy of the observed months."""
    losses = nn.functional.binary_cross_entropy_with_logits(scores, y.clamp(min=0), reduction="none")
    return losses[y >= 0].mean()


def focal(scores, y):
    """Return the focal loss."""
    losses = nn.functional.binary_cross_entropy_with_logits(scores, y, reduction="none")
    return (0.25 + 0.5 * y).mul((1 - (-losses).exp()) ** 2).mul(losses).mean()


CROSS, BINARY = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss

TABLE_TASKS = {
    "loans": task(loans, lambda: dense(20, 32, 16, 1, norm=nn.BatchNorm1d, drop=0.1), BINARY, lr=5e-3, steps=120),
    "crops": task(crops, lambda: dense(9, 48, 7), CROSS, lr=0.1, optimizer="momentum", steps=100),
    "crops, linear": task(crops, lambda: nn.Linear(9, 7), CROSS, lr=0.5, optimizer="sgd", steps=120),
    "galaxies": task(galaxies, lambda: dense(4, 32, 32, 3, act=nn.Tanh), CROSS, lr=1e-2, steps=140),
    "crescents": task(crescents, lambda: dense(2, 24, 24, 2), CROSS, lr=1e-2, steps=120, batch=64),
    "crescents, radial": task(crescents, Bumps, CROSS, lr=3e-2, steps=100),
    "households": task(households, lambda: dense(24, 48, 24, 1, act=nn.GELU, drop=0.2), BINARY, lr=3e-3, steps=140),
    "skills": task(skills, lambda: skipping(14, 8), BINARY, lr=5e-3, steps=120, optimizer="adamw", weight_decay=0.01),
    "polls": task(polls, lambda: dense(6, 32, 4, act=nn.SiLU), criterion(shares_apart), lr=1e-2, steps=100),
    "patients, rare": task(
        patients, lambda: dense(10, 24, 1), lambda: nn.BCEWithLogitsLoss(pos_weight=torch.tensor(8.0)),
        lr=3e-3, steps=100, batch=64,
    ),
    "patients, focal": task(patients, lambda: dense(10, 24, 1, act=nn.ELU), criterion(focal), lr=5e-3, steps=100),
    "contracts": task(contracts, Fields, CROSS, lr=5e-3, steps=140),
    "contracts, one score each": task(
        contracts, lambda: nn.Sequential(Apply(one_hot), self_normal(23, 4)), CROSS, lr=3e-3, steps=100,
    ),
    "exams": task(exams, Branches, criterion(class_and_number), lr=5e-3, steps=140),
    "parts that last": task(parts_that_last, lambda: dense(6, 32, 8, drop=0.1), criterion(where_seen), lr=5e-3,
                            steps=120, batch=64),
}  # fmt: skip


def one_hot(x):
    """Return the three codes one-hot, followed by the numbers."""
    return torch.cat([nn.functional.one_hot(x[:, :3].long(), 6).flatten(1), x[:, 3:]], 1)
