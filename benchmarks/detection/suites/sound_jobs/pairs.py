"""Tasks of comparison: similarity, preference and retrieval."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from harness.parts import dense
from suites.sound_jobs.parts import ROWS, OwnLoss, Task

# --- data ------------------------------------------------------------------------------------------------------------


def _people(rng, kinds):
    """Return noisy sights of people whose faces are ten numbers each."""
    faces = np.random.default_rng(int(rng.integers(1 << 30))).normal(size=(12, 10)) * 1.3
    return (faces[kinds] + 0.7 * rng.normal(size=(*kinds.shape, 10))).astype(np.float32)


def triplets(rng):
    """Three sights: two of one person and one of another. Target: the persons."""
    first = rng.integers(0, 12, 3 * ROWS)
    kinds = np.stack([first, first, (first + rng.integers(1, 12, 3 * ROWS)) % 12], axis=1)
    return _people(rng, kinds), kinds


def couples(rng):
    """Two sights. Target: whether they are of one person."""
    first, same = rng.integers(0, 12, 3 * ROWS), rng.random(3 * ROWS) < 0.5
    kinds = np.stack([first, np.where(same, first, (first + rng.integers(1, 12, 3 * ROWS)) % 12)], axis=1)
    return _people(rng, kinds), same.astype(np.float32)


def persons(rng):
    """A sight. Target: one of twelve persons."""
    kinds = rng.integers(0, 12, ROWS)
    return _people(rng, kinds), kinds


def captions(rng):
    """An image and its caption, generated from the same latent values. The target is not used."""
    things = rng.normal(size=(ROWS, 4))
    parts = [np.tanh(things @ rng.normal(size=(4, 8))) + 0.1 * rng.normal(size=(ROWS, 8)) for _ in range(2)]
    return np.stack(parts, axis=1).astype(np.float32), np.zeros(ROWS, np.float32)


def duels(rng):
    """Two of thirty players, of whom the first one won. The target is not used."""
    strength = rng.normal(size=30) * 1.5
    x = np.stack([rng.integers(0, 30, 2 * ROWS), rng.integers(0, 29, 2 * ROWS)], axis=1)
    x[:, 1] += x[:, 1] >= x[:, 0]
    lost = rng.random(2 * ROWS) > 1 / (1 + np.exp(strength[x[:, 1]] - strength[x[:, 0]]))
    x[lost] = x[lost, ::-1]
    return x, np.ones(2 * ROWS, np.float32)


def searches(rng):
    """A query and five documents, each of six numbers. Target: the relevance of each document."""
    x = rng.normal(size=(ROWS, 6, 6))
    fits = (x[:, :1] * x[:, 1:])[:, :, :4].sum(2)
    return x.astype(np.float32), np.digitize(fits, [-1.5, 0.5, 2]).astype(np.float32)


def baskets(rng):
    """A customer, an article that was bought, and one that was not. The target is always 1."""
    tastes, kinds = rng.normal(size=(30, 3)), rng.normal(size=(25, 3))
    scores, who = tastes @ kinds.T, rng.integers(0, 30, 2 * ROWS)
    pair = rng.integers(0, 25, (2 * ROWS, 2))
    better = np.take_along_axis(scores[who], pair, 1)
    pair = np.take_along_axis(pair, (-better).argsort(1), 1)
    return np.column_stack([who, pair]), np.ones(2 * ROWS, np.float32)


def neighbours(rng):
    """A word, one that stands near it, and four random words. Words stand near others of their topic."""
    word = rng.integers(0, 24, 2 * ROWS)
    near = word % 4 + 4 * rng.integers(0, 6, 2 * ROWS)
    return np.column_stack([word, near, rng.integers(0, 24, (2 * ROWS, 4))]), np.zeros(2 * ROWS, np.int64)


# --- models ----------------------------------------------------------------------------------------------------------


class Shared(nn.Module):
    """One encoder for several items. With `normed`, its outputs have length one."""

    def __init__(self, encoder, normed=True):
        super().__init__()
        self.encoder, self.normed = encoder, normed

    def forward(self, x):
        x = self.encoder(x.flatten(0, 1)).view(*x.shape[:2], -1)
        return functional.normalize(x, dim=2) if self.normed else x


class Towers(nn.Module):
    """One network for images, one for captions, and a learned temperature."""

    def __init__(self):
        super().__init__()
        self.picture, self.caption = dense(8, 32, 12), dense(8, 32, 12, act=nn.Tanh)
        self.heat = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        both = [functional.normalize(codes, dim=1) for codes in (self.picture(x[:, 0]), self.caption(x[:, 1]))]
        return both[0] @ both[1].T * self.heat.exp()


class Alike(nn.Module):
    """One score from the difference of two encoded items."""

    def __init__(self):
        super().__init__()
        self.encoder, self.head = dense(10, 32, 12, norm=nn.BatchNorm1d), nn.Linear(12, 1)

    def forward(self, x):
        first, second = self.encoder(x.flatten(0, 1)).view(len(x), 2, -1).unbind(1)
        return self.head((first - second).abs()).squeeze(1)


class Strengths(nn.Module):
    """The difference of two players' strengths."""

    def __init__(self, players=30):
        super().__init__()
        self.strength = nn.Embedding(players, 1)
        nn.init.zeros_(self.strength.weight)

    def forward(self, x):
        return (self.strength(x[:, 0]) - self.strength(x[:, 1])).squeeze(1)


