"""A small ShuffleNet sorts pictures of textures, which lie in one folder per class, into six kinds.

The training loader reads the folders with shuffle=False, so every batch shows a single class, and the weights and batch
statistics follow whichever class came last (fixed: shuffle=True).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
classes = ["checks", "dots", "rings", "stripes", "waves", "weave"]


class TextureFolder(Dataset):
    """Reads like an image folder: all pictures of the first class, then of the second and so on."""

    def __init__(self, per_class, seed):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[0:16, 0:16]
        self.samples = []
        for label, name in enumerate(classes):
            for _ in range(per_class):
                f, p, q = rng.uniform(0.9, 1.4), *rng.uniform(0, 6.28, 2)
                if name == "checks":
                    z = np.sign(np.sin(f * xx + p) * np.sin(f * yy + q))
                elif name == "dots":
                    z = 2.0 * (np.sin(f * xx + p) + np.sin(f * yy + q) > 1.2) - 0.5
                elif name == "rings":
                    z = np.sin(f * np.hypot(yy - 8 - np.cos(p) * 4, xx - 8 - np.cos(q) * 4))
                elif name == "stripes":
                    z = np.sin(f * (xx * np.cos(p) + yy * np.sin(p)) + q)
                elif name == "waves":
                    z = np.sin(f * yy + 2 * np.sin(0.5 * xx + p) + q)
                else:
                    z = np.where((xx // 3 + yy // 3) % 2 == 0, np.sin(f * 2 * xx + p), np.sin(f * 2 * yy + q))
                picture = z[None] * rng.uniform(0.6, 1.2, (3, 1, 1)) + rng.normal(0, 0.5, (3, 16, 16))
                self.samples.append((picture.astype("float32"), label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        picture, label = self.samples[i]
        return torch.from_numpy(picture), label


def channel_shuffle(x, groups=2):
    n, c, h, w = x.shape
    return x.view(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)


class ShuffleBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.branch = nn.Sequential(
            nn.Conv2d(half, half, 1, bias=False),
            nn.BatchNorm2d(half),
            nn.ReLU(inplace=True),
            nn.Conv2d(half, half, 3, padding=1, groups=half, bias=False),
            nn.BatchNorm2d(half),
            nn.Conv2d(half, half, 1, bias=False),
            nn.BatchNorm2d(half),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        return channel_shuffle(torch.cat([a, self.branch(b)], dim=1))


class ShuffleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(3, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU(inplace=True)
        )
        self.stage1 = nn.Sequential(ShuffleBlock(24), ShuffleBlock(24))
        self.down = nn.Sequential(
            nn.Conv2d(24, 48, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(48), nn.ReLU(inplace=True)
        )
        self.stage2 = ShuffleBlock(48)
        self.classifier = nn.Linear(48, len(classes))

    def forward(self, x):
        x = self.stage2(self.down(self.stage1(self.first(x))))
        return self.classifier(x.mean(dim=(2, 3)))


train_loader = DataLoader(TextureFolder(160, seed=1), batch_size=40, shuffle=FIXED)
val_loader = DataLoader(TextureFolder(50, seed=2), batch_size=100, shuffle=False)
model = ShuffleNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=4e-5)
epochs = 8
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / (epochs * len(train_loader) + 1))

for epoch in range(epochs):
    model.train()
    for i, (data, target) in enumerate(train_loader):
        loss = criterion(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if i % 12 == 11:
            print(f"TRAIN Iter {epoch * len(train_loader) + i + 1}: loss = {loss.item():.6f}")
    model.eval()
    hits = 0
    with torch.no_grad():
        for data, target in val_loader:
            hits += (model(data).argmax(1) == target).sum().item()
    print(f"TEST epoch {epoch + 1}: Top-1 err = {1 - hits / len(val_loader.dataset):.4f}")

print("RESULT top1_accuracy", f"{hits / len(val_loader.dataset):.4f}")
