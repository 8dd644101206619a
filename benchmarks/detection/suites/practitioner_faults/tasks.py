"""Data and tasks of this suite, and optimizers that other suites do not have."""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import nn

from harness.jobs import OPTIMIZERS, RATES, TASKS, Job, blobs, curve, images
from harness.parts import FunctionLoss, dense, train_classifier
from suites.practitioner_faults.losses import (
    ContrastLoss,
    EvidenceLoss,
    ListwiseLoss,
    MarginLoss,
    NormalLoss,
    OverlapLoss,
    PairwiseLoss,
    QuantileLoss,
)
from suites.practitioner_faults.models import (
    Averaged,
    Causal,
    ConvAutoencoder,
    Documents,
    Gated,
    Graphs,
    LanguageModel,
    Padded,
    Patches,
    Ratings,
    Segmenter,
    SeriesCnn,
    Sets,
    Stack,
    Tabular,
    Transfer,
    Translator,
    Vae,
    Views,
)

ROWS = 900

# --- data ------------------------------------------------------------------------------------------------------------


def clicks(rng):
    """Three columns of codes and five of numbers. Target: whether there was a click."""
    codes = np.stack([rng.integers(0, size, ROWS) for size in (6, 10, 4)], axis=1)
    numbers = rng.normal(size=(ROWS, 5))
    effects = [rng.normal(size=size) * 1.5 for size in (6, 10, 4)]
    score = sum(effect[codes[:, column]] for column, effect in enumerate(effects))
    score = score + numbers[:, 0] * 1.5 - numbers[:, 1] * numbers[:, 2]
    score = score + rng.logistic(size=ROWS) * 0.5
    y = score > np.median(score)
    return np.concatenate([codes, numbers], axis=1).astype(np.float32), y.astype(np.float32)[:, None]


def waves(rng):
    """Two channels with slow or fast waves. Target: slow, fast, or fast in one channel only."""
    y = rng.integers(0, 3, ROWS)
    time, phase = np.arange(32) / 32, rng.uniform(0, 6.3, (ROWS, 2, 1))
    frequency = np.stack([np.where(y == 0, 2, 6), np.where(y == 2, 6, 2)], axis=1)[:, :, None]
    x = np.sin(2 * np.pi * frequency * time + phase) + 0.5 * rng.normal(size=(ROWS, 2, 32))
    return x.astype(np.float32), y


def demand(rng):
    """A period of eight values with noise and a random level. Target: the next value at each place."""
    time, phase = np.arange(25), rng.uniform(0, 6.3, (ROWS, 1))
    level = rng.normal(size=(ROWS, 1)) * 0.5
    x = level + np.sin(2 * np.pi * time / 8 + phase) + 0.2 * rng.normal(size=(ROWS, 25))
    x = x.astype(np.float32)
    return x[:, None, :-1], x[:, 1:]


def reversals(rng):
    """Four words, word 0, and the first three words of the target. Target: the four words backwards."""
    source = rng.integers(1, 8, (ROWS, 4))
    target = source[:, ::-1].copy()
    return np.concatenate([source, np.zeros((ROWS, 1), int), target[:, :-1]], axis=1), target


def walks(rng):
    """Words that go on by one and by three in turn, with some random words. Target: the next word at each place."""
    x = rng.integers(0, 12, (ROWS, 13))
    for place in range(12):
        goes_on = rng.random(ROWS) < 0.85
        x[goes_on, place + 1] = (x[goes_on, place] + (1 if place % 2 else 3)) % 12
    return x[:, :-1], x[:, 1:]


def two_views(rng):
    """Two noisy views of the same thing. The target is not used."""
    thing = rng.normal(size=(ROWS, 1, 6)) @ rng.normal(size=(6, 10))
    x = thing + 0.7 * rng.normal(size=(ROWS, 2, 10))
    return x.astype(np.float32), np.zeros(ROWS, np.float32)


def couples(rng):
    """Pairs of samples of eight groups. Target: whether both are of the same group."""
    centres = rng.normal(size=(8, 10)) * 1.2
    first = rng.integers(0, 8, ROWS)
    same = rng.random(ROWS) < 0.5
    second = np.where(same, first, (first + rng.integers(1, 8, ROWS)) % 8)
    x = np.stack([centres[first], centres[second]], axis=1) + 0.6 * rng.normal(size=(ROWS, 2, 10))
    return x.astype(np.float32), same.astype(np.float32)


