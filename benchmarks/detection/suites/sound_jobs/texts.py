"""Tasks for attention, on words, sets and columns."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from harness.parts import dense
from suites.sound_jobs.parts import ROWS, OwnLoss, Residual, Task, standard_inputs
from suites.sound_jobs.series import at_each_place, reviews, syllables, tags
from suites.sound_jobs.tables import leavers, patients

# --- data ------------------------------------------------------------------------------------------------------------


def gaps(rng):
    """Arithmetic sequences of words with two words hidden. Target: the hidden words, and -100 elsewhere."""
    start, step = rng.integers(0, 10, (ROWS, 1)), rng.integers(1, 4, (ROWS, 1))
    full = (start + step * np.arange(8)) % 10
    hidden = rng.random((ROWS, 8)).argsort(1) < 2
    return np.where(hidden, 10, full), np.where(hidden, full, -100)


def lots(rng):
    """Six digits. Target: the digits in ascending order."""
    x = rng.integers(0, 8, (ROWS, 6))
    return x, np.sort(x, axis=1)


def copies(rng):
    """Four words, a mark, and the same words again. Target: the next word at each place; -100 before the mark."""
    words = rng.integers(0, 6, (ROWS, 4))
    full = np.concatenate([words, np.full((ROWS, 1), 6), words], axis=1)
    y = full[:, 1:].copy()
    y[:, :4] = -100
    return full[:, :-1], y


def crowds(rng):
    """Ten points with a mark each. Target: the mean mark, weighted by nearness to the first point."""
    x = rng.normal(size=(ROWS, 10, 3))
    near = np.exp(-((x[:, :, :2] - x[:, :1, :2]) ** 2).sum(2))
    y = (near * x[:, :, 2]).sum(1) / near.sum(1)
    return x.astype(np.float32), (y * 2)[:, None].astype(np.float32)


# --- models ----------------------------------------------------------------------------------------------------------


class Placed(nn.Module):
    """Embeddings of words plus embeddings of places."""

    def __init__(self, words, size, places):
        super().__init__()
        self.words, self.places = nn.Embedding(words, size), nn.Parameter(torch.randn(places, size) * 0.1)

    def forward(self, x):
        return self.words(x) + self.places[: x.shape[1]]


class Encoder(nn.Module):
    """A transformer encoder over words, with scores for each place or for the mean."""

    def __init__(self, words, places, outputs, *, size=24, layers=1, mean=False, first=True, drop=0.0, act="gelu"):
        super().__init__()
        self.embedding = Placed(words, size, places)
        layer = nn.TransformerEncoderLayer(size, 2, 2 * size, drop, act, batch_first=True, norm_first=first)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head, self.mean = nn.Linear(size, outputs), mean

    def forward(self, x):
        x = self.layers(self.embedding(x))
        return self.head(x.mean(1) if self.mean else x)


class RmsNorm(nn.Module):
    """RMS normalisation."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class Attention(nn.Module):
    """Causal self-attention, with queries, keys and values from one layer."""

    def __init__(self, size, heads=2):
        super().__init__()
        self.queries, self.out, self.heads = nn.Linear(size, 3 * size, bias=False), nn.Linear(size, size), heads

    def forward(self, x):
        parts = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.queries(x).chunk(3, 2))
        seen = functional.scaled_dot_product_attention(*parts, is_causal=True)
        return self.out(seen.transpose(1, 2).flatten(2))


class Gate(nn.Module):
    """A gated feed-forward layer (SwiGLU)."""

    def __init__(self, size, hidden):
        super().__init__()
        self.gate, self.up = nn.Linear(size, hidden, bias=False), nn.Linear(size, hidden, bias=False)
        self.down = nn.Linear(hidden, size, bias=False)
        self.silu = nn.SiLU()

    def forward(self, x):
        return self.down(self.silu(self.gate(x)) * self.up(x))


