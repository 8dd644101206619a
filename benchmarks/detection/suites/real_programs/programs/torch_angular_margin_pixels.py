"""Pixels are pulled to the centre of their class by an angular margin, whose sine has a root at 0 that turns to NaN.

The cosine reaches one, and goes past it by rounding (fixed: 1 - cos² clamped to 0.0001 or more). The pictures are like
slices of a scan, exactly 0 outside the body; classes are told by the nearest centre.
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
S, CLASSES = 24, 4
TAU, MARGIN = 0.1, 0.2
COS_M, SIN_M = float(np.cos(MARGIN)), float(np.sin(MARGIN))


def scan():
    r, c = np.mgrid[0:S, 0:S]
    mask = np.zeros((S, S), np.int64)
    body = ((r - 12) / rng.uniform(7, 9.5)) ** 2 + ((c - 12) / rng.uniform(7, 9.5)) ** 2 < 1
    mask[body] = 1
    d = np.hypot(r - rng.uniform(10, 14), c - rng.uniform(10, 14))
    rad = rng.uniform(2, 3.2)
    mask[d < rad + 2] = 3
    mask[d < rad] = 2
    level = np.array([0.0, 0.45, 0.8, 0.25])
    img = level[mask] + rng.normal(0, 0.12, (S, S))
    img[mask == 0] = 0.0
    return img.astype(np.float32), mask


def make(n):
    items = [scan() for _ in range(n)]
    return torch.from_numpy(np.stack([i for i, _ in items]))[:, None], torch.from_numpy(np.stack([m for _, m in items]))


x_train, y_train = make(200)
x_test, y_test = make(80)


class PixelNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 24, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(24, 24, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(24, 8, 1),
        )

    def forward(self, x):
        f = functional.normalize(self.net(x), dim=1)
        return f.permute(0, 2, 3, 1)


def mpcl_loss(features, labels, centres):
    cosine = features @ centres.t()
    if fixed:
        sine = torch.sqrt((1.0 - torch.pow(cosine, 2)).clamp(0.0001, 1.0))
    else:
        sine = torch.sqrt(1.0 - torch.pow(cosine, 2))
    phi = cosine * COS_M - sine * SIN_M
    one_hot = functional.one_hot(labels, CLASSES).float()
    logits = (one_hot * phi + (1.0 - one_hot) * cosine) / TAU
    return functional.cross_entropy(logits, labels)


def class_means(f, y):
    return torch.stack([f[y == c].mean(0) for c in range(CLASSES)])


model = PixelNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=8, shuffle=True)
with torch.no_grad():
    centres = functional.normalize(class_means(model(x_train), y_train), dim=1)


def dice():
    model.eval()
    with torch.no_grad():
        p = (model(x_test) @ centres.t()).argmax(-1)
    scores = []
    for c in range(1, CLASSES):
        a, b = p == c, y_test == c
        scores.append(2 * (a & b).sum().item() / max((a.sum() + b.sum()).item(), 1))
    return np.mean(scores)


for epoch in range(30):
    model.train()
    total = 0.0
    for xb, yb in loader:
        features = model(xb)
        loss = mpcl_loss(features.reshape(-1, 8), yb.reshape(-1), centres)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        with torch.no_grad():
            centres = functional.normalize(0.9 * centres + 0.1 * class_means(features, yb), dim=1)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f} dice {dice():.4f}")
print("RESULT dice", f"{dice():.4f}")