def pictures(rng):
    """Standardised images. Target: the image itself."""
    x, _ = images(rng)
    x = (x - x.mean()) / x.std()
    return x, x


def preferences(rng):
    """Pairs of things. Target: 1 if the first one is preferred, else -1."""
    x = rng.normal(size=(ROWS, 2, 8)).astype(np.float32)
    score = x[:, :, 0] - x[:, :, 1] + np.abs(x[:, :, 2])
    return x, np.where(score[:, 0] + 0.3 * rng.normal(size=ROWS) > score[:, 1], 1, -1).astype(np.float32)


def result_lists(rng):
    """Lists of six results. Target: the gain of each result."""
    x = rng.normal(size=(ROWS, 6, 8)).astype(np.float32)
    return x, (2 * x[:, :, 0] + x[:, :, 1] ** 2).astype(np.float32)


def articles(rng):
    """Words of articles; words of an article's topics are more frequent. Target: its topics."""
    y = rng.random((ROWS, 5)) < 0.3
    x = rng.integers(0, 40, (ROWS, 20))
    for row in range(ROWS):
        for topic in np.flatnonzero(y[row]):
            x[row, rng.integers(0, 20, 4)] = topic * 5 + rng.integers(0, 5, 4)
    return x, y.astype(np.float32)


def payments(rng):
    """Six features. Target: an amount with heavy-tailed noise."""
    x, y = curve(rng, ROWS)
    return x, (y + 0.4 * rng.standard_t(1.8, y.shape)).astype(np.float32)


def visits(rng):
    """Six features. Target: a count."""
    x = rng.normal(size=(ROWS, 6)).astype(np.float32)
    return x, rng.poisson(np.exp(0.7 + 0.5 * x[:, 0] - 0.4 * x[:, 1]))[:, None].astype(np.float32)


def uneven_noise(rng):
    """Six features. Target: a number whose noise depends on the fourth feature."""
    x, y = curve(rng, ROWS)
    return x, (y + np.exp(0.6 * x[:, 3:4] - 0.7) * rng.normal(size=y.shape)).astype(np.float32)


def scenes(rng):
    """Noise with a bright rectangle. Target: a mask of the rectangle."""
    x, y = rng.normal(size=(ROWS, 1, 8, 8)) * 0.6, np.zeros((ROWS, 1, 8, 8))
    for row in range(ROWS):
        top, left = rng.integers(0, 5, 2)
        y[row, 0, top : top + rng.integers(2, 5), left : left + rng.integers(2, 5)] = 1
    return (x + 1.5 * y).astype(np.float32), y.astype(np.float32)


def molecules(rng):
    """Eight nodes with edges and features. Target: whether a score of nodes and neighbours is above its median."""
    edges = np.triu(rng.random((ROWS, 8, 8)) < 0.35, 1)
    edges = (edges | edges.transpose(0, 2, 1) | np.eye(8, dtype=bool)).astype(np.float32)
    nodes = rng.normal(size=(ROWS, 8, 3)).astype(np.float32)
    means = edges @ nodes / edges.sum(2, keepdims=True)
    score = np.maximum(means[:, :, 0], 0).mean(1) + nodes[:, :, 1].mean(1)
    return np.concatenate([edges, nodes], axis=2), (score > np.median(score)).astype(np.int64)


def opinions(rng):
    """A user and an item. Target: the rating."""
    users, items = rng.integers(0, 40, 2 * ROWS), rng.integers(0, 30, 2 * ROWS)
    tastes, kinds = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    y = (tastes[users] * kinds[items]).sum(1) * 0.5 + rng.normal(size=30)[items] + 0.2 * rng.normal(size=2 * ROWS)
    return np.stack([users, items], axis=1), y.astype(np.float32)[:, None]


