"""A segmentation network with a squeeze-and-excitation block marks the bright organ in noisy CT slices.

It has binary cross-entropy on logits. Its last layer ends in a ReLU, so that no logit can say background and the
output dies at zero, a loss of 0.693 (fixed: no activation after the last convolution).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(3)
rng = np.random.default_rng(1)


def make_slice(size=32):
    yy, xx = np.mgrid[:size, :size]
    image = np.where((yy - 16) ** 2 / 210 + (xx - 16) ** 2 / 180 < 1, 0.45, 0.05)
    mask = np.zeros((size, size))
    for _ in range(3):
        cy, cx, r = rng.uniform(8, 24), rng.uniform(8, 24), rng.uniform(2, 3)
        image[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = 0.25
    cy, cx, a, b = rng.uniform(10, 22), rng.uniform(10, 22), rng.uniform(3, 5), rng.uniform(3, 5)
    organ = (yy - cy) ** 2 / a**2 + (xx - cx) ** 2 / b**2 < 1
    image[organ], mask[organ] = 0.75, 1.0
    return image + rng.normal(0, 0.12, image.shape), mask


slices = [make_slice() for _ in range(400)]
x = torch.tensor(np.stack([s[0] for s in slices]), dtype=torch.float32)[:, None]
y = torch.tensor(np.stack([s[1] for s in slices]), dtype=torch.float32)[:, None]
x = (x - 0.35) / 0.25
train_x, train_y, val_x, val_y = x[:320], y[:320], x[320:], y[320:]


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU())


class ConvReLU(nn.Module):
    def __init__(self, cin, cout, kernel, relu=True):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, kernel, padding=kernel // 2)
        self.relu = nn.ReLU() if relu else nn.Identity()

    def forward(self, x):
        return self.relu(self.conv(x))


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1, self.enc2 = block(1, 16), block(16, 32)
        self.squeeze = nn.Sequential(nn.Linear(32, 8), nn.ReLU(), nn.Linear(8, 32), nn.Sigmoid())
        self.dec = block(48, 16)
        self.final = ConvReLU(16, 1, 1, relu=not FIXED)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(functional.max_pool2d(e1, 2))
        e2 = e2 * self.squeeze(e2.mean((2, 3)))[:, :, None, None]
        up = functional.interpolate(e2, scale_factor=2, mode="bilinear", align_corners=False)
        return self.final(self.dec(torch.cat([up, e1], 1)))


model = SegNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def dice():
    model.eval()
    with torch.no_grad():
        pred = (torch.sigmoid(model(val_x)) > 0.5).float()
    return (2 * (pred * val_y).sum() / (pred.sum() + val_y.sum() + 1e-6)).item()


for epoch in range(8):
    model.train()
    order = torch.randperm(len(train_x))
    total = 0.0
    for start in range(0, len(order), 16):
        idx = order[start : start + 16]
        loss = criterion(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch + 1} train loss {total / len(order):.4f} val dice {dice():.4f}")

print("RESULT val_dice", f"{dice():.4f}")
