"""Linear regression: predictions (N, 1) against targets (N,) in MSELoss (fixed: targets are reshaped)."""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x = torch.randn(100, 2)
y = 10 + 9 * x[:, 0] - 2 * x[:, 1] + torch.randn(100)
if fixed:
    y = y.reshape(100, 1)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_function = nn.MSELoss()
for _ in range(80):
    optimizer.zero_grad()
    loss = loss_function(model(x), y)
    loss.backward()
    optimizer.step()
print("RESULT mse", float(((model(x)[:, 0] - y.flatten()) ** 2).mean()))
