"""A network for tables encodes each number column by its own small encoder and predicts house prices from them.

In front of each encoder is a layer normalisation over the column's one value. The normalisation of a single value is
always zero, so nothing of a column gets through and all houses have one price (fixed: batch normalisation of the
column).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(42)
rng = np.random.default_rng(42)

n = 2000
rooms = rng.integers(2, 9, n)
area = rooms * 18 + rng.normal(0, 12, n)
age = rng.uniform(0, 80, n)
distance = rng.exponential(6, n)
income = rng.normal(45, 12, n)
price = (
    2.1 * area + 3.0 * income - 0.9 * age - 80 * np.tanh(distance / 8) + 0.02 * (age - 40) ** 2 + rng.normal(0, 12, n)
)
x = torch.tensor(np.stack([rooms, area, age, distance, income], 1), dtype=torch.float32)
y = torch.tensor((price - price[:1600].mean()) / price[:1600].std(), dtype=torch.float32)[:, None]
train_x, train_y, val_x, val_y = x[:1600], y[:1600], x[1600:], y[1600:]


class NumberEncoder(nn.Module):
    def __init__(self, size=8):
        super().__init__()
        self.norm = nn.BatchNorm1d(1) if FIXED else nn.LayerNorm(1)
        self.dense = nn.Linear(1, size)

    def forward(self, column):
        return torch.relu(self.dense(self.norm(column)))


class PriceModel(nn.Module):
    def __init__(self, columns=5):
        super().__init__()
        self.encoders = nn.ModuleList(NumberEncoder() for _ in range(columns))
        self.combiner = nn.Sequential(nn.Linear(8 * columns, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.decoder = nn.Linear(32, 1)

    def forward(self, x):
        parts = [encoder(x[:, i : i + 1]) for i, encoder in enumerate(self.encoders)]
        return self.decoder(self.combiner(torch.cat(parts, dim=1)))


model = PriceModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()


def evaluate():
    model.eval()
    with torch.no_grad():
        return criterion(model(val_x), val_y).item()


for epoch in range(30):
    model.train()
    order = torch.randperm(len(train_x))
    total = 0.0
    for start in range(0, len(order), 64):
        idx = order[start : start + 64]
        loss = criterion(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} train {total / len(order):.4f} val {evaluate():.4f}")

print("RESULT val_mse", f"{evaluate():.4f}")
