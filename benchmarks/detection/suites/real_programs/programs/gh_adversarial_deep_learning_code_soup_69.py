"""A small GAN whose step resets the gradients of the generator, but never those of the discriminator (fixed: both)."""

import sys

import torch
from torch import nn, optim

fixed = "--fixed" in sys.argv
torch.manual_seed(1)


def real_batch(count):
    """Return points of a tilted ellipse away from the origin."""
    return torch.randn(count, 2) @ torch.tensor([[0.6, 0.3], [0.0, 0.3]]) + torch.tensor([2.0, -1.0])


class GAN:
    """Both networks and how they learn."""

    def __init__(self, latent_dims=8, lr=2e-3):
        self.latent_dims = latent_dims
        self.generator = nn.Sequential(nn.Linear(latent_dims, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
        self.discriminator = nn.Sequential(
            nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1), nn.Sigmoid()
        )
        self.criterion = nn.BCELoss()
        self.optimizer_discriminator = optim.Adam(self.discriminator.parameters(), lr=lr, betas=(0.5, 0.999))
        self.optimizer_generator = optim.Adam(self.generator.parameters(), lr=lr, betas=(0.5, 0.999))

    def step(self, points):
        if fixed:
            self.discriminator.zero_grad()
        real_label, fake_label = torch.ones(len(points), 1), torch.zeros(len(points), 1)
        error_real = self.criterion(self.discriminator(points), real_label)
        error_real.backward()
        fake = self.generator(torch.randn(len(points), self.latent_dims))
        error_fake = self.criterion(self.discriminator(fake.detach()), fake_label)
        error_fake.backward()
        self.optimizer_discriminator.step()

        self.generator.zero_grad()
        error_generator = self.criterion(self.discriminator(fake), real_label)
        error_generator.backward()
        self.optimizer_generator.step()
        return float((error_real + error_fake).detach()), float(error_generator.detach())


gan = GAN()
for step in range(150):
    errors = gan.step(real_batch(128))
    if step % 50 == 0:
        print(step, *errors)
with torch.no_grad():
    made, real = gan.generator(torch.randn(500, gan.latent_dims)), real_batch(500)
    distance = 2 * torch.cdist(made, real).mean() - torch.cdist(made, made).mean() - torch.cdist(real, real).mean()
print("RESULT energy_distance", float(distance))