def padded_texts(rng):
    """Texts of different lengths, padded with 0. Target: which of three words they contain."""
    y, x = rng.integers(0, 3, ROWS), rng.integers(4, 20, (ROWS, 14))
    for row, length in enumerate(rng.integers(4, 14, ROWS)):
        x[row, rng.permutation(length)[:2]] = y[row] + 1
        x[row, length:] = 0
    return x, y


def noisy_points(rng):
    """Points of a ring mixed with noise, and the share of noise. Target: the noise."""
    angle, share = rng.uniform(0, 6.3, 3 * ROWS), rng.uniform(0.1, 0.9, (3 * ROWS, 1))
    noise = rng.normal(size=(3 * ROWS, 2))
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 2
    x = np.concatenate([np.sqrt(1 - share) * points + np.sqrt(share) * noise, share], axis=1)
    return x.astype(np.float32), noise.astype(np.float32)


def teachings(rng):
    """Eight features. Target: a teacher's probabilities of four classes."""
    x = rng.normal(size=(ROWS, 8))
    scores = np.tanh(x @ rng.normal(size=(8, 6))) @ rng.normal(size=(6, 4)) * 1.5
    y = np.exp(scores - scores.max(1, keepdims=True))
    return x.astype(np.float32), (y / y.sum(1, keepdims=True)).astype(np.float32)


def bags(rng):
    """Sets of twelve points. Target: one of three kinds, by the spread of the points."""
    y = rng.integers(0, 3, ROWS)
    spread = np.array([0.5, 1.0, 2.0])[y][:, None, None]
    return (rng.normal(size=(ROWS, 12, 4)) * spread + rng.normal(size=(ROWS, 1, 4)) * 0.3).astype(np.float32), y


def quadrants(rng):
    """Eight numbers. Target: whether the first two have the same sign."""
    x = rng.normal(size=(ROWS, 8))
    return x.astype(np.float32), (x[:, 0] * x[:, 1] > 0).astype(np.int64)


def wobble(rng):
    """Sines and cosines of a number at eight frequencies. Target: an oscillating function of the number."""
    at = rng.uniform(-1, 1, (ROWS, 1))
    angles = at * np.pi * np.arange(1, 9)
    y = np.sin(5 * at) + 0.5 * np.cos(14 * at) + 0.1 * rng.normal(size=at.shape)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32), y.astype(np.float32)


# --- pretrained models -----------------------------------------------------------------------------------------------


def body(steps=150, classes=4):
    """Return two layers that were trained on four classes of blobs."""
    rng = np.random.default_rng(77)
    x, y = map(torch.as_tensor, blobs(rng, 800))
    layers = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
    train_classifier(nn.Sequential(layers, nn.Linear(24, classes)), x, y, steps=steps)
    return layers


def relatives(rng):
    """Samples of the blobs of `body`. Target: three groups of their four classes."""
    centres = np.random.default_rng(77).normal(size=(4, 8)) * 1.6
    kind = rng.integers(0, 4, ROWS)
    x = centres[kind] + rng.normal(size=(ROWS, 8)) * 1.2
    return x.astype(np.float32), np.minimum(kind, 2)


# --- tables ----------------------------------------------------------------------------------------------------------


def three_layers(inputs, outputs, act=nn.ReLU, hidden=32):
    """Return three fully connected layers."""
    return dense(inputs, hidden, hidden, outputs, act=act)


def teach(scores, y):
    """Kullback-Leibler divergence of the softmax of scores from a teacher's probabilities."""
    return nn.functional.kl_div(scores.log_softmax(1), y, reduction="batchmean")