class Decoder(nn.Module):
    """A small language model: RMS normalisation, causal attention and gated layers."""

    def __init__(self, words, places, size=32, blocks=2):
        super().__init__()
        self.embedding = Placed(words, size, places)
        self.blocks = nn.Sequential(*(
            part
            for _ in range(blocks)
            for part in (
                Residual(nn.Sequential(RmsNorm(size), Attention(size))),
                Residual(nn.Sequential(RmsNorm(size), Gate(size, 48))),
            )
        ))  # fmt: skip
        self.norm, self.head = RmsNorm(size), nn.Linear(size, words, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.embedding(x))))


class Asked(nn.Module):
    """Attention in which the first element is the query and all elements are keys."""

    def __init__(self, inputs=3, size=24, outputs=1):
        super().__init__()
        self.stem, self.look = dense(inputs, size, size), nn.MultiheadAttention(size, 2, batch_first=True)
        self.norm, self.rest = nn.LayerNorm(size), dense(size, size, outputs)

    def forward(self, x):
        x = self.stem(x)
        first = x[:, :1]
        return self.rest(self.norm(first + self.look(first, x, x, need_weights=False)[0])[:, 0])


class Columns(nn.Module):
    """A transformer over the columns of a table, with an additional token for the answer."""

    def __init__(self, columns, outputs, size=16):
        super().__init__()
        self.weight, self.bias = (
            nn.Parameter(torch.randn(columns, size) * 0.5),
            nn.Parameter(torch.zeros(columns, size)),
        )
        self.answer = nn.Parameter(torch.randn(1, 1, size) * 0.1)
        self.block = nn.TransformerEncoderLayer(size, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, outputs)

    def forward(self, x):
        x = x[:, :, None] * self.weight + self.bias
        x = self.block(torch.cat([self.answer.expand(len(x), -1, -1), x], 1))
        return self.head(self.norm(x[:, 0]))


class Sorted(nn.Module):
    """A transformer encoder and decoder. The decoder writes all places at once."""

    def __init__(self, words=8, places=6, size=24):
        super().__init__()
        self.embedding, self.written = nn.Embedding(words, size), nn.Parameter(torch.randn(1, places, size) * 0.3)
        self.both = nn.Transformer(size, 2, 1, 1, 48, 0.0, batch_first=True)
        self.head = nn.Linear(size, words)

    def forward(self, x):
        return self.head(self.both(self.embedding(x), self.written.expand(len(x), -1, -1)))


def kinds(scores, y):
    """Cross entropy of the kinds of patients."""
    return functional.cross_entropy(scores, y[:, 0].long())


TEXT_TASKS = {
    "gaps": Task(gaps, lambda: Encoder(11, 8, 10, size=32, layers=2), lambda: OwnLoss(at_each_place), 5e-3, 130),
    "lots": Task(lots, lambda: Encoder(8, 6, 8), lambda: OwnLoss(at_each_place), 5e-3, 100),
    "lots, written": Task(lots, Sorted, lambda: OwnLoss(at_each_place), 5e-3, 100),
    "copies": Task(copies, lambda: Decoder(7, 8), lambda: OwnLoss(at_each_place), 1e-2, 100),
    "syllables, attended": Task(syllables, lambda: Decoder(10, 14), lambda: OwnLoss(at_each_place), 5e-3),
    "tags, attended": Task(
        tags, lambda: Encoder(18, 10, 4, layers=2, drop=0.1), lambda: OwnLoss(at_each_place), 5e-3, 100
    ),
    "reviews, attended": Task(
        reviews, lambda: Encoder(24, 10, 2, mean=True, first=False, act="relu"), nn.CrossEntropyLoss, 5e-3, 100
    ),
    "crowds": Task(crowds, Asked, nn.MSELoss, 5e-3, 140),
    "patients, by column": Task(patients, lambda: Columns(8, 3), lambda: OwnLoss(kinds), 5e-3, 120),
    "leavers, by column": Task(leavers, lambda: Columns(6, 1), nn.BCEWithLogitsLoss, 1e-2, 120, standard_inputs),
}
