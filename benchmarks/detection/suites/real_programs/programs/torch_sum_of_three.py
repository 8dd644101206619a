"""``MSELoss`` compares outputs (N, 1) with targets (N,), each with each (fixed: targets unsqueezed)."""

import sys

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

x = torch.rand((1024, 3))
y = x[:, 0] + x[:, 1] + x[:, 2]
x_test = torch.rand((200, 3))
y_test = x_test[:, 0] + x_test[:, 1] + x_test[:, 2]

model = nn.Sequential(nn.Linear(3, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)
scheduler = ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=20)
mse = nn.MSELoss()

for epoch in range(500):
    optimizer.zero_grad()
    out = model(x)
    loss = mse(out, y.unsqueeze(1) if fixed else y)
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(loss.item())
    scheduler.step(loss)

with torch.no_grad():
    mae = (model(x_test).squeeze(1) - y_test).abs().mean().item()
print("weights", model[0].weight.data)
print("mean absolute error on new rows", mae)

print("RESULT test_mae", mae)
