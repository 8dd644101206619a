"""A small encoder-decoder labels each pixel of street scenes with one of four classes.

There are random flips, shifts, turns and zooms for training. Only the pictures are transformed and the label maps
stay as they were, so pixels learn other pixels' classes (fixed: the label maps go through the same transform).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
SIZE = 32


def make_scene():
    colours = np.array([[0.45, 0.6, 0.8], [0.35, 0.35, 0.38], [0.7, 0.4, 0.3], [0.2, 0.65, 0.3]])
    label = np.zeros((SIZE, SIZE), dtype=np.int64)
    horizon = rng.integers(12, 22)
    label[horizon:, :] = 1
    for _ in range(rng.integers(1, 3)):
        left, width, height = rng.integers(0, 24), rng.integers(5, 10), rng.integers(6, 12)
        label[max(0, horizon - height) : horizon, left : left + width] = 2
    for _ in range(rng.integers(1, 3)):
        cy, cx, r = rng.integers(8, 26), rng.integers(4, 28), rng.integers(3, 6)
        yy, xx = np.mgrid[:SIZE, :SIZE]
        label[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = 3
    image = colours[label] + rng.normal(0, 0.12, (SIZE, SIZE, 3)) + rng.normal(0, 0.05, 3)
    return image.transpose(2, 0, 1).astype(np.float32), label


scenes = [make_scene() for _ in range(360)]
images = torch.tensor(np.stack([s[0] for s in scenes])) * 2 - 1
labels = torch.tensor(np.stack([s[1] for s in scenes]))
train_images, train_labels = images[:280], labels[:280]
test_images, test_labels = images[280:], labels[280:]


def random_transforms(n):
    theta = torch.zeros(n, 2, 3)
    for i in range(n):
        flip = -1.0 if rng.random() < 0.5 else 1.0
        angle, scale, shift = 0.0, 1.0, np.zeros(2)
        if rng.random() < 0.7:
            angle = np.deg2rad(rng.uniform(-30, 30))
            scale = rng.uniform(0.9, 1.1)
            shift = rng.uniform(-0.2, 0.2, 2)
        if rng.random() < 0.5:
            scale *= np.sqrt(rng.uniform(0.8, 1.0))
        c, s = scale * np.cos(angle), scale * np.sin(angle)
        theta[i] = torch.tensor([[flip * c, -s, shift[0]], [flip * s, c, shift[1]]])
    return theta


def augment(batch_images, batch_labels):
    theta = random_transforms(len(batch_images))
    grid = functional.affine_grid(theta, (len(batch_images), 1, SIZE, SIZE), align_corners=False)
    batch_images = functional.grid_sample(batch_images, grid, padding_mode="reflection", align_corners=False)
    if FIXED:
        maps = functional.grid_sample(
            batch_labels[:, None].float(), grid, mode="nearest", padding_mode="reflection", align_corners=False
        )
        batch_labels = maps[:, 0].round().long()
    return batch_images, batch_labels


class Segmenter(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.down = nn.Sequential(
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
        )
        self.head = nn.Sequential(nn.Conv2d(48, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, classes, 1))

    def forward(self, x):
        fine = self.stem(x)
        coarse = functional.interpolate(self.down(fine), scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(torch.cat([fine, coarse], dim=1))


model = Segmenter()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()


def mean_iou():
    model.eval()
    with torch.no_grad():
        pred = model(test_images).argmax(1)
    scores = []
    for c in range(4):
        both = ((pred == c) & (test_labels == c)).sum().item()
        either = ((pred == c) | (test_labels == c)).sum().item()
        scores.append(both / max(either, 1))
    return float(np.mean(scores))


for epoch in range(11):
    model.train()
    order = torch.randperm(len(train_images))
    total = 0.0
    for start in range(0, len(order), 16):
        idx = order[start : start + 16]
        x, y = augment(train_images[idx], train_labels[idx])
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch + 1} loss {total / len(order):.4f} mean IoU {mean_iou():.4f}")

print("RESULT mean_iou", f"{mean_iou():.4f}")
