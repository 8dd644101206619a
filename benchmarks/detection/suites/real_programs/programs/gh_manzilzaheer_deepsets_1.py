"""Statistic of a set by a permutation-invariant net: (128,) less (128, 1) in an own loss (fixed: same shape)."""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.default_rng(1)
scales = rng.uniform(0.5, 3, 1280)
sets = torch.tensor(rng.normal(size=(1280, 40, 1)) * scales[:, None, None], dtype=torch.float32)
statistic = torch.tensor(np.log(scales), dtype=torch.float32)


class DeepSet(nn.Module):
    """Sum what is known of each element."""

    def __init__(self, width=32):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(1, width), nn.ELU(), nn.Linear(width, width), nn.ELU())
        self.rho = nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, 1))

    def forward(self, elements):
        return self.rho(self.phi(elements).mean(1))


model = DeepSet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(15):
    for batch in torch.randperm(1152).split(128):
        optimizer.zero_grad()
        answer, wanted = model(sets[batch]), statistic[batch]
        loss = ((wanted - (answer.squeeze(1) if fixed else answer)) ** 2).mean()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT mse", float(((model(sets[1152:])[:, 0] - statistic[1152:]) ** 2).mean()))
