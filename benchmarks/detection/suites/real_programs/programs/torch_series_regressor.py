"""A convolutional network predicts one number, the use of energy, from a window of several sensors.

It has AdamW, batches of 16 and a one-cycle schedule. The outputs have shape (16, 1) and the targets (16,), so the
loss compares each output with each target (fixed: the targets get the second axis).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
n, channels, length = 700, 6, 32

t = np.arange(length)
phase, speed = rng.uniform(0, 6.28, (n, channels, 1)), rng.uniform(0.1, 0.6, (n, channels, 1))
level, size = rng.randn(n, channels, 1), rng.uniform(0.2, 1.5, (n, channels, 1))
X = level + size * np.sin(speed * t + phase) + rng.randn(n, channels, length) * 0.1
y = level[:, 0, 0] + 0.7 * level[:, 1, 0] - level[:, 2, 0] + size[:, 3, 0] + rng.randn(n) * 0.1
y = (y - y[:550].mean()) / y[:550].std()
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
if FIXED:
    y = y.unsqueeze(1)
train_dl = DataLoader(TensorDataset(X[:550], y[:550]), batch_size=16, shuffle=True)
valid_dl = DataLoader(TensorDataset(X[550:], y[550:]), batch_size=64)


def block(a, b, k):
    return nn.Sequential(nn.Conv1d(a, b, k, padding=k // 2, bias=False), nn.BatchNorm1d(b), nn.ReLU())


model = nn.Sequential(
    block(channels, 32, 7), block(32, 48, 5), block(48, 32, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 1)
)
criterion = nn.MSELoss()
epochs = 12
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=epochs * len(train_dl))

for epoch in range(epochs):
    model.train()
    losses = []
    for xb, yb in train_dl:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        preds = torch.cat([model(xb) for xb, _ in valid_dl]).flatten()
    target = y[550:].flatten()
    r2 = 1 - ((preds - target) ** 2).sum().item() / ((target - target.mean()) ** 2).sum().item()
    print(f"epoch {epoch} train loss {np.mean(losses):.4f} valid r2 {r2:.4f}")

print("RESULT r2", f"{r2:.4f}")