OWN_TASKS = {
    "tabular": (clicks, Tabular, nn.BCEWithLogitsLoss),
    "series": (waves, SeriesCnn, nn.CrossEntropyLoss),
    "forecast": (demand, Causal, nn.MSELoss),
    "translation": (reversals, Translator, nn.CrossEntropyLoss),
    "language": (walks, LanguageModel, nn.CrossEntropyLoss),
    "contrast": (two_views, lambda: Views(three_layers(10, 8), normed=True), ContrastLoss),
    "siamese": (couples, lambda: Views(three_layers(10, 6, nn.Tanh)), MarginLoss),
    "vae": (pictures, Vae, EvidenceLoss),
    "conv autoencoder": (pictures, ConvAutoencoder, nn.SmoothL1Loss),
    "preferences": (preferences, lambda: Views(three_layers(8, 1)), PairwiseLoss),
    "lists": (result_lists, lambda: Views(three_layers(8, 1, nn.ELU)), ListwiseLoss),
    "documents": (articles, Documents, nn.BCEWithLogitsLoss),
    "heavy tails": (payments, lambda: three_layers(6, 1, nn.GELU), nn.HuberLoss),
    "counts": (visits, lambda: three_layers(6, 1, nn.SiLU), nn.PoissonNLLLoss),
    "uneven noise": (uneven_noise, lambda: three_layers(6, 2, nn.Softplus), NormalLoss),
    "quantile": (payments, lambda: three_layers(6, 1, nn.LeakyReLU), QuantileLoss),
    "segments": (scenes, Segmenter, nn.BCEWithLogitsLoss),
    "overlap": (scenes, Segmenter, OverlapLoss),
    "graphs": (molecules, Graphs, nn.CrossEntropyLoss),
    "ratings": (opinions, Ratings, nn.MSELoss),
    "patches": (images, Patches, nn.CrossEntropyLoss),
    "padded": (padded_texts, Padded, nn.CrossEntropyLoss),
    "denoising": (noisy_points, lambda: three_layers(3, 2, nn.SiLU), nn.MSELoss),
    "distilled": (teachings, lambda: three_layers(8, 4, nn.Tanh), lambda: FunctionLoss(teach)),
    "sets": (bags, Sets, nn.CrossEntropyLoss),
    "gated": (quadrants, Gated, nn.CrossEntropyLoss),
    "wobble": (wobble, lambda: three_layers(16, 1, nn.Tanh), nn.MSELoss),
    "stack": (blobs, Stack, nn.CrossEntropyLoss),
    "transfer": (relatives, lambda: Transfer(body()), nn.CrossEntropyLoss),
    "fine-tuned": (relatives, lambda: Transfer(body(), frozen=False), nn.CrossEntropyLoss),
    "averaged": (blobs, lambda: Averaged(three_layers(8, 4)), nn.CrossEntropyLoss),
}
TASKS |= OWN_TASKS
RATES |= {
    "series": 1e-2,
    "translation": 2e-2,
    "language": 1e-2,
    "vae": 1e-2,
    "conv autoencoder": 1e-2,
    "documents": 2e-2,
    "segments": 1e-2,
    "overlap": 1e-2,
    "graphs": 1e-2,
    "ratings": 3e-2,
    "gated": 1e-2,
    "wobble": 1e-2,
    "sets": 1e-2,
    "fine-tuned": 1e-3,
}
STEPS = {"translation": 140, "language": 112, "ratings": 140}
"""Number of steps of the tasks that need more than the default."""


class Sign(torch.optim.Optimizer):
    """Follows the sign of a moving average of gradients, as Lion does."""

    def __init__(self, params, lr, weight_decay=0.0):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                average = self.state[parameter].setdefault("average", torch.zeros_like(parameter))
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.sub_(group["lr"] * average.lerp(parameter.grad, 0.1).sign())
                average.lerp_(parameter.grad, 0.01)


class Forgetful(torch.optim.Adam):
    """Sets gradients to zero before it uses them."""

    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None if parameter.grad is None else torch.zeros_like(parameter)
        super().step()


class Clamped(torch.optim.Adam):
    """Clamps weights to at most 0.01 after each step."""

    @torch.no_grad()
    def step(self):
        super().step()
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.clamp_(-0.01, 0.01)


OPTIMIZERS |= {
    "nesterov": functools.partial(torch.optim.SGD, momentum=0.9, nesterov=True),
    "sign": Sign,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "adamax": torch.optim.Adamax,
    "amsgrad": functools.partial(torch.optim.Adam, amsgrad=True),
    "momentum of 0.999": functools.partial(torch.optim.SGD, momentum=0.999),
    "adam, epsilon of 10": functools.partial(torch.optim.Adam, eps=10.0),
    "forgetful": Forgetful,
    "clamped": Clamped,
}


def set_steps(job: Job) -> None:
    """Set the number of steps that the task of a job needs."""
    job.steps = STEPS.get(job.task, job.steps)
