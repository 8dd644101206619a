"""A node encoder and a small edge net tell which pairs of detector hits belong to the same track.

The edge net detaches the features of the nodes, so that no gradient reaches the encoder, which keeps its random weights
(fixed: not detached).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(7)
rng = np.random.default_rng(7)


def make_event():
    """Hits on circular tracks through the origin, pairs of near hits, and whether they are of one track."""
    hits, ids = [], []
    for t in range(rng.integers(4, 7)):
        phi, curve = rng.uniform(0, 2 * np.pi), rng.uniform(-0.9, 0.9)
        r = np.linspace(0.2, 1.0, 9)
        a = phi + curve * r + rng.normal(0, 0.01, r.size)
        hits.append(np.stack([r * np.cos(a), r * np.sin(a), r], 1))
        ids += [t] * r.size
    hits, ids = np.concatenate(hits), np.array(ids)
    dist = np.linalg.norm(hits[:, None, :2] - hits[None, :, :2], axis=-1)
    i, j = np.where(np.triu(dist < 0.45, 1))
    return (
        torch.tensor(hits * 1.7 - [0, 0, 1.0], dtype=torch.float32),
        torch.tensor(np.stack([i, j])),
        torch.tensor((ids[i] == ids[j]).astype(np.float32)),
    )


class Encoder(nn.Module):
    def __init__(self, features=3, width=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 16)
        )

    def forward(self, x):
        return self.net(x)


class EdgeNet(nn.Module):
    def __init__(self, features=16, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x, edges):
        if not FIXED:
            x = x.detach()
        return self.net((x[edges[0]] - x[edges[1]]).abs()).squeeze(1)


def collate(events):
    xs, es, ys, offset = [], [], [], 0
    for x, e, y in events:
        xs.append(x)
        es.append(e + offset)
        ys.append(y)
        offset += len(x)
    return torch.cat(xs), torch.cat(es, 1), torch.cat(ys)


train = [make_event() for _ in range(400)]
test = collate([make_event() for _ in range(100)])
encoder, edge_net = Encoder(), EdgeNet()
optimizer = torch.optim.AdamW(list(encoder.parameters()) + list(edge_net.parameters()), lr=2e-3)
criterion = nn.BCEWithLogitsLoss()
print(f"share of true edges {test[2].mean().item():.3f}")

acc = 0.0
for epoch in range(25):
    order = rng.permutation(len(train))
    total = steps = 0
    for k in range(0, len(train), 8):
        x, edges, y = collate([train[i] for i in order[k : k + 8]])
        optimizer.zero_grad()
        loss = criterion(edge_net(encoder(x), edges), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        steps += 1
    with torch.no_grad():
        out = edge_net(encoder(test[0]), test[1])
        val = criterion(out, test[2]).item()
        acc = ((out > 0).float() == test[2]).float().mean().item()
    if (epoch + 1) % 5 == 0:
        print(f"epoch {epoch + 1}  train loss {total / steps:.4f}  val loss {val:.4f}  edge accuracy {acc:.4f}")
print("RESULT edge_accuracy", f"{acc:.4f}")
