"""An autoencoder compresses small patches of pictures; its latents are coded under Gaussians with learnt spreads.

The spreads that the entropy model predicts can become exactly zero, and the division by them turns the weights to NaN
after a while (fixed: a small epsilon is added to the spreads).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)


def patches(n, rng):
    yy, xx = np.mgrid[0:8, 0:8] / 7.0 - 0.5
    a = rng.normal(0, 1, size=(n, 4, 1, 1))
    field = (
        a[:, 0] * xx + a[:, 1] * yy + a[:, 2] * np.cos(np.pi * 2 * xx) * 0.5 + a[:, 3] * np.cos(np.pi * 2 * yy) * 0.5
    )
    return torch.tensor((field + rng.normal(0, 0.02, size=field.shape)).reshape(n, -1), dtype=torch.float32)


class GaussianModel(nn.Module):
    def likelihood(self, v, mu, stds):
        if FIXED:
            stds = stds + 1e-6
        upper = 0.5 * (1 + torch.erf((v + 0.5 - mu) / (stds * 2**0.5)))
        lower = 0.5 * (1 + torch.erf((v - 0.5 - mu) / (stds * 2**0.5)))
        return (upper - lower).clamp(min=1e-6)


class Codec(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 12))
        self.decoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64))
        self.hyper_encoder = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 4))
        self.hyper_decoder = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 24))
        self.hyper_decoder[2].bias.data[12:] = 1.0
        self.entropy = GaussianModel()

    def forward(self, x, noisy):
        y = 3.0 * self.encoder(x)
        h = torch.tanh(self.hyper_encoder(y))
        h = torch.round(h * 4) / 4 if not noisy else h + (torch.rand_like(h) - 0.5) / 4
        mu, stds = self.hyper_decoder(h).chunk(2, 1)
        stds = functional.relu(stds)
        v = y + torch.rand_like(y) - 0.5 if noisy else torch.round(y)
        bits = -torch.log2(self.entropy.likelihood(v, mu, stds)).sum(1).mean()
        return self.decoder(v / 3.0), bits


rng = np.random.RandomState(1)
train, test = patches(4000, rng), patches(500, rng)
model = Codec()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(900):
    x = train[torch.randint(len(train), (64,))]
    out, bits = model(x, True)
    mse = functional.mse_loss(out, x)
    loss = 200 * mse + bits
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 100 == 0:
        print("step", step + 1, "mse", round(mse.item(), 4), "bits", round(bits.item(), 3))
model.eval()
with torch.no_grad():
    out, bits = model(test, False)
    print("test bits", round(bits.item(), 3), "variance", round(test.var().item(), 4))
    print("RESULT test_mse", f"{functional.mse_loss(out, test).item():.4f}")
