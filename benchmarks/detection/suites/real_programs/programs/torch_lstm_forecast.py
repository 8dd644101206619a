"""An LSTM takes the batch for time (fixed: ``batch_first=True``)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)

LENGTH, AHEAD = 24, 4


def make_windows(n):
    """Return waves of random period and phase, and the value that comes four steps later."""
    t = np.arange(LENGTH + AHEAD)
    period = np.random.uniform(8, 20, (n, 1))
    phase = np.random.uniform(0, 2 * np.pi, (n, 1))
    series = np.sin(2 * np.pi * t / period + phase) + 0.05 * np.random.randn(n, len(t))
    series = series.astype(np.float32)
    return torch.from_numpy(series[:, :LENGTH, None]), torch.from_numpy(series[:, -1:])


x_train, y_train = make_windows(2000)
x_test, y_test = make_windows(400)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)


class Forecaster(nn.Module):
    """A recurrent layer, and a linear one on its last output."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 48, batch_first=fixed)
        self.fc = nn.Linear(48, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1, :])


model = Forecaster()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(15):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * xb.size(0)
    model.eval()
    with torch.no_grad():
        mse = loss_fn(model(x_test), y_test).item()
    print(f"epoch {epoch + 1} loss {total / len(x_train):.4f} test_mse {mse:.4f}")

print("RESULT test_mse", mse)
