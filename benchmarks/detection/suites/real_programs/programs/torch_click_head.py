"""A ranking model with embeddings of users and items and a few dense columns says whether an item is clicked.

Its binary output ends in a sigmoid and has ``BCEWithLogitsLoss`` as its loss, which applies a second one, so that
nothing counts as less likely than a half (fixed: ``BCELoss``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(5)
rng = np.random.default_rng(5)

USERS, ITEMS, DENSE = 60, 40, 6


def make_log(n):
    users, items = rng.integers(0, USERS, n), rng.integers(0, ITEMS, n)
    dense = rng.normal(0, 1, (n, DENSE))
    score = (taste[users] * topic[items]).sum(1) + dense @ effect - 1.2
    clicked = rng.random(n) < 1 / (1 + np.exp(-2 * score))
    return (
        torch.tensor(np.stack([users, items], 1)),
        torch.tensor(dense, dtype=torch.float32),
        torch.tensor(clicked[:, None], dtype=torch.float32),
    )


taste, topic, effect = rng.normal(0, 1, (USERS, 3)), rng.normal(0, 0.7, (ITEMS, 3)), rng.normal(0, 0.6, DENSE)
train = make_log(6000)
valid = make_log(1500)


class BinaryOutput(nn.Module):
    default_loss = nn.BCELoss if FIXED else nn.BCEWithLogitsLoss

    def __init__(self, dim):
        super().__init__()
        self.to_call = nn.Sequential(nn.Linear(dim, 1), nn.Sigmoid())
        self.loss = self.default_loss()

    def forward(self, x):
        return self.to_call(x)


class Model(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.user = nn.Embedding(USERS, dim)
        self.item = nn.Embedding(ITEMS, dim)
        self.bottom = nn.Sequential(nn.Linear(DENSE, dim), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(4 * dim, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.output = BinaryOutput(32)

    def forward(self, ids, dense):
        u, i, d = self.user(ids[:, 0]), self.item(ids[:, 1]), self.bottom(dense)
        return self.output(self.top(torch.cat([u, i, d, u * i], dim=1)))


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(*train), batch_size=64, shuffle=True)
for epoch in range(6):
    model.train()
    losses = []
    for ids, dense, target in loader:
        optimizer.zero_grad()
        loss = model.output.loss(model(ids, dense), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        prob = model(valid[0], valid[1])
        logloss = nn.functional.binary_cross_entropy(prob, valid[2]).item()
        hit = (prob > 0.5) == (valid[2] > 0.5)
        recall = (hit & (valid[2] > 0.5)).sum().item() / valid[2].sum().item()
    print(
        f"epoch {epoch + 1}  loss {np.mean(losses):.4f}  valid log loss {logloss:.4f}"
        f"  accuracy {hit.float().mean():.4f}  recall {recall:.4f}"
    )
print("RESULT valid_log_loss", f"{logloss:.4f}")
