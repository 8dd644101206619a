"""Half of the pictures are mirrored, their boxes are not (fixed: both are)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
SIZE = 32


def picture(rng):
    image = rng.normal(0.2, 0.1, (SIZE, SIZE)).astype("float32")
    w, h = rng.integers(6, 14, 2)
    left, top = rng.integers(0, SIZE - w), rng.integers(0, SIZE - h)
    kind = rng.integers(0, 2)
    patch = np.ones((h, w), dtype="float32") * rng.uniform(0.6, 1.0)
    if kind == 1:
        patch[2:-2, 2:-2] = 0.0
    image[top : top + h, left : left + w] += patch
    box = np.array([left + w / 2, top + h / 2, w, h], dtype="float32") / SIZE
    return image, box, kind


class BoxDataset(Dataset):
    """Pictures of one object, its box as centre and size, and its kind."""

    def __init__(self, n, seed, augment=False):
        rng = np.random.default_rng(seed)
        self.items = [picture(rng) for _ in range(n)]
        self.augment = augment

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, box, kind = self.items[i]
        image = torch.from_numpy(image).unsqueeze(0)
        box = torch.from_numpy(box).clone()
        if self.augment and torch.rand(1).item() < 0.5:
            image = torch.flip(image, dims=[2])
            if fixed:
                box[0] = 1.0 - box[0]
        return image, box, kind


class Detector(nn.Module):
    """Three convolutions, and a head each for the box and for the kind."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 16, 64),
            nn.ReLU(),
        )
        self.box = nn.Linear(64, 4)
        self.kind = nn.Linear(64, 2)

    def forward(self, x):
        features = self.features(x)
        return torch.sigmoid(self.box(features)), self.kind(features)


def overlap(a, b):
    a_low, a_high = a[:, :2] - a[:, 2:] / 2, a[:, :2] + a[:, 2:] / 2
    b_low, b_high = b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2
    inner = (torch.minimum(a_high, b_high) - torch.maximum(a_low, b_low)).clamp(min=0).prod(1)
    return inner / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - inner)


train_loader = DataLoader(BoxDataset(1000, 0, augment=True), batch_size=32, shuffle=True)
val_loader = DataLoader(BoxDataset(300, 1), batch_size=100)
net = Detector()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(12):
    net.train()
    box_total = kind_total = 0.0
    for image, box, kind in train_loader:
        box_out, kind_out = net(image)
        box_loss = functional.smooth_l1_loss(box_out, box, beta=0.1)
        kind_loss = functional.cross_entropy(kind_out, kind)
        loss = 5 * box_loss + kind_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        box_total += box_loss.item()
        kind_total += kind_loss.item()
    net.eval()
    overlaps = []
    with torch.no_grad():
        for image, box, _ in val_loader:
            box_out, _ = net(image)
            overlaps.append(overlap(box_out, box))
    miou = torch.cat(overlaps).mean().item()
    n = len(train_loader)
    print(f"epoch {epoch + 1} box {box_total / n:.4f} kind {kind_total / n:.4f} val_miou {miou:.4f}")

print("RESULT val_miou", miou)
