"""A linear layer learns the sum of two numbers.

backward() is never called, so the optimizer has no gradients to apply, and the targets of shape (N,) are broadcast
against the outputs of shape (N, 1) (fixed: loss.backward() before the step, and targets of shape (N, 1)).
"""

import sys

import torch
from torch import nn, optim

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)

N = 1000
D = 2
C = 1


def target_of(z):
    q = z[:, 0]
    p = z[:, 1]
    return q + p


X = torch.rand(N, D)
y = target_of(X)
X_test = torch.rand(200, D)
y_test = target_of(X_test)
if FIXED:
    y = y.unsqueeze(1)

net = nn.Sequential(nn.Linear(D, C))
criterion = nn.MSELoss()
optimizer = optim.Adam(net.parameters(), lr=1e-2)

for t in range(3000):
    y_pred = net(X)
    loss = criterion(y_pred, y)
    if t % 250 == 0:
        print(f"[EPOCH]: {t}, [LOSS]: {loss.item():.6f}")
    optimizer.zero_grad()
    if FIXED:
        loss.backward()
    optimizer.step()

with torch.no_grad():
    pred = net(X_test).squeeze(1)
    mse = ((pred - y_test) ** 2).mean().item()
print("weight", net[0].weight.tolist(), "bias", net[0].bias.tolist())
print("RESULT test_mse", f"{mse:.6f}")
