"""A learning rate schedule meant for epochs is stepped after every batch (fixed: after every epoch)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(4)
rng = np.random.default_rng(4)

# 16x16 pictures of a square, a disc, a cross or a ring, with pixel noise
SIZE = 16
grid_y, grid_x = np.mgrid[0:SIZE, 0:SIZE]


def draw(kind):
    cy, cx = rng.uniform(6, 10, 2)
    r = rng.uniform(3, 5)
    dy, dx = np.abs(grid_y - cy), np.abs(grid_x - cx)
    dist = np.hypot(dy, dx)
    if kind == 0:
        shape = (dy < r) & (dx < r)
    elif kind == 1:
        shape = dist < r
    elif kind == 2:
        shape = ((dy < 1.2) & (dx < r)) | ((dx < 1.2) & (dy < r))
    else:
        shape = np.abs(dist - r) < 1.0
    return shape * rng.uniform(0.6, 1.0) + rng.normal(0, 0.15, (SIZE, SIZE))


def dataset(n):
    labels = rng.integers(0, 4, n)
    images = np.stack([draw(k) for k in labels])[:, None]
    return TensorDataset(torch.tensor(images, dtype=torch.float32), torch.tensor(labels))


train_set, val_set = dataset(3200), dataset(400)
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
val_loader = DataLoader(val_set, batch_size=200)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(16 * 4 * 4, 32),
    nn.ReLU(),
    nn.Linear(32, 4),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.2)

for epoch in range(12):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        if not fixed:
            scheduler.step()
        total += loss.item() * len(xb)
    if fixed:
        scheduler.step()

    model.eval()
    with torch.no_grad():
        hits = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in val_loader)
    val_acc = hits / len(val_set)
    print(f"epoch {epoch + 1:2d} loss {total / len(train_set):.4f} val_acc {val_acc:.4f}")

print("RESULT val_acc", val_acc)
