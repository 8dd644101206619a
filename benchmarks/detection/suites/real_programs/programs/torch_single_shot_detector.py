"""A small single-shot detector finds shapes of three kinds in pictures of 24 x 24 pixels, in batches of 64.

The learning rate was not raised with the batch size and is far too low for the few updates that are left (fixed: raised
along with the batch size).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
SIZE, GRID = 24, 3
CELL = SIZE // GRID


def scenes(n):
    images = rng.normal(0.3, 0.08, size=(n, 1, SIZE, SIZE)).astype(np.float32)
    kinds, boxes = rng.integers(0, 3, size=n), np.empty((n, 4), dtype=np.float32)
    for i, k in enumerate(kinds):
        h, w = rng.integers(7, 12, size=2)
        y0, x0 = rng.integers(0, SIZE - h + 1), rng.integers(0, SIZE - w + 1)
        patch = images[i, 0, y0 : y0 + h, x0 : x0 + w]
        if k == 0:
            patch += 0.4
        elif k == 1:
            patch[::2] += 0.4
        else:
            patch[:, ::2] += 0.4
        boxes[i] = y0 + h / 2, x0 + w / 2, h, w
    return torch.tensor((images - 0.35) / 0.17), torch.tensor(kinds), torch.tensor(boxes)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 24, 3, padding=1),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(24, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
        )
        self.cls = nn.Conv2d(32, 4, 1)
        self.reg = nn.Conv2d(32, 4, 1)

    def forward(self, x):
        f = self.backbone(x)
        return self.cls(f).flatten(2).transpose(1, 2), self.reg(f).flatten(2).transpose(1, 2)


def encode(boxes):
    """Cell of the centre, and the offsets of the box against that cell."""
    row, col = (boxes[:, 0] / CELL).long().clamp(max=GRID - 1), (boxes[:, 1] / CELL).long().clamp(max=GRID - 1)
    t = torch.stack(
        [
            boxes[:, 0] / CELL - row - 0.5,
            boxes[:, 1] / CELL - col - 0.5,
            (boxes[:, 2] / 9.0).log() * 5,
            (boxes[:, 3] / 9.0).log() * 5,
        ],
        1,
    )
    return row * GRID + col, t


def detect(net, x):
    with torch.no_grad():
        cls, reg = net(x)
    prob = cls.softmax(-1)[..., 1:]
    score, kind = prob.max(-1)
    cell = score.argmax(1)
    rows = torch.arange(len(x))
    t = reg[rows, cell]
    box = torch.stack(
        [
            (t[:, 0] + cell // GRID + 0.5) * CELL,
            (t[:, 1] + cell % GRID + 0.5) * CELL,
            9 * (t[:, 2] / 5).exp(),
            9 * (t[:, 3] / 5).exp(),
        ],
        1,
    )
    return kind[rows, cell], box


def iou(a, b):
    lo = torch.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    hi = torch.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    inter = (hi - lo).clamp(min=0).prod(1)
    return inter / (a[:, 2:].prod(1) + b[:, 2:].prod(1) - inter)


batch_size = 64
lr = 2e-2 if FIXED else 2e-4
loader = DataLoader(TensorDataset(*scenes(2560)), batch_size=batch_size, shuffle=True)
x_test, k_test, b_test = scenes(500)
net = Detector()
optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
for epoch in range(10):
    net.train()
    total = 0.0
    for x, kind, box in loader:
        cls, reg = net(x)
        cell, t = encode(box)
        rows = torch.arange(len(x))
        target = torch.zeros(len(x), GRID * GRID, dtype=torch.long)
        target[rows, cell] = kind + 1
        loss_c = functional.cross_entropy(cls.reshape(-1, 4), target.reshape(-1), reduction="sum") / len(x)
        loss_l = functional.smooth_l1_loss(reg[rows, cell], t, reduction="sum") / len(x)
        loss = loss_c + loss_l
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    net.eval()
    kind, box = detect(net, x_test)
    hit = ((kind == k_test) & (iou(box, b_test) > 0.5)).float().mean().item()
    print(f"epoch {epoch + 1:2d} loss {total / 2560:.4f} found {hit:.4f}")
print("RESULT found", f"{hit:.4f}")
