"""A small net segments the foreground of pictures, with a sigmoid and a mean squared error.

The pictures are divided by 255, but the masks stay at 0 and 255, which a sigmoid cannot reach (fixed: masks divided by
255 too).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(2)
np.random.seed(2)
torch.set_num_threads(1)


def picture(rng, size=32):
    yy, xx = np.mgrid[:size, :size]
    background = rng.integers(40, 200, 3)
    shade = np.clip(background + rng.uniform(-70, 70, 3), 0, 255)
    img = background[:, None, None] + rng.normal(0, 22, (3, size, size))
    cy, cx, r = rng.uniform(8, 24), rng.uniform(8, 24), rng.uniform(4, 8)
    if rng.random() < 0.5:
        mask = (yy - cy) ** 2 + (xx - cx) ** 2 < r**2
    else:
        mask = (abs(yy - cy) < r * 0.9) & (abs(xx - cx) < r * 0.9)
    stripes = 45 * np.sin(xx / 1.5 + rng.uniform(0, 6))
    img = np.where(mask, shade[:, None, None] + stripes + rng.normal(0, 22, (3, size, size)), img)
    return np.clip(img, 0, 255).astype(np.uint8), (mask * 255).astype(np.uint8)


def load(n, seed):
    rng = np.random.default_rng(seed)
    images, labels = zip(*[picture(rng) for _ in range(n)], strict=True)
    images = np.stack(images) / 255.0
    labels = np.stack(labels)[:, None].astype(np.float64)
    if fixed:
        labels = labels / 255.0
    return torch.tensor(images, dtype=torch.float32), torch.tensor(labels, dtype=torch.float32)


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1, self.enc2 = block(3, 12), block(12, 24)
        self.mid = block(24, 24)
        self.dec = block(24 + 12, 12)
        self.out = nn.Conv2d(12, 1, 1)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")

    def forward(self, x):
        a = self.enc1(x)
        b = self.mid(self.enc2(self.pool(a)))
        return torch.sigmoid(self.out(self.dec(torch.cat([self.up(b), a], 1))))


xtr, ytr = load(600, 1)
xte, yte = load(150, 2)
model = SegNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
mse = nn.MSELoss()

for episode in range(12):
    model.train()
    order = torch.randperm(len(xtr))
    total = 0.0
    for i in range(0, len(xtr), 20):
        idx = order[i : i + 20]
        optimizer.zero_grad()
        loss = mse(model(xtr[idx]), ytr[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        pred, truth = model(xte) > 0.5, yte > 0
        iou = ((pred & truth).sum((1, 2, 3)) / (pred | truth).sum((1, 2, 3)).clamp(min=1)).mean().item()
    print(f"episode {episode + 1} loss {total / len(xtr):.4f} test IoU {iou:.4f}")
print("RESULT test_IoU", f"{iou:.4f}")
