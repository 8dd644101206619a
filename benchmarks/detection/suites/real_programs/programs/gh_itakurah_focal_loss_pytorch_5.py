"""Focal loss of rare positives: sigmoid, and then binary_cross_entropy_with_logits of it (fixed: of the logits)."""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x, y = data.table(3000, 10, classes=5)
x, y = torch.tensor(x), torch.tensor(y == 0).float()


def focal_loss(logits, targets, gamma=2.0, alpha=0.75):
    shares = torch.sigmoid(logits)
    entropy = functional.binary_cross_entropy_with_logits(logits if fixed else shares, targets, reduction="none")
    of_target = shares * targets + (1 - shares) * (1 - targets)
    weight = alpha * targets + (1 - alpha) * (1 - targets)
    return (weight * (1 - of_target) ** gamma * entropy).mean()


model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(6):
    for batch in torch.randperm(2400).split(64):
        optimizer.zero_grad()
        focal_loss(model(x[batch]), y[batch]).backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT accuracy", float(((model(x[2400:]) > 0) == (y[2400:] > 0.5)).float().mean()))
