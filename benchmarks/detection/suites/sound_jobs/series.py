"""Tasks for recurrent layers."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from suites.sound_jobs.parts import ROWS, OwnLoss, Task

# --- data ------------------------------------------------------------------------------------------------------------


def tags(rng):
    """Sentences of ten words. Target: one of four roles for each word, by its kind and that of the word before."""
    x = rng.integers(0, 18, (ROWS, 10))
    kinds = x % 3
    before = np.concatenate([np.zeros((ROWS, 1), int), kinds[:, :-1]], axis=1)
    return x, np.where(kinds == 0, 0, np.where(kinds == 1, 1 + (before == 1), 3))


def marked_sums(rng):
    """Series of numbers, two of which are marked. Target: the sum of these two."""
    x = np.stack([rng.uniform(-1, 1, (ROWS, 8)), np.zeros((ROWS, 8))], axis=2)
    x[np.arange(ROWS), rng.integers(0, 4, ROWS), 1] = 1
    x[np.arange(ROWS), rng.integers(4, 8, ROWS), 1] = 1
    return x.astype(np.float32), x.prod(2).sum(1, keepdims=True).astype(np.float32)


def highest(rng):
    """Series of numbers. Target: the running maximum."""
    x = rng.normal(size=(ROWS, 9, 1))
    return x.astype(np.float32), np.maximum.accumulate(x, axis=1).astype(np.float32)


def syllables(rng):
    """Words made of a few syllables. Target: the next letter at each place."""
    parts = np.array([[0, 5, 1], [2, 6, 3], [4, 7, 0], [1, 8, 2], [3, 9, 4]])
    x = parts[rng.integers(0, 5, (ROWS, 5))].reshape(ROWS, 15)
    return x[:, :-1], x[:, 1:]


def swings(rng):
    """Damped oscillations with noise. Target: the next four values."""
    time, phase = np.arange(24), rng.uniform(0, 6.3, (ROWS, 1))
    quick, fading = rng.uniform(0.4, 0.8, (ROWS, 1)), rng.uniform(0.0, 0.05, (ROWS, 1))
    x = np.exp(-fading * time) * np.sin(quick * time + phase) + 0.05 * rng.normal(size=(ROWS, 24))
    return x[:, :20, None].astype(np.float32), x[:, 20:].astype(np.float32)


def gestures(rng):
    """Tracks of a hand that turns left, right or not at all. Target: the turn."""
    y = rng.integers(0, 3, ROWS)
    turn = (y - 1)[:, None] * 0.25 + 0.15 * rng.normal(size=(ROWS, 12))
    angle = rng.uniform(0, 6.3, (ROWS, 1)) + turn.cumsum(1)
    return np.stack([np.cos(angle), np.sin(angle)], axis=2).astype(np.float32), y


def reviews(rng):
    """Words with a mood, which a negation reverses. Target: the sign of the total mood."""
    x = rng.integers(0, 24, (ROWS, 10))
    mood = np.where(x < 6, 1, np.where(x < 12, -1, 0))
    negated = np.concatenate([np.zeros((ROWS, 1), bool), x[:, :-1] >= 21], axis=1)
    return x, ((mood * np.where(negated, -1, 1)).sum(1) > 0).astype(np.int64)


# --- models ----------------------------------------------------------------------------------------------------------

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class Reader(nn.Module):
    """A recurrent layer over words or numbers, and a linear layer over its last state, all states or their mean.

    Args:
        cell: Key in `CELLS`.
        inputs: Number of inputs at each place.
        outputs: Number of scores.
        words: Number of words. 0: the inputs are numbers.
        layers: Number of stacked layers.
        both: Whether the layer is bidirectional.
        takes: ``last``, ``all``, ``mean`` or ``attention``.
        drop: Dropout after the recurrent layer.
    """

    def __init__(
        self, cell, inputs, outputs, *, words=0, size=24, layers=1, both=False, takes="last", drop=0.0
    ):  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(words, inputs) if words else nn.Identity()
        self.read = CELLS[cell](inputs, size, layers, batch_first=True, bidirectional=both)
        width = size * (2 if both else 1)
        self.drop, self.head, self.takes = nn.Dropout(drop), nn.Linear(width, outputs), takes
        self.look = nn.Linear(width, 1) if takes == "attention" else None

    def forward(self, x):
        x = self.drop(self.read(self.embedding(x))[0])
        if self.takes == "last":
            x = x[:, -1]
        elif self.takes == "mean":
            x = x.mean(1)
        elif self.takes == "attention":
            x = (x * self.look(x).softmax(1)).sum(1)
        return self.head(x)


class Tied(nn.Module):
    """A language model whose output layer is the embedding."""

    def __init__(self, cell=nn.GRU, words=10, size=24):
        super().__init__()
        self.embedding, self.read = nn.Embedding(words, size), cell(size, size, batch_first=True)
        self.head = nn.Linear(size, words)
        self.head.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=0.2)

    def forward(self, x):
        return self.head(self.read(self.embedding(x))[0])


class Steady(nn.Module):
    """A recurrent cell written by hand, with layer normalisation at each step."""

    def __init__(self, inputs=2, size=24, outputs=3):
        super().__init__()
        self.inner, self.again = nn.Linear(inputs, size), nn.Linear(size, size, bias=False)
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, outputs)
        nn.init.orthogonal_(self.again.weight)

    def forward(self, x):
        state = torch.zeros(len(x), self.again.in_features)
        for place in range(x.shape[1]):
            state = torch.tanh(self.norm(self.inner(x[:, place]) + self.again(state)))
        return self.head(state)


class Continued(nn.Module):
    """Reads a series, and predicts the next values one by one."""

    def __init__(self, size=24, ahead=4):
        super().__init__()
        self.read, self.cell = nn.GRU(1, size, batch_first=True), nn.GRUCell(1, size)
        self.head, self.ahead = nn.Linear(size, 1), ahead

    def forward(self, x):
        state, value, written = self.read(x)[1][0], x[:, -1], []
        for _ in range(self.ahead):
            state = self.cell(value, state)
            value = value + self.head(state)
            written.append(value)
        return torch.cat(written, 1)


class Listened(nn.Module):
    """Convolutions before a recurrent layer."""

    def __init__(self, inputs=2, size=16, outputs=3):
        super().__init__()
        self.conv, self.act = nn.Conv1d(inputs, size, 3, stride=2, padding=1), nn.ReLU()
        self.read, self.head = nn.LSTM(size, size, batch_first=True), nn.Linear(size, outputs)

    def forward(self, x):
        x = self.act(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.head(self.read(x)[1][0][0])


def at_each_place(scores, y):
    """Cross entropy of the scores at each place."""
    return functional.cross_entropy(scores.flatten(0, 1), y.flatten())


SERIES_TASKS = {
    "tags": Task(
        tags, lambda: Reader("lstm", 8, 4, words=18, both=True, takes="all"), lambda: OwnLoss(at_each_place), 1e-2
    ),
    "tags, plainly": Task(
        tags, lambda: Reader("rnn", 8, 4, words=18, takes="all"), lambda: OwnLoss(at_each_place), 1e-2
    ),
    "marked sums": Task(marked_sums, lambda: Reader("gru", 2, 1, size=32), nn.MSELoss, 1e-2, 150),
    "highest": Task(highest, lambda: Reader("gru", 1, 1, takes="all"), nn.MSELoss, 1e-2),
    "highest, by LSTM": Task(highest, lambda: Reader("lstm", 1, 1, layers=2, takes="all"), nn.SmoothL1Loss, 1e-2),
    "syllables": Task(syllables, Tied, lambda: OwnLoss(at_each_place), 1e-2),
    "syllables, by LSTM": Task(syllables, lambda: Tied(nn.LSTM), lambda: OwnLoss(at_each_place), 2e-2, 100),
    "swings": Task(swings, Continued, nn.MSELoss, 1e-2, 100),
    "swings, at once": Task(swings, lambda: Reader("lstm", 1, 4, size=32), nn.HuberLoss, 1e-2, 100),
    "gestures": Task(gestures, Steady, nn.CrossEntropyLoss, 1e-2),
    "gestures, heard": Task(gestures, Listened, nn.CrossEntropyLoss, 1e-2),
    "critiques": Task(
        reviews, lambda: Reader("gru", 12, 2, words=24, both=True, takes="mean"), nn.CrossEntropyLoss, 1e-2
    ),
    "reviews, looked at": Task(
        reviews, lambda: Reader("lstm", 12, 2, words=24, takes="attention", drop=0.2), nn.CrossEntropyLoss, 2e-2, 80
    ),
}
