"""Learning to add three numbers: the loss compares outputs (N, 1) with targets (N), so each with each

(fixed: targets of shape (N, 1)).
"""

import sys

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x = torch.rand(1024, 3)
y = x[:, 0] + x[:, 1] + x[:, 2]

model = nn.Sequential(nn.Linear(3, 1, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=20)
mse = nn.MSELoss()
for epoch in range(150):
    optimizer.zero_grad()
    out = model(x)
    loss = mse(out, y.unsqueeze(1) if fixed else y)
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(loss.item())
    scheduler.step(loss.item())
with torch.no_grad():
    print("RESULT mean_squared_error", float((model(x)[:, 0] - y).square().mean()))
