"""A map of people ends in a ReLU that starts at 0 for every pixel and stays there (fixed: in a ``Softplus``)."""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.default_rng(0)

# census regions of 8x8 pixels: covariates (night lights, slope, distances...) and a building count per pixel
N, SIZE, CHANNELS = 500, 8, 5
region_level = rng.normal(0, 0.8, (N, CHANNELS, 1, 1))
covariates = region_level + rng.normal(0, 0.6, (N, CHANNELS, SIZE, SIZE))
buildings = rng.poisson(1.5, (N, 1, SIZE, SIZE)).astype(float)
effect = np.array([0.5, -0.3, 0.25, 0.0, -0.2]).reshape(1, CHANNELS, 1, 1)
persons_per_building = np.exp(1.1 + (effect * covariates).sum(1, keepdims=True))
census = (buildings * persons_per_building).sum((1, 2, 3)) * np.exp(rng.normal(0, 0.03, N))

covariates = torch.tensor(covariates, dtype=torch.float32)
buildings = torch.tensor(buildings, dtype=torch.float32)
census = torch.tensor(census, dtype=torch.float32)
train_idx, val_idx = torch.arange(0, 400), torch.arange(400, 500)


class PixScaleNet(nn.Module):
    """Convolutions of single pixels that give the people in a building."""

    def __init__(self, channels_in, n1=64, n2=64, n3=64):
        super().__init__()
        self.scalenet = nn.Sequential(
            nn.Conv2d(channels_in, n1, 1),
            nn.ReLU(),
            nn.Conv2d(n1, n2, 1),
            nn.ReLU(),
            nn.Conv2d(n2, n3, 1),
            nn.ReLU(),
            nn.Conv2d(n3, 1, 1),
            nn.Softplus() if fixed else nn.ReLU(),
        )

    def forward(self, inputs, building_counts):
        scale = self.scalenet(inputs)
        population_map = scale * building_counts
        return population_map.sum((1, 2, 3)), scale


def log_l1(pred, gt):
    return (torch.log(pred + 1) - torch.log(gt + 1)).abs().mean()


model = PixScaleNet(CHANNELS)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, weight_decay=1e-5)

for epoch in range(30):
    model.train()
    total = 0.0
    for idx in train_idx[torch.randperm(len(train_idx))].split(20):
        pred, _ = model(covariates[idx], buildings[idx])
        loss = log_l1(pred, census[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            pred, scale = model(covariates[val_idx], buildings[val_idx])
        gt = census[val_idx]
        r2 = 1 - ((pred - gt) ** 2).sum() / ((gt - gt.mean()) ** 2).sum()
        val = f"val loss {log_l1(pred, gt):.4f}, val R2 {r2:.3f}, mean persons per building {scale.mean():.2f}"
        print(f"epoch {epoch + 1}: loss {total / len(train_idx):.4f}, {val}")

print("RESULT val_r2", r2.item())
