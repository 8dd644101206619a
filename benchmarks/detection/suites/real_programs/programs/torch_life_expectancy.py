"""Gradients are computed, but no optimizer steps (fixed: SGD)."""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(777)
rng = np.random.default_rng(777)

height = rng.uniform(1.0, 7.0, size=60)
weight = height + rng.uniform(0.3, 1.5, size=60)
life = 1.8 * height + 1.1 * weight + 0.9 + rng.normal(0, 0.1, size=60)

x = torch.tensor(np.stack([height, weight], axis=1), dtype=torch.float32)
y = torch.tensor(life, dtype=torch.float32).view(-1, 1)

model = nn.Linear(2, 1, bias=True)
criterion = nn.MSELoss()
if fixed:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

for step in range(4001):
    if fixed:
        optimizer.zero_grad()
    hypothesis = model(x)
    cost = criterion(hypothesis, y)
    cost.backward()
    if fixed:
        optimizer.step()
    if step % 500 == 0:
        print(step, "cost:", cost.item())

with torch.no_grad():
    print("prediction:", model(x[:5]).view(-1).tolist())
    print("life      :", y[:5].view(-1).tolist())
    final = criterion(model(x), y).item()
    print("final cost:", final)
print("weights:", model.weight.data.numpy(), model.bias.data.numpy())

print("RESULT mse", final)
