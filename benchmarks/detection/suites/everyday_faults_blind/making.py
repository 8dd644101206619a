"""Generative tasks and autoencoders, and fine-tuning of pretrained models."""

from __future__ import annotations

import functools
import math

import numpy as np
import torch
from torch import nn

from harness.parts import dense, train_classifier
from suites.everyday_faults_blind.parts import ROWS, criterion, task

# --- data ------------------------------------------------------------------------------------------------------------


def sensors(rng):
    """Sixteen sensors that measure four things. Target: the inputs themselves."""
    x = np.tanh(rng.normal(size=(ROWS, 4)) @ rng.normal(size=(4, 16))) + 0.15 * rng.normal(size=(ROWS, 16))
    return x.astype(np.float32), x.astype(np.float32)


def stamps(rng):
    """Images of 7 x 7 with a frame, a diagonal or a bar, from 0 to 1. Target: the image itself."""
    x, kind = np.zeros((ROWS, 7, 7)), rng.integers(0, 3, ROWS)
    for row, place in enumerate(rng.integers(0, 6, ROWS)):
        if kind[row] == 0:
            x[row, place : place + 2] = 1
        elif kind[row] == 1:
            x[row, :, place : place + 2] = 1
        else:
            x[row] = np.roll(np.eye(7), place, 1)
    x = (x.reshape(ROWS, 49) * 0.9 + rng.uniform(0, 0.1, (ROWS, 49))).astype(np.float32)
    return x, x


def two_moons(rng):
    """Points of two crescents, without a target."""
    side, angle = rng.integers(0, 2, ROWS), rng.uniform(0, np.pi, ROWS)
    x = np.stack([np.cos(angle) + side - 0.5, np.where(side, 0.4 - np.sin(angle), np.sin(angle)) - 0.2], 1) * 1.3
    return (x + 0.1 * rng.normal(size=x.shape)).astype(np.float32), np.zeros(ROWS, np.float32)


def spoilt(rng):
    """Points of a ring with noise, and the amount of noise. Target: the noise."""
    angle, amount = rng.uniform(0, 2 * np.pi, 4 * ROWS), rng.uniform(0.1, 1.5, (4 * ROWS, 1))
    noise = rng.normal(size=(4 * ROWS, 2))
    x = 1.5 * np.stack([np.cos(angle), np.sin(angle)], 1) + amount * noise
    return np.concatenate([x / np.sqrt(1 + amount**2), np.log(amount)], 1).astype(np.float32), noise.astype(np.float32)


def machines_at_work(rng):
    """Twelve readings of a machine. Target: the inputs themselves. In evaluation, one machine in 25 is broken."""
    x = np.sin(rng.normal(size=(ROWS, 3)) @ rng.normal(size=(3, 12))) + 0.1 * rng.normal(size=(ROWS, 12))
    x[-128::25] += rng.normal(size=(6, 12))
    return x.astype(np.float32), x.astype(np.float32)


def _kinds(rng, shift=0.0, rows=ROWS):
    centres, y = np.random.default_rng(21).normal(size=(6, 12)), rng.integers(0, 6, rows)
    turned = np.linalg.qr(np.random.default_rng(22).normal(size=(12, 12)))[0]
    x = centres[y] * 1.4 + rng.normal(size=(rows, 12))
    return ((1 - shift) * x + shift * x @ turned).astype(np.float32), y


def elsewhere(rng):
    """Twelve measures from another laboratory. Target: one of six kinds."""
    return _kinds(rng, 0.6)


# --- models ----------------------------------------------------------------------------------------------------------


class Mirrored(nn.Module):
    """An autoencoder whose decoder uses the transposed weights of the encoder."""

    def __init__(self, inputs=16, size=5, act=torch.tanh):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, inputs))
        self.inner, self.outer, self.act = nn.Parameter(torch.zeros(size)), nn.Parameter(torch.zeros(inputs)), act
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x):
        code = self.act(nn.functional.linear(x, self.weight, self.inner))
        return nn.functional.linear(code, self.weight.T, self.outer)


class Sparse(nn.Module):
    """An autoencoder with more codes than inputs, of which few are active for one sample."""

    def __init__(self, inputs=16, size=32):
        super().__init__()
        self.encoder, self.decoder = nn.Sequential(nn.Linear(inputs, size), nn.ReLU()), nn.Linear(size, inputs)

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), code


class Variational(nn.Module):
    """A variational autoencoder."""

    def __init__(self, size=4):
        super().__init__()
        self.encoder, self.decoder = dense(49, 48, 2 * size, act=nn.SiLU), dense(size, 48, 49, act=nn.SiLU)

    def forward(self, x):
        mean, spread = self.encoder(x).chunk(2, 1)
        code = mean + (spread / 2).exp() * torch.randn_like(mean) if self.training else mean
        return self.decoder(code), mean, spread


