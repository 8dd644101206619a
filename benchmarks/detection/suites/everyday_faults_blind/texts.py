"""Tasks on words and other tokens."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from harness.parts import column, dense
from suites.everyday_faults_blind.parts import ROWS, criterion, task

# --- data ------------------------------------------------------------------------------------------------------------


def letters_received(rng):
    """Counts of sixty words, mostly 0. Target: whether the letter is unwanted, a third of them."""
    y = rng.random(ROWS) < 1 / 3
    usual, unwanted = rng.dirichlet(np.full(60, 0.3), 2)
    x = np.stack([rng.multinomial(18, 0.6 * usual + 0.4 * unwanted if bad else usual) for bad in y])
    return x.astype(np.float32), column(y)


def subjects(rng):
    """Fourteen words of eighty; common words carry no information. Target: one of six subjects."""
    y, x = rng.integers(0, 6, ROWS), 30 + (50 * rng.random((ROWS, 14)) ** 2).astype(int)
    for row in range(ROWS):
        x[row, rng.permutation(14)[:4]] = 5 * y[row] + rng.integers(0, 5, 4)
    return x, y


def _sentence(rng, length):
    """Return signs by a small grammar: nouns determine verbs, and verbs determine objects."""
    words = []
    while len(words) < length:
        noun = rng.integers(0, 4)
        words += [noun, 4 + noun, 8 + (noun + rng.integers(0, 2)) % 4, 12]
    return words[:length]


def sentences(rng):
    """Sentences of a small grammar, sixteen words of thirteen. Target: the next word at each place."""
    x = np.array([_sentence(rng, 17) for _ in range(ROWS)])
    return x[:, :-1], x[:, 1:]


def gaps(rng):
    """The same sentences with one word in six masked (13). Target: the masked words, and -100 elsewhere."""
    words = np.array([_sentence(rng, 16) for _ in range(ROWS)])
    masked = rng.random(words.shape) < 1 / 6
    return np.where(masked, 13, words), np.where(masked, words, -100)


def backwards(rng):
    """Six signs of eight, a start sign (8), and the first five signs of the target. Target: the six signs backwards.

    Places of the first part have no target (-100).
    """
    first = rng.integers(0, 8, (ROWS, 6))
    x = np.concatenate([first, np.full((ROWS, 1), 8), first[:, :0:-1]], 1)
    return x, np.concatenate([np.full((ROWS, 6), -100), first[:, ::-1]], 1)


def names(rng):
    """Eight letters of twelve, with the letter transitions of one of three languages. Target: the language."""
    y, chances = rng.integers(0, 3, ROWS), rng.dirichlet(np.full(12, 0.25), (3, 12))
    x = rng.integers(0, 12, (ROWS, 8))
    for place in range(7):
        chosen = chances[y, x[:, place]].cumsum(1) > rng.random((ROWS, 1))
        x[:, place + 1] = chosen.argmax(1)
    return x, y


def kinds_of_words(rng):
    """Twelve words of forty, padded with 0. Target: the kind of each, from it and the word before; -100 for padding."""
    x, length = rng.integers(1, 40, (ROWS, 12)), rng.integers(5, 13, ROWS)
    before = np.concatenate([np.zeros((ROWS, 1), int), x[:, :-1]], 1)
    y = np.where(x % 4 == 3, np.where(before < 20, 3, 4), x % 4)
    behind = np.arange(12) >= length[:, None]
    return np.where(behind, 0, x), np.where(behind, -100, y)


def neighbours(rng):
    """Pairs of words. Target: whether the second one stood near the first one."""
    first, near = rng.integers(0, 50, 4 * ROWS), rng.random(4 * ROWS) < 0.4
    other = np.where(near, first // 10 * 10 + rng.integers(0, 10, len(first)), rng.integers(0, 50, len(first)))
    return np.stack([first, other], 1), column(near)


# --- models ----------------------------------------------------------------------------------------------------------


class Mean(nn.Module):
    """The mean of embeddings, and a linear layer."""

    def __init__(self, words=80, size=16, outputs=6, drop=0.0):
        super().__init__()
        self.words = nn.EmbeddingBag(words, size, mode="mean")
        self.drop, self.head = nn.Dropout(drop), nn.Linear(size, outputs)

    def forward(self, x):
        return self.head(self.drop(self.words(x)))


class Attentive(nn.Module):
    """A transformer encoder over words.

    Args:
        words: Number of words.
        outputs: Number of outputs.
        length: Number of places.
        causal: Whether attention is causal.
        tied: Whether the last layer shares the weights of the embedding.
        read: ``all`` for outputs at each place, ``mean`` for one output.
        depth: Number of layers.
        drop: Dropout.
        first: Whether normalisation comes first in each layer.
    """

    def __init__(self, words, outputs, length, causal=False, tied=False, read="all", depth=1, drop=0.0, first=True,
                 size=24):  # fmt: skip
        super().__init__()
        self.words, self.places = nn.Embedding(words, size), nn.Embedding(length, size)
        nn.init.normal_(self.words.weight, std=0.2)
        nn.init.normal_(self.places.weight, std=0.2)
        layer = nn.TransformerEncoderLayer(size, 3, 2 * size, drop, "gelu", batch_first=True, norm_first=first)
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm, self.head, self.read = nn.LayerNorm(size), nn.Linear(size, outputs), read
        if tied:
            self.head.weight = self.words.weight
        self.mask = nn.Transformer.generate_square_subsequent_mask(length) if causal else None

    def forward(self, x):
        x = self.words(x) + self.places.weight
        x = self.norm(self.layers(x, mask=self.mask))
        if self.read == "all":
            return self.head(x).transpose(1, 2)
        return self.head(x.mean(1))


class Translator(nn.Module):
    """An encoder and a decoder of one recurrent layer each, with attention."""

    def __init__(self, size=24):
        super().__init__()
        self.signs, self.reader = nn.Embedding(9, 12), nn.GRU(12, size, batch_first=True)
        self.writer, self.head = nn.GRU(12, size, batch_first=True), nn.Linear(2 * size, 8)

    def forward(self, x):
        signs = self.signs(x)
        read, state = self.reader(signs[:, :6])
        written, _ = self.writer(signs[:, 6:], state)
        seen = (written @ read.transpose(1, 2) / 5).softmax(2) @ read
        scores = self.head(torch.cat([written, seen], 2)).transpose(1, 2)
        return nn.functional.pad(scores, (6, 0))


class Spelled(nn.Module):
    """Convolutions over letters, and the mean of each."""

    def __init__(self, letters=12, outputs=3, act=nn.ReLU, drop=0.0):
        super().__init__()
        self.letters, self.conv = nn.Embedding(letters, 10), nn.Conv1d(10, 24, 2)
        self.act, self.head = act(), nn.Sequential(nn.Dropout(drop), nn.Linear(24, outputs))

    def forward(self, x):
        return self.head(self.act(self.conv(self.letters(x).transpose(1, 2))).mean(2))


class Tagger(nn.Module):
    """A bidirectional recurrent layer over words, of which 0 is padding."""

    def __init__(self, size=16, cell=nn.LSTM):
        super().__init__()
        self.words = nn.Embedding(40, 12, padding_idx=0)
        self.cell, self.head = cell(12, size, batch_first=True, bidirectional=True), nn.Linear(2 * size, 5)

    def forward(self, x):
        return self.head(self.cell(self.words(x))[0]).transpose(1, 2)


class Near(nn.Module):
    """Products of word vectors and context vectors."""

    def __init__(self, words=50, size=8):
        super().__init__()
        self.word, self.other = nn.Embedding(words, size), nn.Embedding(words, size)
        for table in (self.word, self.other):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, x):
        return (self.word(x[:, 0]) * self.other(x[:, 1])).sum(1, keepdim=True)


def in_places(scores, y):
    """Return the cross entropy of the places that have a target."""
    return nn.functional.cross_entropy(scores, y, ignore_index=-100)


CROSS, BINARY, PLACES = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, criterion(in_places)
TRANSFORMER = {"optimizer": "adam of transformers", "weight_decay": 0.01}

TEXT_TASKS = {
    "letters received": task(letters_received, lambda: dense(60, 24, 1, drop=0.2), BINARY, lr=5e-3, steps=100),
    "letters received, linear": task(letters_received, lambda: nn.Linear(60, 1), BINARY, lr=3e-2, steps=100),
    "subjects": task(subjects, Mean, CROSS, lr=2e-2, steps=100),
    "sentences": task(
        sentences, lambda: Attentive(13, 13, 16, causal=True, tied=True), CROSS, lr=5e-3, steps=112, **TRANSFORMER,
    ),
    "missing words": task(gaps, lambda: Attentive(14, 13, 16, depth=2), PLACES, lr=4e-3, steps=126, **TRANSFORMER),
    "backwards": task(backwards, Translator, PLACES, lr=1e-2, steps=168),
    "names": task(names, Spelled, CROSS, lr=1e-2, steps=112),
    "names, in order": task(names, lambda: Attentive(12, 3, 8, read="mean", drop=0.1), CROSS, lr=5e-3, steps=84),
    "kinds of words": task(kinds_of_words, Tagger, PLACES, lr=1e-2, steps=126),
    "words nearby": task(neighbours, Near, BINARY, lr=2e-2, steps=140, batch=128),
}  # fmt: skip
