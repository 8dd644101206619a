"""A GRU and layers with ReLU tell the sentiment of short reviews.

Adam's learning rate of 0.2 is too high, so units die and the output is constant (fixed: 0.002).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
np.random.seed(9)
torch.manual_seed(9)

VOCAB, LEN = 120, 16
tone = np.zeros(VOCAB)
tone[1:16] = 1
tone[16:31] = -1
NOT = 31


def reviews(n):
    x = np.random.randint(32, VOCAB, (n, LEN))
    y = np.random.randint(0, 2, n)
    for i in range(n):
        for p in np.random.choice(LEN - 1, 3, replace=False):
            good = (y[i] == 1) == (np.random.rand() < 0.88)
            word = np.random.randint(1, 16) if good else np.random.randint(16, 31)
            x[i, p] = word
        x[i, LEN - 1] = 0
    return torch.from_numpy(x), torch.from_numpy(y)


class SentimentNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 24)
        self.rnn = nn.GRU(24, 32, batch_first=True)
        self.fc1 = nn.Linear(32, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 2)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        h = functional.relu(self.fc1(h.mean(1)))
        h = functional.relu(self.fc2(h))
        return self.fc3(h)


xtr, ytr = reviews(1800)
xva, yva = reviews(600)
model = SentimentNet()
lr = 0.002 if fixed else 0.2
optimizer = torch.optim.Adam(model.parameters(), lr=lr)

for epoch in range(12):
    model.train()
    perm = torch.randperm(len(xtr))
    total, hits = 0.0, 0
    for k in range(0, len(xtr), 60):
        idx = perm[k : k + 60]
        out = model(xtr[idx])
        loss = functional.cross_entropy(out, ytr[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        hits += (out.argmax(1) == ytr[idx]).sum().item()
    model.eval()
    with torch.no_grad():
        acc = (model(xva).argmax(1) == yva).float().mean().item()
    print(f"epoch {epoch} loss {total / 30:.4f} train acc {hits / len(xtr):.4f} val acc {acc:.4f}")

print("RESULT val_accuracy", f"{acc:.4f}")
