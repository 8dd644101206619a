"""An implicit function interpolates a picture: ten residual blocks refine features of coordinates.

The blocks are in a plain list, where the optimizer does not find them (fixed: the blocks kept in ``nn.ModuleList``).
"""

import math
import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(3)
rng = np.random.RandomState(3)


class ResMLP(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        return x + self.body(x)


class CoordNet(nn.Module):
    def __init__(self, dim=16, hidden=64, n_blocks=10):
        super().__init__()
        blocks = [ResMLP(dim, hidden) for _ in range(n_blocks)]
        self.mlps = nn.ModuleList(blocks) if fixed else blocks
        self.coord_mlp = nn.Linear(2, dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, coord):
        features = self.coord_mlp(coord)
        for mlp in self.mlps:
            features = mlp(features)
        return self.head(features)


# a smooth picture of blobs and waves with noise, sampled at random positions
def picture(coords):
    x, y = coords[:, 0], coords[:, 1]
    values = np.sin(5 * x + 2 * y) * np.cos(4 * y) + 0.8 * np.exp(-12 * ((x - 0.3) ** 2 + (y + 0.4) ** 2))
    return values - 0.9 * np.exp(-20 * ((x + 0.5) ** 2 + (y - 0.5) ** 2))


def sample(n):
    coords = rng.uniform(-1, 1, (n, 2))
    values = picture(coords) + rng.normal(0, 0.03, n)
    return torch.tensor(coords, dtype=torch.float32), torch.tensor(values[:, None], dtype=torch.float32)


coord_train, v_train = sample(4000)
coord_val, v_val = sample(1000)
model = CoordNet()
print("params:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
l1 = nn.L1Loss()
for epoch in range(20):
    perm = torch.randperm(len(coord_train))
    total = 0
    for i in range(0, len(perm), 100):
        idx = perm[i : i + 100]
        pred = model(coord_train[idx])
        loss = l1(pred, v_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        mse = ((model(coord_val) - v_val) ** 2).mean().item()
    print(f"epoch {epoch + 1}: train L1 {total / 40:.4f}  val psnr {10 * math.log10(4 / mse):.2f}")
print("RESULT val_psnr", f"{10 * math.log10(4 / mse):.3f}")
