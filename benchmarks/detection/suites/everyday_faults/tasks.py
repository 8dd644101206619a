"""The tasks: data, model, loss and training settings. Also optimizers that other suites do not have."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from torch import nn

from harness.jobs import OPTIMIZERS, TASKS, Job
from harness.parts import dense, train_classifier
from suites.everyday_faults import data
from suites.everyday_faults.losses import Written, evidence, hinge, quantiles
from suites.everyday_faults.models import (
    Asked,
    Compared,
    Copier,
    Elman,
    ImageNet,
    Recurrent,
    Residual,
    ResNet,
    Scored,
    TextCnn,
    Tuned,
    TwoTowers,
    Vague,
    WaveNet,
    everywhere,
)


def backbone(steps=120):
    """Return layers that were trained on the groups of `relatives`, with other samples."""
    x, y = map(torch.as_tensor, data.relatives(np.random.default_rng(6)))
    layers = dense(8, 32, 24)
    train_classifier(nn.Sequential(layers, nn.ReLU(), nn.Linear(24, 4)), x, y, steps=steps)
    return layers


OWN_TASKS = {
    "churn": (data.churn, lambda: dense(12, 32, 16, 1, drop=0.1), nn.BCEWithLogitsLoss),
    "letters": (data.letters, lambda: dense(16, 48, 32, 6, norm=nn.BatchNorm1d), nn.CrossEntropyLoss),
    "letters, deep": (data.letters, Residual, nn.CrossEntropyLoss),
    "prices": (data.prices, lambda: dense(8, 32, 32, 1), nn.MSELoss),
    "energy": (data.energy, lambda: dense(8, 32, 32, 1, act=nn.Tanh), nn.SmoothL1Loss),
    "claims": (data.claims, lambda: dense(8, 32, 32, 1, act=nn.ELU, drop=0.1), nn.HuberLoss),
    "delivery": (data.claims, lambda: dense(8, 32, 32, 3, act=nn.SiLU), lambda: Written(quantiles)),
    "visitors": (data.visitors, lambda: dense(6, 24, 24, 1, act=nn.GELU), nn.PoissonNLLLoss),
    "wine": (data.wine, lambda: nn.Linear(5, 3), nn.CrossEntropyLoss),
    "spirals": (data.spirals, lambda: dense(2, 32, 32, 3, act=nn.Tanh), nn.CrossEntropyLoss),
    "genres": (data.genres, lambda: dense(12, 32, 6, act=nn.LeakyReLU), nn.BCEWithLogitsLoss),
    "purchases": (data.purchases, TwoTowers, nn.BCEWithLogitsLoss),
    "record pairs": (data.duplicates, Compared, nn.BCEWithLogitsLoss),
    "search results": (data.results, Scored, lambda: Written(hinge)),
    "markets": (data.markets, lambda: dense(10, 16, 2, drop=0.2), nn.CrossEntropyLoss),
    "digits": (data.digits, ImageNet, nn.CrossEntropyLoss),
    "digits, plain": (data.digits, lambda: ImageNet(norm=nn.Identity, drop=0.25), nn.CrossEntropyLoss),
    "textures": (data.textures, ResNet, nn.CrossEntropyLoss),
    "roads": (data.roads, lambda: ImageNet((8, 8), 1, nn.ELU, nn.Identity), nn.MSELoss),
    "pictures": (data.pictures, Copier, nn.BCELoss),
    "vague pictures": (data.pictures, Vague, lambda: Written(evidence)),
    "activity": (data.activity, WaveNet, nn.CrossEntropyLoss),
    "totals": (data.totals, lambda: Recurrent(nn.GRU, 3, outputs=1), nn.MSELoss),
    "machines": (data.machines, Elman, nn.CrossEntropyLoss),
    "reviews": (data.reviews, lambda: Recurrent(nn.LSTM, words=60, drop=0.1), nn.CrossEntropyLoss),
    "questions": (data.questions, lambda: Asked(drop=0.1), nn.CrossEntropyLoss),
    "headlines": (data.headlines, lambda: TextCnn(drop=0.1), nn.CrossEntropyLoss),
    "characters": (
        data.characters, lambda: Recurrent(nn.LSTM, words=10, size=32, outputs=10, read=everywhere),
        nn.CrossEntropyLoss,
    ),
    "mentions": (
        data.mentions, lambda: Recurrent(nn.GRU, words=25, outputs=3, read=everywhere, bidirectional=True),
        nn.CrossEntropyLoss,
    ),
    "species": (data.relatives, lambda: Tuned(backbone()), nn.CrossEntropyLoss),
}  # fmt: skip
TASKS |= OWN_TASKS

HOW_TRAINED: dict[str, dict[str, Any]] = {
    "churn": {"lr": 5e-3, "steps": 100},
    "letters": {"lr": 5e-3},
    "letters, deep": {"lr": 3e-3, "optimizer": "adamw", "weight_decay": 0.01},
    "prices": {"lr": 5e-3, "steps": 100},
    "energy": {"lr": 0.05, "optimizer": "momentum", "steps": 100},
    "claims": {"lr": 5e-3},
    "delivery": {"lr": 5e-3},
    "visitors": {"lr": 5e-3},
    "wine": {"lr": 0.3, "optimizer": "sgd"},
    "spirals": {"lr": 2e-2, "steps": 140},
    "genres": {"lr": 1e-2},
    "purchases": {"lr": 2e-2, "steps": 140, "batch": 64},
    "record pairs": {"lr": 5e-3, "steps": 100},
    "search results": {"lr": 5e-3},
    "markets": {"lr": 4e-3},
    "digits": {"lr": 1e-2, "steps": 112},
    "digits, plain": {"lr": 0.05, "optimizer": "momentum", "steps": 140},
    "textures": {"lr": 5e-3},
    "roads": {"lr": 5e-3},
    "pictures": {"lr": 5e-3, "steps": 140},
    "vague pictures": {"lr": 5e-3, "steps": 100},
    "activity": {"lr": 5e-3},
    "totals": {"lr": 1e-2, "steps": 140},
    "machines": {"lr": 5e-3},
    "reviews": {"lr": 1e-2, "steps": 84},
    "questions": {"lr": 5e-3, "steps": 84},
    "headlines": {"lr": 1e-2, "steps": 84},
    "characters": {"lr": 1e-2},
    "mentions": {"lr": 1e-2},
    "species": {"lr": 1e-2},
}
"""Attributes of a job that a task sets."""

OPTIMIZERS |= {
    "adadelta": torch.optim.Adadelta,
    "adam without momentum": functools.partial(torch.optim.Adam, betas=(0.0, 0.99)),
    "rmsprop with momentum": functools.partial(torch.optim.RMSprop, momentum=0.9),
}


def set_training(job: Job) -> None:
    """Set the attributes of a job that its task declares, such as the learning rate."""
    for name, value in HOW_TRAINED[job.task].items():
        setattr(job, name, value)
