"""A small transformer encoder that is pre-trained already is fine-tuned to tell the sentiment of sentences.

A rate of 0.01 destroys it, so it gives the same answer for all sentences (fixed: 0.0005).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)
torch.set_num_threads(1)
VOCAB, LEN, D = 60, 12, 48
NOT = 3


def sentences(n, rng):
    ids = rng.integers(30, VOCAB, size=(n, LEN))
    score = np.zeros(n)
    for i in range(n):
        for p in rng.choice(np.arange(2, LEN), 3, replace=False):
            good = rng.random() < 0.5
            ids[i, p] = rng.integers(10, 20) if good else rng.integers(20, 30)
    for i in range(n):
        for p in range(1, LEN):
            if 10 <= ids[i, p] < 30:
                s = 1 if ids[i, p] < 20 else -1
                if ids[i, p - 1] >= 30 and rng.random() < 0.08:
                    ids[i, p - 1] = NOT
                score[i] += -s if ids[i, p - 1] == NOT else s
    ids[:, 0] = 1  # [CLS]
    return torch.tensor(ids), score


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, D)
        self.pos = nn.Embedding(LEN, D)
        self.norm = nn.LayerNorm(D)
        layer = nn.TransformerEncoderLayer(D, 4, 96, dropout=0.1, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)

    def forward(self, x):
        h = self.norm(self.tok(x) + self.pos.weight[None])
        return torch.tanh(self.encoder(h)[:, 0])


class Classifier(nn.Module):
    def __init__(self, bert, n):
        super().__init__()
        self.bert = bert
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(D, n)

    def forward(self, x):
        return self.classifier(self.dropout(self.bert(x)))


def run_epoch(model, loader, opt):
    model.train()
    tot = 0
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        tot += loss.item()
    return tot / len(loader)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        p = model(x).argmax(1)
    return (p == y).float().mean().item(), torch.bincount(p, minlength=2).tolist()


rng = np.random.default_rng(1)
# the "published checkpoint": trained beforehand on a large corpus with another head
bert = Bert()
x0, s0 = sentences(4000, rng)
y0 = torch.tensor(np.clip(s0, -3, 3) + 3).long()
pre = Classifier(bert, 7)
opt0 = torch.optim.Adam(pre.parameters(), 1e-3)
for _ in range(6):
    run_epoch(pre, DataLoader(TensorDataset(x0, y0), 64, shuffle=True), opt0)

# our own data set
x, s = sentences(1400, rng)
y = torch.tensor(s > 0).long()
xtr, ytr, xva, yva = x[:900], y[:900], x[900:], y[900:]
model = Classifier(bert, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4 if fixed else 0.01)
for epoch in range(6):
    loss = run_epoch(model, DataLoader(TensorDataset(xtr, ytr), 16, shuffle=True), optimizer)
    acc, counts = accuracy(model, xva, yva)
    print(f"epoch {epoch} loss {loss:.4f} val acc {acc:.4f} predicted {counts}")
print("RESULT val_accuracy", round(acc, 4))
