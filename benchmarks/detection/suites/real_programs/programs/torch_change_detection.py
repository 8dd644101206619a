"""A small siamese network marks what is new between two pictures of the same place.

Hardly 1 % of the pixels are changed, so with an unweighted cross-entropy it finds no change anywhere
(fixed: ``pos_weight=5``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
S = 32


def pair():
    base = np.kron(rng.random((3, 8, 8)), np.ones((4, 4)))
    a = base + rng.normal(0, 0.15, (3, S, S))
    b = base * rng.uniform(0.8, 1.2) + rng.normal(0, 0.15, (3, S, S))
    m = np.zeros((S, S))
    if rng.random() < 0.7:
        y, x, h, w = rng.integers(0, 27), rng.integers(0, 27), rng.integers(2, 5), rng.integers(2, 5)
        m[y : y + h, x : x + w] = 1
        b[:, y : y + h, x : x + w] += (rng.uniform(0.2, 0.5, 3) * rng.choice([-1, 1], 3))[:, None, None]
    return a, b, m


D = [pair() for _ in range(700)]
A, B, M = (torch.tensor(np.stack([d[k] for d in D]), dtype=torch.float32) for k in range(3))
print("changed pixels:", round(M.mean().item() * 100, 2), "%")
train = DataLoader(TensorDataset(A[:550], B[:550], M[:550]), 16, shuffle=True)
val = DataLoader(TensorDataset(A[550:], B[550:], M[550:]), 50)


class ChangeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU()
        )
        self.mix = nn.Sequential(
            nn.Conv2d(24, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 1, 1),
        )

    def forward(self, a, b):
        a, b = self.enc(a), self.enc(b)
        return self.mix(torch.cat([(a - b).abs(), a * b], 1)).squeeze(1)


model = ChangeNet()
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([5.0])) if fixed else nn.BCEWithLogitsLoss()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
for epoch in range(10):
    model.train()
    tot = 0
    for a, b, m in train:
        opt.zero_grad()
        loss = criterion(model(a, b), m)
        loss.backward()
        opt.step()
        tot += loss.item()
    model.eval()
    tp = fp = fn = 0
    with torch.no_grad():
        for a, b, m in val:
            p = model(a, b) > 0
            t = m > 0
            tp += (p & t).sum().item()
            fp += (p & ~t).sum().item()
            fn += (~p & t).sum().item()
    f1 = 2 * tp / max(1, 2 * tp + fp + fn)
    acc, recall = 1 - (fp + fn) / M[550:].numel(), tp / (tp + fn)
    print(f"epoch {epoch} loss {tot / len(train):.4f} acc {acc:.4f} recall {recall:.3f} F1 {f1:.3f}")
print("RESULT f1", round(f1, 4))
