"""A small AlexNet tells two kinds of pets apart in colour pictures.

Adam with a rate of 0.01 takes steps that are too large, and the network gives the same answer for all pictures
(fixed: SGD with 0.01 and momentum).
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
yy, xx = np.mgrid[:S, :S]


def picture(dog):
    im = rng.random(3)[:, None, None] * 0.3 + rng.normal(0, 0.08, (3, S, S))
    cx, cy, r = rng.uniform(13, 19), rng.uniform(15, 20), rng.uniform(6.5, 8.5)
    fur = rng.uniform(0.6, 1, 3)[:, None, None]
    head = ((xx - cx) / r) ** 2 + ((yy - cy) / (r * (1.15 if dog else 0.95))) ** 2 < 1
    m = head.copy()
    for s in (-1, 1):
        ex = cx + s * r * 0.8
        if dog:
            m |= ((xx - ex - s * 2) / (r * 0.3)) ** 2 + ((yy - cy) / (r * 0.8)) ** 2 < 1
        else:
            m |= (np.abs(xx - ex) < (yy - (cy - r * 1.5)) * 0.45) & (yy < cy - r * 0.2) & (yy > cy - r * 1.5)
    return np.where(m[None], fur + rng.normal(0, 0.08, (3, S, S)), im)


lab = rng.integers(0, 2, 1000)
X = torch.tensor(np.stack([picture(kind) for kind in lab]), dtype=torch.float32)
X = (X - X.mean((0, 2, 3), keepdim=True)) / X.std((0, 2, 3), keepdim=True)
Y = torch.tensor(lab)
train = DataLoader(TensorDataset(X[:800], Y[:800]), batch_size=16, shuffle=True)


class AlexNet(nn.Module):
    def __init__(self, num_classes=2):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(24, 48, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(48, 96, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(96, 64, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(64, 64, 3, padding=1),
            nn.ReLU(inplace=True),
        )
        self.classifier = nn.Sequential(
            nn.Dropout(),
            nn.Linear(64 * 16, 256),
            nn.ReLU(inplace=True),
            nn.Dropout(),
            nn.Linear(256, 256),
            nn.ReLU(inplace=True),
            nn.Linear(256, num_classes),
        )

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


net, crit = AlexNet(), nn.CrossEntropyLoss()
sgd, adam = torch.optim.SGD, torch.optim.Adam
opt = sgd(net.parameters(), lr=0.01, momentum=0.9) if fixed else adam(net.parameters(), lr=0.01)
for epoch in range(25):
    net.train()
    tot = 0
    for x, y in train:
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(X[800:]).argmax(1) == Y[800:]).float().mean().item()
    print(f"epoch {epoch} loss {tot / len(train):.4f} val acc {acc:.3f}")
print("RESULT val_accuracy", round(acc, 4))
