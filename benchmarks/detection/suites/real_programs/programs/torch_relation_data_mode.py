"""A network answers which colour the left or the right object of a small scene has.

The check of accuracy in between puts it into evaluation mode and does not set it back, so training goes on without
batch statistics and dropout (fixed: it is set back).
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
COL = np.array([[1, 0.2, 0.2], [0.2, 1, 0.2], [0.2, 0.2, 1], [1, 1, 0.2]])


def scene():
    im = rng.normal(0.3, 0.2, (3, 24, 24))
    c = rng.integers(0, 4, 2)
    for k in range(2):
        x, y = (rng.integers(1, 6) if k == 0 else rng.integers(14, 18)), rng.integers(1, 18)
        im[:, y : y + 5, x : x + 5] = COL[c[k]][:, None, None] * rng.uniform(0.5, 1) + rng.normal(0, 0.2, (3, 5, 5))
    q = rng.integers(0, 2)
    return im, q, c[q]


S = [scene() for _ in range(1400)]
images = torch.tensor(np.stack([s[0] for s in S]), dtype=torch.float32)
Q = torch.tensor([s[1] for s in S])
A = torch.tensor([s[2] for s in S])
tr = TensorDataset(images[:600], Q[:600], A[:600])
va = TensorDataset(images[900:], Q[900:], A[900:])
train_loader, val_loader = DataLoader(tr, 32, shuffle=True), DataLoader(va, 100)


class VQA(nn.Module):
    def __init__(self):
        super().__init__()

        def block(i, o, s=2):
            return [nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(s)]

        self.cnn = nn.Sequential(*block(3, 16), *block(16, 32), *block(32, 32), *block(32, 32, 1), *block(32, 32, 1))
        self.emb = nn.Embedding(2, 32)
        self.head = nn.Sequential(
            nn.Linear(32 * 9 + 32, 256),
            nn.BatchNorm1d(256),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(256, 128),
            nn.BatchNorm1d(128),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(128, 4),
        )

    def forward(self, im, q):
        return self.head(torch.cat([self.cnn(im).flatten(1), self.emb(q)], 1))


def set_mode(mode, models):
    for m in models:
        if mode == "train":
            m.train()
        if mode == "eval":
            m.eval()


def check_accuracy(model, loader):
    set_mode("eval", [model])
    good = n = 0
    with torch.no_grad():
        for im, q, a in loader:
            good += (model(im, q).argmax(1) == a).sum().item()
            n += len(a)
    if fixed:
        set_mode("train", [model])
    return good / n


model, loss_fn = VQA(), nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
set_mode("train", [model])
t = 0
while t < 420:
    for im, q, a in train_loader:
        t += 1
        opt.zero_grad()
        loss = loss_fn(model(im, q), a)
        loss.backward()
        opt.step()
        if t % 60 == 0 or t == 1:
            train_acc, val_acc = check_accuracy(model, train_loader), check_accuracy(model, val_loader)
            print(f"t {t} loss {loss.item():.4f} train_acc {train_acc:.4f} val_acc {val_acc:.4f}")
print("RESULT val_acc", round(check_accuracy(model, val_loader), 4))
