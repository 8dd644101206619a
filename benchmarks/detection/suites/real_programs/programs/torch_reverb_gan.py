"""A small GAN learns to make room impulse responses from noise.

The generator's step detaches its samples before the discriminator, so no gradient reaches the generator (fixed: not
detached).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(11)
rng = np.random.RandomState(11)
L = 32


def make_responses(n):
    t = np.arange(L)
    decay = rng.uniform(4, 12, (n, 1))
    gain = rng.uniform(0.6, 1.4, (n, 1))
    x = gain * np.exp(-t / decay) * np.cos(t * 0.7)
    return (x + 0.03 * rng.randn(n, L)).astype("float32")


real = torch.tensor(make_responses(2000))
test = make_responses(1000)


class Generator(nn.Module):
    def __init__(self, nz=8):
        super().__init__()
        self.nz = nz
        self.net = nn.Sequential(
            nn.Linear(nz, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, L)
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(L, 64), nn.LeakyReLU(0.2), nn.Linear(64, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)
        )

    def forward(self, x):
        return self.net(x)


g, d = Generator(), Discriminator()
g_opt = torch.optim.Adam(g.parameters(), lr=5e-4, betas=(0.5, 0.999))
d_opt = torch.optim.Adam(d.parameters(), lr=5e-4, betas=(0.5, 0.999))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(real), batch_size=64, shuffle=True, drop_last=True)

for epoch in range(60):
    dl = gl = 0.0
    for (x,) in loader:
        z = torch.randn(len(x), g.nz)
        fake = g(z)
        # discriminator
        d_opt.zero_grad()
        p_real = d(x)
        p_fake = d(fake.detach())
        d_loss = 0.5 * (
            functional.mse_loss(p_real, torch.ones_like(p_real)) + functional.mse_loss(p_fake, torch.zeros_like(p_fake))
        )
        d_loss.backward()
        d_opt.step()
        # generator
        g_opt.zero_grad()
        p = d(fake if fixed else fake.detach())
        g_loss = functional.mse_loss(p, torch.ones_like(p))
        g_loss.backward()
        g_opt.step()
        dl += d_loss.item()
        gl += g_loss.item()
    if epoch % 10 == 0 or epoch == 59:
        print(f"epoch {epoch}  D {dl / len(loader):.4f}  G {gl / len(loader):.4f}")

with torch.no_grad():
    out = g(torch.randn(1000, g.nz)).numpy()
err = np.abs(out.mean(0) - test.mean(0)).mean() + np.abs(out.std(0) - test.std(0)).mean()
print("mean curve real", np.round(test.mean(0)[:6], 2), "generated", np.round(out.mean(0)[:6], 2))
print("RESULT distance_of_distributions", f"{err:.4f}")
