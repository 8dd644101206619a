"""Tests run in training mode, on batches of a single class (fixed: in evaluation mode)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)
t = np.linspace(0, 1, 96)


def bump(centre, width, height):
    return height * np.exp(-((t - centre) ** 2) / (2 * width**2))


def beat(kind):
    shift = np.random.uniform(-0.05, 0.05)
    if kind == 0:
        signal = bump(0.25 + shift, 0.03, 0.3) + bump(0.45 + shift, 0.015, 1.5) + bump(0.7 + shift, 0.05, 0.5)
    elif kind == 1:
        signal = bump(0.35 + shift, 0.05, 1.4) + bump(0.65 + shift, 0.06, -0.5)
    elif kind == 2:
        signal = 0.4 * np.sin(2 * np.pi * (7 * t + np.random.rand())) + bump(0.45 + shift, 0.015, 1.2)
    else:
        signal = bump(0.38 + shift, 0.006, 1.5) + bump(0.45 + shift, 0.03, 1.0) + bump(0.7 + shift, 0.05, 0.4)
    return signal * np.random.uniform(0.8, 1.2) + 0.15 * np.random.randn(96) + np.random.uniform(-0.1, 0.1)


def make_set(n):
    x = np.stack([beat(kind) for kind in range(4) for _ in range(n)])
    return TensorDataset(torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(np.repeat(np.arange(4), n)))


train_loader = DataLoader(make_set(300), batch_size=32, shuffle=True)
test_loader = DataLoader(make_set(100), batch_size=32)


def block(inputs, outputs):
    return nn.Sequential(nn.Conv1d(inputs, outputs, 5, padding=2), nn.BatchNorm1d(outputs), nn.ReLU(), nn.MaxPool1d(2))


model = nn.Sequential(
    block(1, 16),
    block(16, 32),
    block(32, 32),
    nn.Flatten(),
    nn.Linear(32 * 12, 64),
    nn.BatchNorm1d(64),
    nn.ReLU(),
    nn.Dropout(0.3),
    nn.Linear(64, 4),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def evaluate(loader):
    if fixed:
        model.eval()
    correct, n, total = 0, 0, 0.0
    with torch.no_grad():
        for xb, yb in loader:
            output = model(xb)
            total += criterion(output, yb).item() * len(yb)
            correct += (output.argmax(1) == yb).sum().item()
            n += len(yb)
    return total / n, correct / n


for epoch in range(10):
    model.train()
    total, n = 0.0, 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(yb)
        n += len(yb)
    test_loss, acc = evaluate(test_loader)
    print(f"epoch {epoch + 1} loss {total / n:.4f} test_loss {test_loss:.4f} test_acc {acc:.4f}")

print("RESULT test_acc", acc)