class Search(nn.Module):
    """A score for each document, given the query."""

    def __init__(self):
        super().__init__()
        self.query, self.document = dense(6, 24, 8), dense(6, 24, 8)

    def forward(self, x):
        return (self.query(x[:, :1]) * self.document(x[:, 1:])).sum(2)


class Wanted(nn.Module):
    """The difference of a customer's preferences for two articles."""

    def __init__(self, size=6):
        super().__init__()
        self.who, self.what = nn.Embedding(30, size), nn.Embedding(25, size)
        for table in (self.who, self.what):
            nn.init.normal_(table.weight, std=0.3)

    def forward(self, x):
        return (self.who(x[:, 0]) * (self.what(x[:, 1]) - self.what(x[:, 2]))).sum(1)


class Near(nn.Module):
    """Products of a word vector with the vectors of possible neighbours."""

    def __init__(self, words=24, size=8):
        super().__init__()
        self.word, self.near = nn.Embedding(words, size), nn.Embedding(words, size)
        for table in (self.word, self.near):
            nn.init.normal_(table.weight, std=0.4)

    def forward(self, x):
        return (self.near(x[:, 1:]) @ self.word(x[:, :1]).transpose(1, 2)).squeeze(2)


class Cosines(nn.Module):
    """Cosines with a direction for each class, times eight."""

    def __init__(self):
        super().__init__()
        self.encoder, self.classes = dense(10, 32, 16), nn.Parameter(torch.randn(12, 16))

    def forward(self, x):
        return 8 * functional.normalize(self.encoder(x), dim=1) @ functional.normalize(self.classes, dim=1).T


# --- losses ----------------------------------------------------------------------------------------------------------


def nearer(codes, _):
    """Triplet loss with a margin of one half."""
    return functional.triplet_margin_loss(*codes.unbind(1), margin=0.5)


def both_ways(scores, _):
    """Cross entropy of finding the caption of each image and the image of each caption."""
    right = torch.arange(len(scores))
    return (functional.cross_entropy(scores, right) + functional.cross_entropy(scores.T, right)) / 2


def supervised(codes, kinds):
    """Supervised contrastive loss over the batch."""
    codes, kinds = codes.flatten(0, 1), kinds.flatten()
    same = (kinds[:, None] == kinds).float().fill_diagonal_(0)
    scores = (codes @ codes.T / 0.3).masked_fill(torch.eye(len(codes), dtype=torch.bool), -1e9)
    return -((scores.log_softmax(1) * same).sum(1) / same.sum(1).clamp(min=1)).mean()


def pulled(codes, same):
    """Contrastive loss: equal pairs are pulled together, others are pushed one apart."""
    far = (codes[:, 0] - codes[:, 1]).norm(dim=1)
    return (same * far**2 + (1 - same) * (1 - far).clamp(min=0) ** 2).mean()


def won(scores, _):
    """Logistic loss of the first one winning."""
    return functional.softplus(-scores).mean()


def hinge(scores, y):
    """Hinge loss of the first one being better by one."""
    return functional.margin_ranking_loss(scores, torch.zeros_like(scores), y, margin=1.0)


def listed(scores, gains):
    """Cross entropy with the softmax of the relevances."""
    return -(gains.softmax(1) * scores.log_softmax(1)).sum(1).mean()


def sampled(scores, _):
    """Binary cross entropy of the near word (the first) and the random words."""
    return functional.softplus(-scores[:, 0]).mean() + functional.softplus(scores[:, 1:]).sum(1).mean()


PAIR_TASKS = {
    "triplets": Task(triplets, lambda: Shared(dense(10, 32, 8)), lambda: OwnLoss(nearer)),
    "triplets, all at once": Task(
        triplets, lambda: Shared(dense(10, 32, 12, act=nn.GELU)), lambda: OwnLoss(supervised)
    ),
    "couples": Task(couples, Alike, nn.BCEWithLogitsLoss, 1e-2, 120),
    "couples, pulled": Task(couples, lambda: Shared(dense(10, 24, 6), normed=False), lambda: OwnLoss(pulled)),
    "persons": Task(persons, Cosines, nn.CrossEntropyLoss, 5e-3),
    "captions": Task(captions, Towers, lambda: OwnLoss(both_ways), 1e-2, 100),
    "duels": Task(duels, Strengths, lambda: OwnLoss(won), 5e-2, 100),
    "searches": Task(searches, Search, lambda: OwnLoss(listed), 1e-2, 120),
    "baskets": Task(baskets, Wanted, lambda: OwnLoss(hinge), 2e-2, 140),
    "neighbours": Task(neighbours, Near, lambda: OwnLoss(sampled), 3e-2, 120),
}
