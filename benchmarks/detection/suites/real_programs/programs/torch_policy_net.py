"""A network learns the policy function of an economic model, a positive quantity from two states.

The ReLU on its output starts below 0 and stays at 0, so no gradient comes through (fixed: a linear output).
"""

import sys

import numpy as np
import torch
from torch import nn, optim
from torch.nn import functional

fixed = "--fixed" in sys.argv
SEED = 4
torch.manual_seed(SEED)
np.random.seed(SEED)


class PolicyNet(nn.Module):
    def __init__(self, n_in=2, sizes=(100, 75, 50, 25)):
        super().__init__()
        self.h1 = nn.Linear(n_in, sizes[0])
        self.h2 = nn.Linear(sizes[0], sizes[1])
        self.h3 = nn.Linear(sizes[1], sizes[2])
        self.h4 = nn.Linear(sizes[2], sizes[3])
        self.output_layer = nn.Linear(sizes[3], 1)

    def forward(self, x):
        x = functional.relu(self.h1(x))
        x = functional.relu(self.h2(x))
        x = functional.relu(self.h3(x))
        x = functional.relu(self.h4(x))
        if fixed:
            return self.output_layer(x)
        return functional.relu(self.output_layer(x))


# capital and productivity -> investment, solved on a grid with some solver noise
def solve(n):
    k = np.random.uniform(1.07, 20.4, n)
    a = np.random.uniform(0.8, 1.2, n)
    inv = 0.3 * a * k**0.8 + 0.4 + 0.05 * np.random.randn(n)
    return np.stack([k, a], 1).astype("float32"), inv.astype("float32")[:, None]


x, y = solve(2000)
xv, yv = solve(500)
x, y, xv, yv = map(torch.from_numpy, (x, y, xv, yv))
net = PolicyNet()
opt = optim.Adam(net.parameters(), lr=1e-3)
bs = 100
for epoch in range(30):
    perm = torch.randperm(len(x))
    tot = 0.0
    for i in range(0, len(x), bs):
        idx = perm[i : i + bs]
        loss = functional.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    with torch.no_grad():
        val = functional.mse_loss(net(xv), yv).item()
    if epoch % 3 == 0:
        print(epoch, f"train {tot / (len(x) / bs):.4f}", f"val {val:.4f}")
r2 = 1 - val / yv.var().item()
print("RESULT val_r2", f"{r2:.4f}")
