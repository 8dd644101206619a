"""A small U-Net is to find faint specks, less than 1 % of the pixels, with a loss that weighs all pixels alike.

It takes everything for background (fixed: weights of 1 and 12 for the two classes).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
S = 32


def picture():
    img = rng.normal(120, 14, (S, S))
    img += 20 * np.sin(np.arange(S) / rng.uniform(2, 6) + rng.uniform(0, 6))[None]
    mask = np.zeros((S, S), np.int64)
    for _ in range(rng.randint(1, 3)):
        r, c = rng.randint(1, S - 3, 2)
        mask[r : r + 3, c : c + 2] = 1
    img[mask == 1] += 34
    return np.clip(img, 0, 255).astype(np.float32), mask


def make(n):
    items = [picture() for _ in range(n)]
    x = torch.from_numpy(np.stack([i for i, _ in items]))[:, None]
    return (x - 120) / 25, torch.from_numpy(np.stack([m for _, m in items]))


x_train, y_train = make(300)
x_val, y_val = make(150)
print("share of object pixels", y_train.float().mean().item())


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.e1 = nn.Sequential(conv(1, 12), conv(12, 12))
        self.e2 = nn.Sequential(nn.MaxPool2d(2), conv(12, 24))
        self.up = nn.Upsample(scale_factor=2)
        self.d1 = nn.Sequential(conv(36, 12), nn.Conv2d(12, 2, 1))

    def forward(self, x):
        a = self.e1(x)
        return self.d1(torch.cat([a, self.up(self.e2(a))], 1))


criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 12.0])) if fixed else nn.CrossEntropyLoss()

model = UNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=8, shuffle=True)


def evaluate():
    model.eval()
    with torch.no_grad():
        p = model(x_val).argmax(1)
    inter = ((p == 1) & (y_val == 1)).sum().item()
    union = ((p == 1) | (y_val == 1)).sum().item()
    return inter / max(union, 1), (p == y_val).float().mean().item()


for epoch in range(12):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    iou, acc = evaluate()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: aAcc {acc:.4f} IoU {iou:.4f}")
print("RESULT object_iou", f"{evaluate()[0]:.4f}")
