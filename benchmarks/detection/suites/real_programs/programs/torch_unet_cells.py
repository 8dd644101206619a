"""Masks of 0 and 255 go into a loss that expects 0 and 1 (fixed: divided by 255)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)


def make_sample(rng, size=32):
    """Return a picture of bright cells on a noisy background, and its mask, both of whole numbers to 255."""
    image = rng.normal(90, 25, (size, size))
    mask = np.zeros((size, size), dtype=np.uint8)
    rows, columns = np.mgrid[:size, :size]
    for _ in range(rng.integers(1, 4)):
        cy, cx, r = rng.integers(5, size - 5), rng.integers(5, size - 5), rng.integers(3, 6)
        cell = (rows - cy) ** 2 + (columns - cx) ** 2 <= r * r
        image[cell] += rng.uniform(30, 70)
        mask[cell] = 255
    return np.clip(image, 0, 255).astype(np.uint8), mask


class CellDataset(Dataset):
    """Pictures of cells and their masks."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.samples = [make_sample(rng) for _ in range(n)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        image, mask = self.samples[i]
        image = torch.from_numpy(image).float().unsqueeze(0) / 255.0
        mask = torch.from_numpy(mask).float().unsqueeze(0)
        return image, mask / 255.0 if fixed else mask


def double_conv(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    """Three levels down and two up again."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.down3 = double_conv(1, 8), double_conv(8, 16), double_conv(16, 32)
        self.pool = nn.MaxPool2d(2)
        self.up1 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.join1 = double_conv(32, 16)
        self.up2 = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.join2 = double_conv(16, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.down3(self.pool(b))
        x = self.join1(torch.cat([self.up1(c), b], 1))
        x = self.join2(torch.cat([self.up2(x), a], 1))
        return self.out(x)


train_loader = DataLoader(CellDataset(300, 0), batch_size=16, shuffle=True)
val_loader = DataLoader(CellDataset(80, 1), batch_size=16)

model = UNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for images, masks in train_loader:
        logits = model(images)
        loss = criterion(logits, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    inner = outer = 0
    with torch.no_grad():
        for images, masks in val_loader:
            predicted = torch.sigmoid(model(images)) > 0.5
            expected = masks > 0.5
            inner += (predicted & expected).sum().item()
            outer += (predicted | expected).sum().item()
    print(f"epoch {epoch + 1} loss {total / len(train_loader):.4f} val_iou {inner / outer:.4f}")

print("RESULT val_iou", inner / outer)
