"""A YOLO of one scale finds and names small shapes in pictures.

The head returns scores of confidence and class that went through a sigmoid already, and the loss is a
BCEWithLogitsLoss, which puts them through another (fixed: the head returns logits, and the sigmoid comes with the
evaluation).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(11)
rng = np.random.RandomState(11)

SIZE, GRID, CLASSES = 48, 6, 3
CELL = SIZE // GRID


def picture():
    img = 0.2 * rng.randn(SIZE, SIZE)
    label = np.zeros((GRID, GRID, 5 + CLASSES))
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    for _ in range(rng.randint(1, 4)):
        r = rng.uniform(3, 6)
        cx, cy = rng.uniform(6, SIZE - 6, 2)
        gx, gy = int(cx // CELL), int(cy // CELL)
        if label[max(0, gy - 1) : gy + 2, max(0, gx - 1) : gx + 2, 4].any():
            continue
        kind = rng.randint(CLASSES)
        dx, dy = abs(xx - cx), abs(yy - cy)
        mask = [dx**2 + dy**2 < r * r, (dx < r) & (dy < r), ((dx < 1.5) | (dy < 1.5)) & (dx < r) & (dy < r)][kind]
        img[mask] += rng.uniform(0.8, 1.2)
        label[gy, gx, :5] = cx / CELL - gx, cy / CELL - gy, 2 * r / SIZE, 2 * r / SIZE, 1
        label[gy, gx, 5 + kind] = 1
    return img, label


def make(n):
    imgs, labels = zip(*[picture() for _ in range(n)], strict=True)
    return torch.tensor(np.stack(imgs)).float().unsqueeze(1), torch.tensor(np.stack(labels)).float()


x_train, y_train = make(1200)
x_test, y_test = make(300)


class YoloHead(nn.Module):
    def forward(self, p):
        p = p.permute(0, 2, 3, 1)
        xy, wh = torch.sigmoid(p[..., 0:2]), torch.exp(p[..., 2:4].clamp(max=3)) * 0.2
        conf, prob = p[..., 4:5], p[..., 5:]
        if not FIXED:
            conf, prob = torch.sigmoid(conf), torch.sigmoid(prob)
        return torch.cat([xy, wh, conf, prob], -1)


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.LeakyReLU(0.1))


class Yolo(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            conv(1, 12),
            nn.MaxPool2d(2),
            conv(12, 24),
            nn.MaxPool2d(2),
            conv(24, 32),
            nn.MaxPool2d(2),
            conv(32, 48),
            nn.Conv2d(48, 5 + CLASSES, 1),
        )
        self.head = YoloHead()

    def forward(self, x):
        return self.head(self.body(x))


BCE = nn.BCEWithLogitsLoss(reduction="none")


def loss_fn(p, label):
    obj = label[..., 4:5]
    loss_box = obj * (5 * (p[..., 0:2] - label[..., 0:2]) ** 2 + 20 * (p[..., 2:4] - label[..., 2:4]) ** 2)
    loss_conf = BCE(p[..., 4:5], obj)
    loss_cls = obj * BCE(p[..., 5:], label[..., 5:])
    return (loss_box.sum() + loss_conf.sum() + loss_cls.sum()) / len(p)


model = Yolo()
optimizer = torch.optim.SGD(model.parameters(), lr=2e-3, momentum=0.9)

for epoch in range(7):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(24):
        loss = loss_fn(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch + 1} loss {total / len(x_train):.4f}")

model.eval()
with torch.no_grad():
    p = model(x_test)
    conf, prob = p[..., 4], p[..., 5:]
    if FIXED:
        conf, prob = torch.sigmoid(conf), torch.sigmoid(prob)
found = conf * prob.max(-1).values > 0.5
right = found & (y_test[..., 4] > 0) & (prob.argmax(-1) == y_test[..., 5:].argmax(-1))
f1 = 2 * right.sum().item() / (found.sum().item() + y_test[..., 4].sum().item())
print("RESULT detection_f1", f"{f1:.4f}")
