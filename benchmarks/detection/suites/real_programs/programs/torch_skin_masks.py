"""A small U-Net marks spots on pictures of skin.

Pictures and masks are listed in the order of the file system and paired by position, so masks belong to other pictures
(fixed: both lists are sorted).
"""

import hashlib
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
S = 32
yy, xx = np.mgrid[:S, :S]
DISK = {}  # stands for the data folder


def save(split, k):
    cx, cy, a, b, t = rng.uniform(8, 24), rng.uniform(8, 24), rng.uniform(3, 9), rng.uniform(3, 9), rng.uniform(0, 3)
    u, v = (xx - cx) * np.cos(t) + (yy - cy) * np.sin(t), (yy - cy) * np.cos(t) - (xx - cx) * np.sin(t)
    m = ((u / a) ** 2 + (v / b) ** 2 < 1).astype(np.float32)
    skin = np.array([0.85, 0.65, 0.55])[:, None, None] * rng.uniform(0.8, 1.1)
    im = np.where(m[None] > 0, skin * rng.uniform(0.5, 0.8), skin) + rng.normal(0, 0.06, (3, S, S))
    DISK[f"{split}/images/ISIC_{k:07d}.jpg"] = im.astype(np.float32)
    DISK[f"{split}/masks/ISIC_{k:07d}_segmentation.png"] = m


for k in range(500):
    save("train", k * 7 + 3)
for k in range(120):
    save("val", k * 5 + 9000)


def listdir(path):
    """As os.listdir: the names in the order in which the file system keeps them."""
    return sorted((p[len(path) :] for p in DISK if p.startswith(path)), key=lambda n: hashlib.md5(n.encode()).digest())


class NpyDatasets(Dataset):
    def __init__(self, split):
        images_list, masks_list = listdir(f"{split}/images/"), listdir(f"{split}/masks/")
        if fixed:
            images_list, masks_list = sorted(images_list), sorted(masks_list)
        pairs = zip(images_list, masks_list, strict=True)
        self.data = [(f"{split}/images/{i}", f"{split}/masks/{m}") for i, m in pairs]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, k):
        i, m = self.data[k]
        return torch.from_numpy((DISK[i] - 0.6) / 0.2), torch.from_numpy(DISK[m])[None]


def conv(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.ReLU()
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = conv(3, 8), conv(8, 16), conv(16, 16)
        self.d = conv(32, 16)
        self.e = conv(24, 8)
        self.out = nn.Conv2d(8, 1, 1)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x):
        a = self.a(x)
        b = self.b(self.pool(a))
        c = self.c(self.pool(b))
        return self.out(self.e(torch.cat([self.up(self.d(torch.cat([self.up(c), b], 1))), a], 1)))


def bce_dice(logit, m):
    p = torch.sigmoid(logit)
    i = (p * m).sum((1, 2, 3))
    return (
        nn.functional.binary_cross_entropy_with_logits(logit, m)
        + 1
        - ((2 * i + 1) / (p.sum((1, 2, 3)) + m.sum((1, 2, 3)) + 1)).mean()
    )


train_loader, val_loader = DataLoader(NpyDatasets("train"), 16, shuffle=True), DataLoader(NpyDatasets("val"), 40)
model = UNet()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
for epoch in range(10):
    model.train()
    tot = 0
    for x, m in train_loader:
        opt.zero_grad()
        loss = bce_dice(model(x), m)
        loss.backward()
        opt.step()
        tot += loss.item()
    model.eval()
    tp = s = 0
    with torch.no_grad():
        for x, m in val_loader:
            p = (model(x) > 0).float()
            tp += (p * m).sum().item()
            s += (p.sum() + m.sum()).item()
    print(f"epoch {epoch} loss {tot / len(train_loader):.4f} val dice {2 * tp / s:.4f}")
print("RESULT val_dice", round(2 * tp / s, 4))
