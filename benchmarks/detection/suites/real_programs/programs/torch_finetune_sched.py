"""The training loop of a finetuning tutorial is used for longer, on own pictures.

``StepLR`` divides the learning rate by 10 every 3 epochs, so it is near zero long before the end (fixed: every 30).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(9)
rng = np.random.RandomState(9)
S = 16


def shapes(n):
    x = 0.35 * rng.randn(n, 1, S, S)
    y = rng.randint(0, 4, n)
    yy, xx = np.mgrid[:S, :S]
    for i in range(n):
        cx, cy = rng.uniform(5, 11, 2)
        r = rng.uniform(2.5, 4.5)
        dx, dy = np.abs(xx - cx), np.abs(yy - cy)
        if y[i] == 0:
            m = dx**2 + dy**2 < r**2
        elif y[i] == 1:
            m = np.maximum(dx, dy) < r * 0.9
        elif y[i] == 2:
            m = (dx + dy) < r * 1.25
        else:
            m = (dx < 1.2) & (dy < r) | (dy < 1.2) & (dx < r)
        x[i, 0] += m * rng.uniform(0.7, 1.2)
    return torch.tensor(x).float(), torch.tensor(y)


x, y = shapes(1200)
xv, yv = shapes(400)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(16 * 16, 48),
    nn.ReLU(),
    nn.Linear(48, 4),
)

params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(params, lr=0.005, momentum=0.9, weight_decay=0.0005)
# and a learning rate scheduler which decreases the learning rate by 10x
lr_scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30 if fixed else 3, gamma=0.1)
num_epochs = 40


def train_one_epoch():
    model.train()
    perm = torch.randperm(len(x))
    s = 0
    for i in range(0, len(x), 32):
        b = perm[i : i + 32]
        loss = nn.functional.cross_entropy(model(x[b]), y[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        s += loss.item() * len(b)
    return s / len(x)


for epoch in range(num_epochs):
    train_loss = train_one_epoch()
    lr = optimizer.param_groups[0]["lr"]
    lr_scheduler.step()
    model.eval()
    with torch.no_grad():
        acc = (model(xv).argmax(1) == yv).float().mean().item()
    if epoch % 4 == 0 or epoch == num_epochs - 1:
        print(f"Epoch: [{epoch}]  lr: {lr:.6f}  loss: {train_loss:.4f}  acc: {acc:.3f}")
print("RESULT val_accuracy", f"{acc:.4f}")
