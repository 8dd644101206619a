"""Tasks on time series."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from harness.parts import column, standardize
from suites.everyday_faults_blind.parts import ROWS, Skip, task

# --- data ------------------------------------------------------------------------------------------------------------


def beats(rng):
    """A heartbeat at forty moments. Target: one of three kinds, with shares of 60, 28 and 12 %."""
    y, time = rng.choice(3, ROWS, p=[0.6, 0.28, 0.12]), np.arange(40)
    peak = 18 + 3 * rng.normal(size=(ROWS, 1))
    width, height = np.array([1.5, 3.5, 1.5])[y][:, None], np.array([2, 2, -1.6])[y][:, None]
    x = height * np.exp(-(((time - peak) / width) ** 2)) + 0.6 * np.exp(-(((time - peak - 10) / 4) ** 2))
    return (x + 0.25 * rng.normal(size=x.shape))[:, None].astype(np.float32), y


def power(rng):
    """Power use and temperature of 24 hours. Target: the use of the next six hours."""
    hours, phase = np.arange(30), rng.integers(0, 24, (ROWS, 1))
    warmth = np.cumsum(rng.normal(size=(ROWS, 30)), 1) * 0.3
    use = np.sin((hours + phase) * np.pi / 12) * rng.uniform(0.6, 1.4, (ROWS, 1)) + 0.5 * np.abs(warmth)
    use += rng.normal(size=(ROWS, 1)) + 0.1 * rng.normal(size=use.shape)
    return np.stack([use[:, :24], warmth[:, :24]], 2).astype(np.float32), use[:, 24:].astype(np.float32)


def tides(rng):
    """The sum of two waves at thirty moments. Target: the next value at each moment."""
    time, phase = np.arange(31), rng.uniform(0, 2 * np.pi, (2, ROWS, 1))
    x = np.sin(0.5 * time + phase[0]) + 0.6 * np.sin(1.3 * time + phase[1]) + 0.1 * rng.normal(size=(ROWS, 31))
    return x[:, None, :-1].astype(np.float32), x[:, None, 1:].astype(np.float32)


def strokes(rng):
    """The path of a pen at twenty moments. Target: one of five figures."""
    y, time = rng.integers(0, 5, ROWS), np.linspace(0, 1, 20)
    across, along = np.array([1, 1, 2, 1, 3])[y][:, None], np.array([0, 1, 1, 2, 2])[y][:, None]
    start = rng.uniform(0, 0.2, (ROWS, 1))
    place = np.stack([np.sin(2 * np.pi * across * (time + start)), np.cos(2 * np.pi * along * (time + start))], 2)
    return (place + 0.25 * rng.normal(size=place.shape)).astype(np.float32), y


def doors(rng):
    """At fourteen moments, a door is opened (1), closed (2) or left (0). Target: whether it is open at each moment."""
    x = rng.choice(3, (ROWS, 14), p=[0.5, 0.25, 0.25])
    y = np.zeros((ROWS, 14), np.int64)
    for moment in range(14):
        y[:, moment] = np.where(x[:, moment] == 0, y[:, moment - 1] if moment else 0, x[:, moment] == 1)
    return np.eye(3, dtype=np.float32)[x], y


def commands(rng):
    """Spectrograms of twelve moments and ten pitches. Target: one of four words: rising, falling, high, low."""
    y, moments = rng.integers(0, 4, ROWS), np.arange(12)
    line = np.stack([2 + moments / 2, 7.5 - moments / 2, np.full(12, 7), np.full(12, 2)])[y]
    line = line + rng.uniform(-1, 1, (ROWS, 1))
    x = 1.5 * np.exp(-((np.arange(10)[:, None] - line[:, None]) ** 2)) + 0.5 * rng.normal(size=(ROWS, 10, 12))
    return x[:, None].astype(np.float32), y


def alarms(rng):
    """Five sensors at 25 moments. Target: whether the first two had a short alarm at the same time."""
    x, y = rng.normal(size=(ROWS, 25, 5)), rng.integers(0, 2, ROWS)
    for row, moment in enumerate(rng.integers(0, 22, ROWS)):
        if y[row]:
            x[row, moment : moment + 3, :2] += 2
        else:
            x[row, moment : moment + 3, rng.integers(0, 2)] += 2
    return x.astype(np.float32), y


def drifts(rng):
    """A random walk of thirty moments. Target: its mean drift, standardised."""
    drift = rng.normal(size=(ROWS, 1))
    x = np.cumsum(0.15 * drift + 0.4 * rng.normal(size=(ROWS, 30)), 1)
    return x[:, :, None].astype(np.float32), standardize(column(drift))


# --- models ----------------------------------------------------------------------------------------------------------


def beat_net(act=nn.ReLU, norm=nn.BatchNorm1d, drop=0.1):
    """Return convolutions along time, with pooling, and two fully connected layers."""
    return nn.Sequential(
        nn.Conv1d(1, 8, 5, padding=2), norm(8), act(), nn.MaxPool1d(2),
        nn.Conv1d(8, 12, 5, padding=2), norm(12), act(), nn.MaxPool1d(2),
        nn.Flatten(), nn.Linear(120, 24), act(), nn.Dropout(drop), nn.Linear(24, 3),
    )  # fmt: skip


class Memory(nn.Module):
    """A recurrent layer, and a linear layer over its last state, all states, or an attention-weighted mean.

    Args:
        cell: Class of the recurrent layer.
        inputs: Number of inputs at each moment.
        outputs: Number of outputs.
        read: ``last``, ``all`` or ``attention``.
        size: Size of the state.
        drop: Dropout before the linear layer.
        **more: Arguments of the recurrent layer.
    """

    def __init__(self, cell, inputs, outputs, read="last", size=20, drop=0.0, **more):
        super().__init__()
        self.cell = cell(inputs, size, batch_first=True, **more)
        width = size * (1 + bool(more.get("bidirectional")))
        self.pick = nn.Linear(width, 1) if read == "attention" else None
        self.drop, self.head, self.read = nn.Dropout(drop), nn.Linear(width, outputs), read

    def forward(self, x):
        states, _ = self.cell(x)
        if self.read == "all":
            return self.head(self.drop(states)).transpose(1, 2)
        read = (states * self.pick(states).softmax(1)).sum(1) if self.pick else states[:, -1]
        return self.head(self.drop(read))


class Causal(nn.Module):
    """A dilated causal convolution."""

    def __init__(self, channels, reach):
        super().__init__()
        self.conv, self.before = nn.Conv1d(channels, channels, 2, dilation=reach), reach

    def forward(self, x):
        return torch.relu(self.conv(nn.functional.pad(x, (self.before, 0))))


def looking_back(channels=12):
    """Return causal convolutions with skip connections."""
    inner = (Skip(Causal(channels, reach)) for reach in (1, 2, 4, 8))
    return nn.Sequential(nn.Conv1d(1, channels, 1), *inner, nn.Conv1d(channels, 1, 1))


def sound_net(drop=0.0):
    """Return two convolutions over spectrograms."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, 2, 1), nn.GroupNorm(2, 6), nn.SiLU(),
        nn.Conv2d(6, 12, 3, 2, 1), nn.GroupNorm(3, 12), nn.SiLU(),
        nn.Flatten(), nn.Dropout(drop), nn.Linear(108, 4),
    )  # fmt: skip


