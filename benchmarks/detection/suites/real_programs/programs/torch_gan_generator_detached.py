"""The samples that train a GAN's generator are detached from it (fixed: for the discriminator's loss only)."""

import sys

import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

mean = torch.tensor([2.0, -1.5])
factor = torch.tensor([[1.0, 0.0], [0.6, 0.5]])


def real_batch(n):
    return mean + torch.randn(n, 2) @ factor.T


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


LATENT, BATCH, STEPS = 8, 128, 1500
G = nn.Sequential(nn.Linear(LATENT, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

for step in range(STEPS):
    real = real_batch(BATCH)
    fake = G(torch.randn(BATCH, LATENT))
    if not fixed:
        fake = fake.detach()

    # discriminator
    opt_d.zero_grad()
    d_loss = criterion(D(real), ones) + criterion(D(fake.detach()), zeros)
    d_loss.backward()
    opt_d.step()

    # generator
    opt_g.zero_grad()
    g_loss = criterion(D(fake), ones)
    g_loss.backward()
    opt_g.step()

    if (step + 1) % 250 == 0:
        print(f"step {step + 1} d_loss {d_loss.item():.4f} g_loss {g_loss.item():.4f}")

with torch.no_grad():
    samples = G(torch.randn(1000, LATENT))
    distance = energy_distance(samples, real_batch(1000))
print("RESULT energy_distance", distance)
