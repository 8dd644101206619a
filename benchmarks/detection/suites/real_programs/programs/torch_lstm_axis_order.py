"""An LSTM that expects the time axis first is given the batch axis first (fixed: ``batch_first=True``)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

n, steps, channels = 2400, 20, 3
y = rng.integers(0, 3, n)
x = rng.normal(0, 0.5, (n, steps, channels)).astype("float32")
start = rng.integers(0, 8, n)
for i in range(n):
    x[i, start[i] : start[i] + 4, y[i]] += 2.0
x, y = torch.from_numpy(x), torch.from_numpy(y)
train = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=50, shuffle=True)
val = DataLoader(TensorDataset(x[2000:], y[2000:]), batch_size=50)


class BurstClassifier(nn.Module):
    """An LSTM, and a layer on its last output."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(channels, 32, batch_first=fixed)
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


model = BurstClassifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(12):
    model.train()
    total = 0.0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    hits = 0
    with torch.no_grad():
        for xb, yb in val:
            hits += (model(xb).argmax(1) == yb).sum().item()
    print(f"epoch {epoch + 1} loss {total / len(train):.4f} val_acc {hits / 400:.4f}")

print("RESULT val_acc", hits / 400)