CROSS, SQUARE = nn.CrossEntropyLoss, nn.MSELoss

SERIES_TASKS = {
    "heartbeats": task(
        beats, beat_net, lambda: nn.CrossEntropyLoss(weight=torch.tensor([0.6, 1.2, 2.8])), lr=5e-3, steps=98,
    ),
    "power": task(power, lambda: Memory(nn.GRU, 2, 6, size=24), SQUARE, lr=1e-2, steps=112),
    "tides": task(tides, looking_back, SQUARE, lr=1e-2, steps=98),
    "strokes": task(strokes, lambda: Memory(nn.LSTM, 2, 5, bidirectional=True), CROSS, lr=1e-2, steps=84),
    "doors": task(doors, lambda: Memory(nn.GRU, 3, 2, "all", 12), CROSS, lr=1e-2, steps=98),
    "doors, plain": task(doors, lambda: Memory(nn.RNN, 3, 2, "all", 16), CROSS, lr=5e-3, steps=126, clip=1.0),
    "commands": task(commands, sound_net, CROSS, lr=5e-3, steps=84),
    "alarms": task(alarms, lambda: Memory(nn.GRU, 5, 2, "attention", 16), CROSS, lr=1e-2, steps=140),
    "drifts": task(drifts, lambda: Memory(nn.LSTM, 1, 1, size=16), nn.SmoothL1Loss, lr=1e-2, steps=98, clip=1.0),
}  # fmt: skip
