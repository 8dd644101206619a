"""Sound runs: the tasks, and other ways to build and train models."""

from __future__ import annotations

import math

import torch
from torch import nn

from harness.parts import dense, setting, with_frozen, with_model, with_tensors
from suites.everyday_faults.models import ImageNet, Recurrent, ResNet, Tuned, WaveNet
from suites.everyday_faults.plan import sound
from suites.everyday_faults.tasks import OWN_TASKS, backbone


def _moved(x, y):
    """Shift images by up to one row, and add noise."""
    return x.roll(int(torch.randint(-1, 2, ())), 2) + 0.1 * torch.randn_like(x), y


def _words_left_out(x, y):
    return torch.where(torch.rand(x.shape) < 0.05, 39, x), y


def _group_norm(channels):
    return nn.GroupNorm(4, channels)


def _pooled(states):
    return states.mean(1)


def _one_in_ten_guessed(y):
    return torch.where(torch.rand(len(y)) < 0.1, torch.randint_like(y, 2), y)


for task in OWN_TASKS:
    sound(task)

WARMED_UP = setting(rate=lambda n: min(1, (n + 1) / 10) * (0.55 + 0.45 * math.cos(n / 30)))
IN_STEPS = setting(rate=lambda n: 0.3 ** (n // 40))
ONE_CYCLE = setting(rate=lambda n: 0.1 + 0.9 * math.sin(math.pi * min(1, (n + 1) / 70)))

SOUND = [
    ("letters", "by gradient descent with momentum", setting(optimizer="momentum", lr=0.05)),
    ("letters", "long after it has learned", setting(steps=200)),
    ("letters, deep", "warmed up and slowed down", WARMED_UP),
    ("prices", "by plain gradient descent", setting(optimizer="sgd", lr=0.05, steps=140)),
    ("prices", "by RMSprop with momentum", setting(optimizer="rmsprop with momentum", lr=1e-3)),
    ("energy", "slowed down in steps", IN_STEPS),
    ("claims", "in batches of 128, clipped", setting(batch=128, clip=1.0)),
    ("visitors", "in batches of 12", setting(batch=12, lr=3e-3)),
    ("spirals", "with ReLU, by Adam without momentum", with_model(lambda: dense(2, 48, 48, 3)),
     setting(optimizer="adam without momentum", lr=1e-2)),
    ("genres", "in one cycle", ONE_CYCLE),
    ("digits", "augmented, with smoothed labels", setting(
        prepare=_moved, loss=nn.CrossEntropyLoss(label_smoothing=0.1), steps=140
    )),
    ("digits", "with group normalisation and SiLU", with_model(lambda: ImageNet(norm=_group_norm, act=nn.SiLU))),
    ("digits, plain", "gradients gathered over two batches of 16", setting(
        batch=16, zero_every=2, update_every=2, steps=200, loss_factor=1 / 2, optimizer="adam", lr=1e-2
    )),
    ("textures", "four blocks by momentum", with_model(lambda: ResNet(blocks=4)),
     setting(optimizer="momentum", lr=0.05)),
    ("activity", "with layers of leaky ReLU and dropout of 30 %", with_model(lambda: WaveNet(nn.LeakyReLU, drop=0.3))),
    ("totals", "by an LSTM, clipped", with_model(lambda: Recurrent(nn.LSTM, 3, outputs=1)), setting(clip=1.0, lr=2e-2)),
    ("machines", "by two recurrent layers", with_model(lambda: Recurrent(nn.RNN, 4, num_layers=2)), setting(clip=5.0)),
    ("reviews", "by a GRU in both directions, averaged", with_model(
        lambda: Recurrent(nn.GRU, words=60, read=_pooled, bidirectional=True)
    )),
    ("questions", "warmed up, by AdamW", WARMED_UP, setting(optimizer="adamw", weight_decay=0.05)),
    ("characters", "by two layers of GRU with weight decay", with_model(
        lambda: Recurrent(nn.GRU, words=10, size=24, outputs=10, read=lambda states: states, num_layers=2)
    ), setting(weight_decay=1e-4)),
    ("species", "with a backbone that learns slowly", with_model(lambda: Tuned(backbone(), learns=True)),
     setting(lr=1e-3)),
    ("species", "with the first layer frozen", with_model(lambda: Tuned(backbone(), learns=True)),
     with_frozen("backbone.0"),
     setting(lr=2e-3)),
    ("churn", "with a weight for those who leave", setting(
        loss=nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1.8))
    )),
    ("markets", "with a tenth of the labels guessed", with_tensors(_one_in_ten_guessed, "y"),
     setting(weight_decay=1e-3)),
    ("purchases", "by Adagrad", setting(optimizer="adagrad", lr=0.1)),
    ("headlines", "with words left out", setting(prepare=_words_left_out)),
]  # fmt: skip
for task, name, *changes in SOUND:
    sound(task, name, *changes)