class Flow(nn.Module):
    """A normalising flow of couplings. Returns points and the logarithm of the volume."""

    def __init__(self, depth=4):
        super().__init__()
        self.couplings = nn.ModuleList(dense(1, 24, 24, 2, act=nn.Tanh) for _ in range(depth))
        for layers in self.couplings:
            nn.init.zeros_(layers[-1].weight)
            nn.init.zeros_(layers[-1].bias)

    def forward(self, x):
        volume = torch.zeros(len(x))
        for layers in self.couplings:
            kept, changed = x.chunk(2, 1)
            scale, shift = layers(kept).chunk(2, 1)
            x = torch.cat([changed * torch.tanh(scale).exp() + shift, kept], 1)
            volume = volume + torch.tanh(scale)[:, 0]
        return x, volume


@functools.lru_cache(maxsize=1)
def _learned_at_home() -> dict[str, torch.Tensor]:
    """Return the weights of layers that were trained on kinds of measures from the first laboratory."""
    with torch.random.fork_rng():
        torch.manual_seed(4)
        layers, (x, y) = dense(12, 48, 32, 6), map(torch.as_tensor, _kinds(np.random.default_rng(8)))
        return train_classifier(layers, x, y, steps=150).state_dict()


def from_home() -> nn.Sequential:
    """Return layers with the weights that were trained in the first laboratory."""
    layers = dense(12, 48, 32, 6)
    layers.load_state_dict(_learned_at_home())
    return layers


class Adapted(nn.Module):
    """A frozen linear layer with a low-rank adapter, whose second factor begins at 0."""

    def __init__(self, linear, rank=4, factor=2.0):
        super().__init__()
        self.linear, self.factor = linear.requires_grad_(False), factor
        self.narrow = nn.Parameter(torch.randn(rank, linear.in_features) / math.sqrt(linear.in_features))
        self.wide = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, x):
        return self.linear(x) + self.factor * (x @ self.narrow.T) @ self.wide.T


def adapted() -> nn.Sequential:
    """Return the pretrained layers, each with an adapter."""
    return nn.Sequential(*(Adapted(layer) if isinstance(layer, nn.Linear) else layer for layer in from_home()))


def with_new_head(learns=False) -> nn.Sequential:
    """Return the pretrained layers with a new last layer. The others are trained only if `learns` is set."""
    layers = from_home()
    return nn.Sequential(layers[:-1].requires_grad_(learns), nn.Linear(32, 6))


# --- losses ----------------------------------------------------------------------------------------------------------


def sparse(output, x):
    """Return the squared error plus a penalty for active codes."""
    made, code = output
    return nn.functional.mse_loss(made, x) + 2e-3 * code.abs().sum(1).mean()


def bound(output, x):
    """Return the summed binary cross entropy of an image plus the divergence of its code."""
    scores, mean, spread = output
    made = nn.functional.binary_cross_entropy_with_logits(scores, x, reduction="sum") / len(x)
    return made + (mean**2 + spread.exp() - 1 - spread).sum(1).mean() / 2


def density(output, _):
    """Return the mean negative log density."""
    point, volume = output
    return ((point**2).sum(1) / 2 + math.log(2 * math.pi) - volume).mean()


CROSS, SQUARE = nn.CrossEntropyLoss, nn.MSELoss

MAKING_TASKS = {
    "sensors, mirrored": task(sensors, Mirrored, SQUARE, lr=1e-2, steps=140),
    "sensors, sparse": task(sensors, Sparse, criterion(sparse), lr=5e-3, steps=140),
    "stamps": task(stamps, lambda: dense(49, 32, 8, 32, 49, act=nn.ELU, last=[nn.Sigmoid()]), nn.BCELoss, lr=5e-3,
                   steps=168),
    "stamps, variational": task(stamps, Variational, criterion(bound), lr=5e-3, steps=168),
    "two moons": task(two_moons, Flow, criterion(density), lr=1e-2, steps=140, batch=64),
    "spoilt": task(spoilt, lambda: dense(3, 48, 48, 2, act=nn.SiLU), SQUARE, lr=5e-3, steps=140, batch=64),
    "machines at work": task(machines_at_work, lambda: dense(12, 32, 6, 32, 12, act=nn.Tanh), SQUARE, lr=1e-2,
                             steps=168),
    "elsewhere": task(elsewhere, adapted, CROSS, lr=1e-2, steps=112),
    "elsewhere, new head": task(elsewhere, with_new_head, CROSS, lr=2e-2, steps=98),
}  # fmt: skip
