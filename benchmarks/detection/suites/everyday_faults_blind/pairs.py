"""Tasks on relations: recommendation, similarity, graphs."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from harness.parts import column, dense
from suites.everyday_faults_blind.parts import ROWS, criterion, task

# --- data ------------------------------------------------------------------------------------------------------------


def ratings(rng):
    """A viewer and a film. Target: the number of stars."""
    viewers, films = rng.integers(0, 40, 6 * ROWS), rng.integers(0, 25, 6 * ROWS)
    stars = 3.2 + 0.7 * (rng.normal(size=(40, 3))[viewers] * rng.normal(size=(25, 3))[films]).sum(1)
    stars += 0.6 * rng.normal(size=25)[films] + 0.3 * rng.normal(size=len(films))
    return np.stack([viewers, films], 1), column(stars.round().clip(1, 5))


def playlists(rng):
    """A listener, a song that was heard and a song that was not. The target is not used."""
    tastes, songs = rng.normal(size=(30, 3)), rng.normal(size=(40, 3))
    who, pair = rng.integers(0, 30, 5 * ROWS), rng.integers(0, 40, (5 * ROWS, 2))
    worth = (tastes[who][:, None] * songs[pair]).sum(2) + 0.3 * rng.gumbel(size=pair.shape)
    pair = np.where((worth[:, :1] > worth[:, 1:]), pair, pair[:, ::-1])
    return np.column_stack([who, pair]), np.ones((5 * ROWS, 1), np.float32)


def offers(rng):
    """Six offers, each with five features. Target: the offer that is taken."""
    x = rng.normal(size=(ROWS, 6, 5))
    worth = x[:, :, 0] + np.tanh(2 * x[:, :, 1]) * x[:, :, 2] - 0.5 * x[:, :, 3] ** 2
    return x.astype(np.float32), (2 * worth + 0.3 * rng.gumbel(size=worth.shape)).argmax(1)


def _writers(rng, count):
    hands = np.random.default_rng(11).normal(size=(8, 12))
    who = rng.integers(0, 8, count)
    return hands[who] * 1.1 + 0.6 * rng.normal(size=(count, 12)), who


def signatures(rng):
    """Pairs of signatures. Target: whether one person wrote both."""
    (left, first), (right, second) = _writers(rng, 8 * ROWS), _writers(rng, 8 * ROWS)
    same, other = np.flatnonzero(first == second)[: ROWS // 2], np.flatnonzero(first != second)[: ROWS // 2]
    chosen = rng.permutation(np.concatenate([same, other]))
    return np.stack([left, right], 1)[chosen].astype(np.float32), (first == second)[chosen].astype(np.float32)


def hands(rng):
    """Three signatures, of which one person wrote the first two. The target is not used."""
    x, who = _writers(rng, 6 * ROWS)
    rows = [np.flatnonzero(who == hand) for hand in range(8)]
    mine, others = rng.integers(0, 8, ROWS), rng.integers(1, 8, ROWS)
    places = [[*rng.choice(rows[a], 2), rng.choice(rows[(a + b) % 8])] for a, b in zip(mine, others, strict=True)]
    return x[np.array(places)].astype(np.float32), np.zeros(ROWS, np.float32)


def views(rng):
    """Two noisy views of the same thing. The target is not used."""
    mixing = rng.normal(size=(5, 16))
    thing = rng.normal(size=(ROWS, 1, 5))
    return (thing @ mixing + 0.8 * rng.normal(size=(ROWS, 2, 16))).astype(np.float32), np.zeros(ROWS, np.float32)


def calls(rng):
    """Twelve measures of a call. Target: one of eight birds."""
    x, who = _writers(rng, ROWS)
    return x.astype(np.float32), who


def molecules(rng):
    """Graphs of nine atoms: adjacency and one of four kinds. Target: whether two atoms of kind 0 are bound."""
    kind, bound = rng.integers(0, 4, (ROWS, 9)), np.triu(rng.random((ROWS, 9, 9)) < 0.25, 1)
    bound = bound | bound.transpose(0, 2, 1)
    zero = kind == 0
    y = (bound & zero[:, :, None] & zero[:, None]).any((1, 2))
    return np.concatenate([bound, np.eye(4)[kind]], 2).astype(np.float32), column(y)


def papers(rng):
    """Graphs of eight papers in three fields, which mostly quote their own field. Target: the field of each paper."""
    field = rng.integers(0, 3, (ROWS, 8))
    same = field[:, :, None] == field[:, None]
    quoted = np.triu(rng.random(same.shape) < np.where(same, 0.8, 0.1), 1)
    words = np.eye(3)[field] @ np.random.default_rng(3).normal(size=(3, 6)) * 0.8 + rng.normal(size=(ROWS, 8, 6))
    return np.concatenate([quoted | quoted.transpose(0, 2, 1), words], 2).astype(np.float32), field


# --- models ----------------------------------------------------------------------------------------------------------


class Taste(nn.Module):
    """Matrix factorisation with a bias for each viewer, each film and all together."""

    def __init__(self, size=6, begin=3.2):
        super().__init__()
        self.viewer, self.film = nn.Embedding(40, size), nn.Embedding(25, size)
        self.mood, self.fame = nn.Embedding(40, 1), nn.Embedding(25, 1)
        self.usual = nn.Parameter(torch.tensor(begin))
        for table in (self.viewer, self.film, self.mood, self.fame):
            nn.init.normal_(table.weight, std=0.2)

    def forward(self, x):
        viewer, film = x.unbind(1)
        product = (self.viewer(viewer) * self.film(film)).sum(1, keepdim=True)
        return product + self.mood(viewer) + self.fame(film) + self.usual


class Heard(nn.Module):
    """The difference between the scores of the song that was heard and the other one."""

    def __init__(self, size=6):
        super().__init__()
        self.who, self.song = nn.Embedding(30, size), nn.Embedding(40, size)
        self.drop = nn.Dropout(0.0)

    def forward(self, x):
        song = self.song(x[:, 1:])
        return (self.who(x[:, 0]) * self.drop(song[:, 0] - song[:, 1])).sum(1, keepdim=True)


class Rated(nn.Module):
    """A score for each of several offers."""

    def __init__(self, inputs=5, act=nn.ReLU):
        super().__init__()
        self.score = dense(inputs, 32, 32, 1, act=act)

    def forward(self, x):
        return self.score(x)[:, :, 0]


class Seen(nn.Module):
    """One encoder for all items of a pair or triple. With `unit`, its vectors have length one."""

    def __init__(self, inputs=12, size=8, unit=False, norm=None):
        super().__init__()
        self.encoder, self.unit = dense(inputs, 32, size, norm=norm), unit

    def forward(self, x):
        codes = self.encoder(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return nn.functional.normalize(codes, dim=2) if self.unit else codes


class Angles(nn.Module):
    """Cosines with a direction for each class, times a factor."""

    def __init__(self, outputs=8, factor=12.0):
        super().__init__()
        self.encoder, self.classes = dense(12, 32, 10), nn.Parameter(torch.randn(outputs, 10))
        self.factor = factor

    def forward(self, x):
        codes, classes = (nn.functional.normalize(vectors, dim=1) for vectors in (self.encoder(x), self.classes))
        return self.factor * codes @ classes.T


class Messages(nn.Module):
    """Two rounds of messages between the nodes of a graph.

    Args:
        inputs: Number of features of a node. They follow the columns of the adjacency.
        outputs: Number of outputs.
        per_node: Whether there are outputs for each node instead of the graph.
        size: Size of the state of a node.
    """

    def __init__(self, inputs, outputs, per_node=False, size=24):
        super().__init__()
        self.own = nn.ModuleList([nn.Linear(inputs, size), nn.Linear(size, size)])
        self.told = nn.ModuleList([nn.Linear(inputs, size, bias=False), nn.Linear(size, size, bias=False)])
        self.head, self.per_node = nn.Linear(size, outputs), per_node

    def forward(self, x):
        bound, known = x[:, :, : x.shape[1]], x[:, :, x.shape[1] :]
        share = bound / bound.sum(2, keepdim=True).clamp(min=1) if self.per_node else bound
        for own, told in zip(self.own, self.told, strict=True):
            known = torch.relu(own(known) + share @ told(known))
        return self.head(known).transpose(1, 2) if self.per_node else self.head(known.amax(1))


# --- losses ----------------------------------------------------------------------------------------------------------


def heard(score, _):
    """Return the logistic loss of ranking the song that was heard first."""
    return -nn.functional.logsigmoid(score).mean()


def apart(codes, same):
    """Return the contrastive loss: equal pairs are pulled together, others are pushed 2 apart."""
    distance = (codes[:, 0] - codes[:, 1]).square().sum(1).add(1e-6).sqrt()
    return (same * distance**2 + (1 - same) * (2 - distance).clamp(min=0) ** 2).mean()


def triple(codes, _):
    """Return the triplet loss with a margin of one half."""
    return nn.functional.triplet_margin_loss(*codes.unbind(1), margin=0.5)


def found_again(codes, _, heat=0.2):
    """Return the cross entropy of finding the other view in the batch, in both directions."""
    scores = codes[:, 0] @ codes[:, 1].T / heat
    right = torch.arange(len(scores))
    return (nn.functional.cross_entropy(scores, right) + nn.functional.cross_entropy(scores.T, right)) / 2


CROSS, BINARY, SQUARE = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.MSELoss

PAIR_TASKS = {
    "stars given": task(ratings, Taste, SQUARE, lr=2e-2, steps=168, batch=128, weight_decay=1e-4),
    "playlists": task(playlists, Heard, criterion(heard), lr=2e-2, steps=140, batch=128),
    "offers": task(offers, Rated, CROSS, lr=5e-3, steps=126),
    "signatures": task(signatures, Seen, criterion(apart), lr=5e-3, steps=112),
    "hands": task(hands, lambda: Seen(unit=True), criterion(triple), lr=5e-3, steps=98),
    "views": task(views, lambda: Seen(16, unit=True, norm=nn.BatchNorm1d), criterion(found_again), lr=5e-3, steps=98),
    "calls": task(calls, Angles, CROSS, lr=1e-2, steps=98),
    "molecules": task(molecules, lambda: Messages(4, 1), BINARY, lr=1e-2, steps=140),
    "papers": task(papers, lambda: Messages(6, 3, per_node=True), CROSS, lr=5e-3, steps=98),
}
