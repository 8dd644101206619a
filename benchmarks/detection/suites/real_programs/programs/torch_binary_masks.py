"""An encoder-decoder marks bright blobs in colour pictures, whose masks are black and white.

The masks are read as whole numbers, and 255 is replaced by 21, as for 22 classes, while the binary cross-entropy wants
0 and 1 (fixed: the masks are read as 0 to 1).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(3)
rng = np.random.default_rng(3)
SIZE = 32


def make(count):
    images = np.zeros((count, SIZE, SIZE, 3), np.uint8)
    masks = np.zeros((count, SIZE, SIZE), np.uint8)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    for k in range(count):
        base = rng.uniform(60, 150, 3) + np.zeros((SIZE, SIZE, 3))
        base += (rng.uniform(-30, 30) * xx / SIZE + rng.uniform(-30, 30) * yy / SIZE)[..., None]
        mask = np.zeros((SIZE, SIZE), bool)
        for _ in range(rng.integers(1, 4)):
            cx, cy = rng.uniform(6, SIZE - 6, 2)
            a, b = rng.uniform(4, 9, 2)
            mask |= ((xx - cx) / a) ** 2 + ((yy - cy) / b) ** 2 < 1
        base[mask] += rng.uniform([15, 10, -10], [45, 40, 20])
        base += rng.normal(0, 14, base.shape)
        images[k] = np.clip(base, 0, 255).astype(np.uint8)
        masks[k] = mask * np.uint8(255)
    return images, masks


def to_tensor(a):
    t = torch.from_numpy(a.astype(np.float32) / 255)
    return t.permute(2, 0, 1) if t.dim() == 3 else t.unsqueeze(0)


def to_label(a):
    return torch.from_numpy(a.astype(np.int64)).unsqueeze(0)


def relabel(t, old, new):
    t[t == old] = new
    return t


class Masks(Dataset):
    def __init__(self, images, masks):
        self.images, self.masks = images, masks

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = (to_tensor(self.images[i]) - 0.45) / 0.2
        target = to_tensor(self.masks[i]) if FIXED else relabel(to_label(self.masks[i]), 255, 21).float()
        return image, target


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc1, self.enc2, self.enc3 = block(3, 8), block(8, 16), block(16, 16)
        self.dec2, self.dec1 = block(32, 16), block(24, 8)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)
        self.final = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(self.pool(a))
        c = self.enc3(self.pool(b))
        d = self.dec2(torch.cat([self.up(c), b], 1))
        return self.final(self.dec1(torch.cat([self.up(d), a], 1)))


train_loader = DataLoader(Masks(*make(400)), batch_size=16, shuffle=True)
val_loader = DataLoader(Masks(*make(100)), batch_size=50)
model = SegNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

iou = 0.0
for epoch in range(10):
    model.train()
    total = 0.0
    for image, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(image), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    inter = union = 0
    with torch.no_grad():
        for image, target in val_loader:
            pred, true = torch.sigmoid(model(image)) > 0.5, target > 0
            inter += (pred & true).sum().item()
            union += (pred | true).sum().item()
    iou = inter / union
    print(f"epoch {epoch + 1}  loss {total / len(train_loader):.4f}  val IoU {iou:.4f}")
print("RESULT val_iou", f"{iou:.4f}")
