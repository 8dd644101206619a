"""Autoencoders and generative tasks, dynamics, distillation and fine-tuning."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from harness.jobs import Job
from harness.parts import dense, train_classifier
from suites.sound_jobs.parts import ROWS, OwnLoss, Task
from suites.sound_jobs.pictures import conv, shapes

# --- data ------------------------------------------------------------------------------------------------------------


def sensors(rng):
    """Sixteen sensors of three latent values. Target: the inputs themselves."""
    x = np.tanh(rng.normal(size=(ROWS, 3)) @ rng.normal(size=(3, 16))) + 0.1 * rng.normal(size=(ROWS, 16))
    return x.astype(np.float32), x.astype(np.float32)


def sketches(rng):
    """Black images of shapes on white. Target: the image itself."""
    x = (shapes(rng)[0] > 0.9).astype(np.float32)
    return x, x


def smudged(rng):
    """Images of shapes with a quarter erased. Target: the whole image."""
    y = shapes(rng)[0]
    x = y.copy()
    for image in x:
        row, column = rng.integers(0, 7, 2)
        image[0, row : row + 6, column : column + 6] = 0
    return x, y


def moons(rng):
    """Points of two crescents. Target: the points themselves."""
    angle, kind = rng.uniform(0, np.pi, 2 * ROWS), rng.integers(0, 2, 2 * ROWS)
    x = np.stack([np.cos(angle) * (1 - 2 * kind) + kind, np.sin(angle) * (1 - 2 * kind) + 0.5 * kind], axis=1)
    x = (x + 0.08 * rng.normal(size=x.shape) - [0.5, 0.25]) * 1.5
    return x.astype(np.float32), x.astype(np.float32)


def diffused(rng):
    """Points of two crescents mixed with noise, and the amount of noise in three forms. Target: the noise."""
    points, share = moons(rng)[0], rng.uniform(0.05, 0.95, (2 * ROWS, 1))
    noise = rng.normal(size=points.shape)
    x = np.sqrt(1 - share) * points + np.sqrt(share) * noise
    return np.column_stack([x, share, np.sin(6 * share), np.cos(6 * share)]).astype(np.float32), noise.astype(
        np.float32
    )


def orbits(rng):
    """Position and speed of a pendulum. Target: both after a while."""
    x = rng.uniform(-1.5, 1.5, (ROWS, 2))
    place, speed = x.T.copy()
    for _ in range(50):
        speed -= 0.03 * np.sin(2 * place)
        place += 0.03 * speed
    return x.astype(np.float32), np.stack([place, speed], axis=1).astype(np.float32)


def rings(rng):
    """Eight features. Target: one of three kinds, by the distance of the first three features from zero."""
    x = rng.normal(size=(ROWS, 8))
    return x.astype(np.float32), np.digitize((x[:, :3] ** 2).sum(1), [1.5, 3.5])


def taught(rng):
    """Eight features. Target: the kind, and the scores of a trained teacher."""
    x, y = rings(rng)
    teacher = train_classifier(dense(8, 48, 48, 3), torch.as_tensor(x), torch.as_tensor(y), steps=150, batch=48)
    with torch.no_grad():
        scores = teacher(torch.as_tensor(x)).numpy()
    return x, np.column_stack([y, scores]).astype(np.float32)


# --- models ----------------------------------------------------------------------------------------------------------


class TiedAutoencoder(nn.Module):
    """An autoencoder whose decoder uses the transposed weights of the encoder."""

    def __init__(self, inputs=16, size=5):
        super().__init__()
        self.encode, self.act, self.bias = nn.Linear(inputs, size), nn.Tanh(), nn.Parameter(torch.zeros(inputs))

    def forward(self, x):
        return self.act(self.encode(x)) @ self.encode.weight + self.bias


class Sparse(nn.Module):
    """An autoencoder with a wide code. Returns output and code."""

    def __init__(self, inputs=16, size=40):
        super().__init__()
        self.encode, self.relu, self.decode = nn.Linear(inputs, size), nn.ReLU(), nn.Linear(size, inputs)

    def forward(self, x):
        code = self.relu(self.encode(x))
        return torch.cat([self.decode(code), code], 1)


class Variational(nn.Module):
    """A variational autoencoder. Returns scores of pixels, and mean and log variance of the code."""

    def __init__(self, size=6):
        super().__init__()
        self.encode = nn.Sequential(conv(1, 8, stride=2), conv(8, 16, stride=2), nn.Flatten(), nn.Linear(144, 2 * size))
        self.decode = nn.Sequential(nn.Linear(size, 48), nn.ReLU(), nn.Linear(48, 144))

    def forward(self, x):
        mean, log_variance = self.encode(x).chunk(2, 1)
        code = mean + torch.randn_like(mean) * (log_variance / 2).exp() if self.training else mean
        return torch.cat([self.decode(code), mean, log_variance], 1)


class Coupling(nn.Module):
    """Scales and shifts one of two coordinates by a function of the other one."""

    def __init__(self, kept):
        super().__init__()
        self.kept, self.inner = kept, dense(1, 24, 24, 2, act=nn.Tanh)

    def forward(self, x):
        stretch, shift = self.inner(x[:, self.kept, None]).unbind(1)
        stretch = torch.tanh(stretch)
        moved = x[:, 1 - self.kept] * stretch.exp() + shift
        return torch.stack([x[:, 0], moved] if self.kept == 0 else [moved, x[:, 1]], 1), stretch


class Flow(nn.Module):
    """A normalising flow of couplings. Returns points and the log determinant."""

    def __init__(self, layers=6):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(number % 2) for number in range(layers))

    def forward(self, x):
        grown = 0
        for layer in self.layers:
            x, stretch = layer(x)
            grown = grown + stretch
        return torch.cat([x, grown[:, None]], 1)


class Motion(nn.Module):
    """Integrates a learned speed in small steps."""

    def __init__(self, steps=6):
        super().__init__()
        self.speed, self.steps = dense(2, 24, 2, act=nn.Tanh), steps

    def forward(self, x):
        for _ in range(self.steps):
            x = x + self.speed(x) / self.steps
        return x


def grouped(size):
    return nn.GroupNorm(4, size)


def pretrained(frozen=True):
    """Return convolutions that were trained on other shapes, with a new last layer."""
    x, y = map(torch.as_tensor, shapes(np.random.default_rng(404)))
    layers = (conv(*sizes, stride=stride, norm=grouped) for *sizes, stride in ((1, 8, 1), (8, 16, 2)))
    body = nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten())
    train_classifier(nn.Sequential(body, nn.Linear(16, 4)), x, y, steps=60, batch=48)
    if frozen:
        body.requires_grad_(False)
    return nn.Sequential(body, nn.Linear(16, 4))


def squeezed():
    return nn.Sequential(conv(1, 8, stride=2), conv(8, 12, stride=2), nn.ConvTranspose2d(12, 8, 2, 2), nn.ReLU(),
                         nn.ConvTranspose2d(8, 1, 2, 2))  # fmt: skip


# --- losses ----------------------------------------------------------------------------------------------------------


def few(outputs, y):
    """Squared error plus the mean absolute code."""
    return functional.mse_loss(outputs[:, :16], y) + 0.01 * outputs[:, 16:].abs().mean()


def evidence(outputs, y, size=6):
    """Negative evidence lower bound of each image, divided by ten."""
    scores, mean, log_variance = outputs[:, :144], outputs[:, 144 : 144 + size], outputs[:, 144 + size :]
    lost = functional.binary_cross_entropy_with_logits(scores, y.flatten(1), reduction="none").sum(1)
    apart = (mean**2 + log_variance.exp() - 1 - log_variance).sum(1) / 2
    return (lost + apart).mean() / 10


def likelihood(outputs, _):
    """Negative log density of points."""
    return ((outputs[:, :2] ** 2).sum(1) / 2 + math.log(2 * math.pi) - outputs[:, 2]).mean()


def distilled(scores, y, heat=2.0):
    """A third of the cross entropy with the kind, and two thirds of the distillation loss."""
    soft = (y[:, 1:] / heat).softmax(1)
    apart = functional.kl_div((scores / heat).log_softmax(1), soft, reduction="batchmean") * heat**2
    return functional.cross_entropy(scores, y[:, 0].long()) / 3 + apart * 2 / 3


def trained_only(job: Job) -> None:
    """Give the optimizer the last layer only."""
    job.trained = lambda model: model[-1].parameters()


MAKING_TASKS = {
    "sensors": Task(sensors, lambda: dense(16, 24, 3, 24, 16, act=nn.ELU), nn.MSELoss, 1e-2, 100),
    "sensors, tied": Task(sensors, TiedAutoencoder, nn.MSELoss, 1e-2, 100),
    "sensors, sparsely": Task(sensors, Sparse, lambda: OwnLoss(few), 1e-2),
    "sketches": Task(sketches, Variational, lambda: OwnLoss(evidence), 5e-3, 100),
    "smudged": Task(smudged, squeezed, nn.MSELoss, 1e-2, 100),
    "moons": Task(moons, Flow, lambda: OwnLoss(likelihood), 1e-2, 140),
    "diffused": Task(diffused, lambda: dense(5, 48, 48, 2, act=nn.SiLU), nn.MSELoss, 5e-3, 100),
    "orbits": Task(orbits, Motion, nn.MSELoss, 1e-2),
    "taught": Task(taught, lambda: dense(8, 20, 20, 3), lambda: OwnLoss(distilled), 1e-2, 120),
    "rings": Task(rings, lambda: dense(8, 32, 32, 3, norm=nn.LayerNorm), nn.CrossEntropyLoss, 5e-3, 100),
    "shapes, with what was learned before": Task(shapes, pretrained, nn.CrossEntropyLoss, 2e-2, 70, trained_only),
    "shapes, fine-tuned": Task(shapes, lambda: pretrained(frozen=False), nn.CrossEntropyLoss, 3e-3),
}
