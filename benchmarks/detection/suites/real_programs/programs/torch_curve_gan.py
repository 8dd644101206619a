"""A small GAN learns to draw points on a curve, after a repository that had to be adapted to a newer PyTorch.

The generator step calls ``net_d(fake.detach())``, so that no gradient reaches the generator and it stays as it was
(fixed: new fakes are made and not detached).
"""

import sys

import torch
from torch import nn, optim

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
NOISE, BATCH, D_STEPS, G_STEPS = 4, 128, 1, 1


def real_points(n):
    x = torch.rand(n, 1) * 3 - 1.5
    return torch.cat([x, torch.sin(2 * x) + 0.08 * torch.randn(n, 1)], 1)


net_g = nn.Sequential(nn.Linear(NOISE, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
net_d = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
optimizer_d = optim.Adam(net_d.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizer_g = optim.Adam(net_g.parameters(), lr=5e-4, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()


def sliced_distance(a, b, n=64):
    directions = torch.randn(2, n)
    directions /= directions.norm(dim=0)
    return ((a @ directions).sort(0)[0] - (b @ directions).sort(0)[0]).abs().mean().item()


for step in range(2500):
    for _ in range(D_STEPS):
        net_d.zero_grad()
        real = real_points(BATCH)
        err_d_real = criterion(net_d(real), torch.ones(BATCH, 1))
        fake = net_g(torch.randn(BATCH, NOISE))
        err_d_fake = criterion(net_d(fake.detach()), torch.zeros(BATCH, 1))
        (err_d_real + err_d_fake).backward()
        optimizer_d.step()
    for _ in range(G_STEPS):
        net_g.zero_grad()
        if FIXED:
            fake = net_g(torch.randn(BATCH, NOISE))
            output = net_d(fake)
        else:
            output = net_d(fake.detach())
        err_g = criterion(output, torch.ones(BATCH, 1))
        err_g.backward()
        optimizer_g.step()
    if step % 250 == 249:
        with torch.no_grad():
            distance = sliced_distance(net_g(torch.randn(1000, NOISE)), real_points(1000))
        print(
            f"step {step + 1}: errD {(err_d_real + err_d_fake).item():.3f}, errG {err_g.item():.3f}, "
            f"distance {distance:.3f}"
        )

with torch.no_grad():
    distance = sliced_distance(net_g(torch.randn(4000, NOISE)), real_points(4000))
print("RESULT distance", f"{distance:.4f}")
