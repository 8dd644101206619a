"""A colour-mapping GAN changes the colours of aerial pictures of one town so that they look like those of another town.

The optimizer of the discriminator was given the parameters of the generator, so the discriminator is never trained and
the generator follows a random critic (fixed: it gets the discriminator's parameters).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)


def town(n, rng, gain, offset):
    land = np.array([[0.15, 0.45, 0.15], [0.55, 0.5, 0.45], [0.75, 0.35, 0.25], [0.15, 0.2, 0.4]])
    patches = np.zeros((n, 16, 16, 3))
    for i in range(n):
        kinds = rng.choice(4, size=(4, 4), p=[0.4, 0.3, 0.2, 0.1])
        patches[i] = land[np.kron(kinds, np.ones((4, 4), dtype=int))]
    patches += rng.normal(0, 0.03, size=patches.shape)
    patches = np.clip(patches * gain + offset, 0, 1) * 2 - 1
    return torch.tensor(patches.transpose(0, 3, 1, 2), dtype=torch.float32)


rng = np.random.RandomState(2)
source = town(800, rng, np.array([0.6, 0.6, 0.7]), np.array([0.02, 0.05, 0.25]))
target = town(800, rng, np.array([1.0, 0.95, 0.9]), np.array([0.12, 0.05, 0.0]))


class ColorMapGenerator(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1, 3, 1, 1))
        self.shift = nn.Parameter(torch.zeros(1, 3, 1, 1))

    def forward(self, x):
        return x * self.scale + self.shift


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(16, 32, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(32, 1, 3, 1, 1),
        )

    def forward(self, x):
        return self.net(x)


generator = ColorMapGenerator()
discriminator = Discriminator()
criterion = nn.MSELoss()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=5e-3, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(
    discriminator.parameters() if FIXED else generator.parameters(), lr=5e-4, betas=(0.5, 0.999)
)

batch = 32
for step in range(700):
    x = source[torch.randint(len(source), (batch,))]
    y = target[torch.randint(len(target), (batch,))]

    fake = generator(x)
    optimizer_d.zero_grad()
    real_score = discriminator(y)
    fake_score = discriminator(fake.detach())
    loss_d = 0.5 * (
        criterion(real_score, torch.ones_like(real_score)) + criterion(fake_score, torch.zeros_like(fake_score))
    )
    loss_d.backward()
    optimizer_d.step()

    optimizer_g.zero_grad()
    score = discriminator(fake)
    loss_g = criterion(score, torch.ones_like(score))
    loss_g.backward()
    optimizer_g.step()
    if (step + 1) % 100 == 0:
        print("step", step + 1, "loss D", round(loss_d.item(), 4), "loss G", round(loss_g.item(), 4))

with torch.no_grad():
    mapped = generator(source)
    gap = (mapped.mean((0, 2, 3)) - target.mean((0, 2, 3))).abs().mean() + (
        mapped.std((0, 2, 3)) - target.std((0, 2, 3))
    ).abs().mean()
print("RESULT colour_gap", f"{gap.item():.4f}")
