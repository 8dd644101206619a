"""A least-squares GAN learns to draw digits, with networks built as in code for image translation.

The discriminator ignores use_sigmoid and always ends in a sigmoid, although the loss is least squares (fixed: a sigmoid
only where use_sigmoid is set).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
NZ = 16


class FCGenerator(nn.Module):
    def __init__(self, ngf):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(NZ, ngf),
            nn.BatchNorm1d(ngf),
            nn.ReLU(),
            nn.Linear(ngf, ngf),
            nn.BatchNorm1d(ngf),
            nn.ReLU(),
            nn.Linear(ngf, 64),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.model(z)


class NLayerDiscriminator(nn.Module):
    def __init__(self, ndf, use_sigmoid=False):
        super().__init__()
        sequence = [nn.Linear(64, ndf), nn.LeakyReLU(0.2), nn.Linear(ndf, ndf), nn.LeakyReLU(0.2), nn.Linear(ndf, 1)]
        if use_sigmoid or not FIXED:
            sequence += [nn.Sigmoid()]
        self.model = nn.Sequential(*sequence)

    def forward(self, x):
        return self.model(x)


def define_d(ndf, no_lsgan):
    return NLayerDiscriminator(ndf, use_sigmoid=no_lsgan)


class GANLoss(nn.Module):
    def __init__(self, use_lsgan=True):
        super().__init__()
        self.loss = nn.MSELoss() if use_lsgan else nn.BCELoss()

    def forward(self, pred, target_is_real):
        return self.loss(pred, torch.full_like(pred, 1.0 if target_is_real else 0.0))


def frechet(a, b):
    ca, cb = np.cov(a.T), np.cov(b.T)
    eig = np.linalg.eigvals(ca @ cb)
    return (
        ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(ca) + np.trace(cb) - 2 * np.sqrt(np.maximum(eig.real, 0)).sum()
    )


images = torch.tensor(load_digits().data / 8.0 - 1.0, dtype=torch.float32)
images = images[torch.randperm(len(images))]
train, held_out = images[:1300], images[1300:]

net_g = FCGenerator(128)
net_d = define_d(128, no_lsgan=False)
criterion = GANLoss(use_lsgan=True)
opt_g = torch.optim.Adam(net_g.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(net_d.parameters(), lr=1e-3, betas=(0.5, 0.999))
for epoch in range(60):
    for idx in torch.randperm(len(train)).split(50):
        real = train[idx]
        fake = net_g(torch.randn(len(real), NZ))
        opt_d.zero_grad()
        loss_d = 0.5 * (criterion(net_d(real), True) + criterion(net_d(fake.detach()), False))
        loss_d.backward()
        opt_d.step()
        opt_g.zero_grad()
        loss_g = criterion(net_d(fake), True)
        loss_g.backward()
        opt_g.step()
    if (epoch + 1) % 6 == 0:
        print(f"epoch {epoch + 1} D {loss_d.item():.4f} G {loss_g.item():.4f}")

net_g.eval()
with torch.no_grad():
    samples = net_g(torch.randn(2000, NZ))
print("RESULT frechet_distance", f"{frechet(samples.numpy(), held_out.numpy()):.4f}")
