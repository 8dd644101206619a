"""A trunk and an embedder learn by a triplet loss, are loaded again and look up nearest neighbours.

The loaded networks stay in training mode, so that batch normalisation uses the statistics of each batch (fixed: eval()
on trunk and embedder before the embeddings are computed).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)


def make_trunk():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    )


def make_embedder():
    return nn.Linear(256, 32)


def triplet_loss(embeddings, labels, margin=0.2):
    dist = torch.cdist(embeddings, embeddings)
    same = labels[:, None] == labels[None, :]
    positive = same & ~torch.eye(len(labels), dtype=torch.bool)
    gap = dist[:, :, None] - dist[:, None, :] + margin
    valid = positive[:, :, None] & ~same[:, None, :]
    losses = functional.relu(gap[valid])
    return losses.sum() / (losses > 0).sum().clamp(min=1)


def train(images, labels):
    trunk, embedder = make_trunk(), make_embedder()
    optimizer = torch.optim.Adam(list(trunk.parameters()) + list(embedder.parameters()), lr=1e-3)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images, labels), batch_size=48, shuffle=True, drop_last=True
    )
    for epoch in range(1, 9):
        trunk.train()
        embedder.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = triplet_loss(functional.normalize(embedder(trunk(x))), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}  loss {total / len(loader):.4f}")
    return trunk.state_dict(), embedder.state_dict()


def test(weights, gallery, query):
    trunk, embedder = make_trunk(), make_embedder()
    trunk.load_state_dict(weights[0])
    embedder.load_state_dict(weights[1])
    if FIXED:
        trunk.eval()
        embedder.eval()

    def embed(images):
        loader = torch.utils.data.DataLoader(images, batch_size=16)
        with torch.no_grad():
            return torch.cat([functional.normalize(embedder(trunk(x))) for x in loader])

    order = torch.cdist(embed(query[0]), embed(gallery[0])).argsort(1)
    hits = (gallery[1][order] == query[1][:, None]).float()
    average_precision = []
    for row in hits:
        r = int(row.sum())
        precision = row[:r].cumsum(0) / torch.arange(1, r + 1)
        average_precision.append((precision * row[:r]).sum().item() / r)
    return hits[:, 0].mean().item(), float(np.mean(average_precision))


digits = load_digits()
images = torch.from_numpy(digits.images / 16.0).float().unsqueeze(1)
labels = torch.from_numpy(digits.target).long()
train_idx, query_idx = train_test_split(np.arange(len(labels)), test_size=0.3, random_state=0, stratify=digits.target)
# the queries are read folder by folder
query_idx = query_idx[np.argsort(digits.target[query_idx], kind="stable")]

weights = train(images[train_idx], labels[train_idx])
precision, map_at_r = test(weights, (images[train_idx], labels[train_idx]), (images[query_idx], labels[query_idx]))
print(f"precision at 1: {precision:.4f}")
print("RESULT map_at_r", f"{map_at_r:.4f}")
