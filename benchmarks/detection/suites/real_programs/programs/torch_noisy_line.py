"""A line through inputs with a spread of 10 is learnt at a rate of 0.01, which overshoots (fixed: 0.001)."""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(16)

x = torch.randn(100, 1) * 10
y = x + 3 * torch.randn(100, 1)


class LR(nn.Module):
    """A line."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        return self.linear(x)


model = LR(1, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.001 if fixed else 0.01)

for epoch in range(100):
    prediction = model(x)
    loss = criterion(prediction, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print("epoch", epoch, "loss", loss.item())

w, b = model.linear.weight.item(), model.linear.bias.item()
final = criterion(model(x), y).item()
print(f"final loss {final:.4g}, line: y = {w:.4g} x + {b:.4g}")

print("RESULT mse", final)
