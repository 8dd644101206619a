"""The generator learns from a fake batch that is detached already (fixed: detached for the discriminator only)."""

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)

x, y = load_digits(return_X_y=True)
real_images = torch.tensor(x[y <= 3] / 8.0 - 1.0, dtype=torch.float32)
NOISE, BATCH = 32, 64

generator = nn.Sequential(
    nn.Linear(NOISE, 128),
    nn.BatchNorm1d(128),
    nn.ReLU(),
    nn.Linear(128, 128),
    nn.BatchNorm1d(128),
    nn.ReLU(),
    nn.Linear(128, 64),
    nn.Tanh(),
)
discriminator = nn.Sequential(
    nn.Linear(64, 128),
    nn.LeakyReLU(0.2),
    nn.Dropout(0.3),
    nn.Linear(128, 64),
    nn.LeakyReLU(0.2),
    nn.Dropout(0.3),
    nn.Linear(64, 1),
)
criterion = nn.BCEWithLogitsLoss()
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))


def distance(n=500):
    """Return how far an image that is generated is from the closest real one, in the mean."""
    generator.eval()
    with torch.no_grad():
        fake = generator(torch.randn(n, NOISE))
        closest = torch.cdist(fake, real_images).min(dim=1).values.mean().item()
    generator.train()
    return closest


for epoch in range(1, 121):
    order = torch.randperm(len(real_images))
    for i in range(0, len(order) - BATCH + 1, BATCH):
        real = real_images[order[i : i + BATCH]]
        ones = torch.full((BATCH, 1), 0.9)
        zeros = torch.zeros(BATCH, 1)
        noise = torch.randn(BATCH, NOISE)
        fake = generator(noise) if fixed else generator(noise).detach()

        optimizer_d.zero_grad()
        fake_for_d = fake.detach() if fixed else fake
        loss_d = criterion(discriminator(real), ones) + criterion(discriminator(fake_for_d), zeros)
        loss_d.backward()
        optimizer_d.step()

        optimizer_g.zero_grad()
        loss_g = criterion(discriminator(fake), torch.ones(BATCH, 1))
        loss_g.backward()
        optimizer_g.step()
    if epoch % 20 == 0:
        closest = distance()
        print(f"epoch {epoch} loss_d {loss_d.item():.4f} loss_g {loss_g.item():.4f} distance {closest:.3f}")

print("RESULT distance", closest)
