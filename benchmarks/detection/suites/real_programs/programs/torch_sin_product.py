"""``L1Loss`` compares outputs (N, 1) with a column taken as (N,), each with each (fixed: taken as (N, 1))."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

points = torch.randn(20000, 2)
value = torch.sin(points[:, 0] * points[:, 1]).unsqueeze(1)
data = torch.cat([points, value], dim=1)

layers = [nn.Linear(2, 64), nn.ReLU()]
for _ in range(3):
    layers += [nn.Linear(64, 64), nn.ReLU()]
layers.append(nn.Linear(64, 1))
model = nn.Sequential(*layers)

criterion = nn.L1Loss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

loader = DataLoader(data[:18000], batch_size=500, shuffle=True)
for epoch in range(60):
    total = 0.0
    for d in loader:
        pred = model(d[:, :2])
        loss = criterion(pred, d[:, 2:] if fixed else d[:, 2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}  loss {total / len(loader):.4f}")

with torch.no_grad():
    test = data[18000:]
    error = (model(test[:, :2])[:, 0] - test[:, 2]).abs().mean()
print(f"mean absolute error on new points: {error:.4f}")

print("RESULT test_mae", error.item())
