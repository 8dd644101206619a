"""A small radiance field of a flat scene gives density and brightness of points.

They are composed along rays and compared with the pixels of known views. The density goes through a ReLU, and with
these first weights it is zero everywhere, so no ray gives a gradient (fixed: a softplus in its place).
"""

import math
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(14)
rng = np.random.RandomState(0)
n_samples, n_pixels = 24, 32

blobs = torch.tensor([[-0.4, 0.2, 0.25, 0.9], [0.35, -0.3, 0.3, 0.4], [0.3, 0.45, 0.15, 0.7]])


def scene(p):
    d = ((p.unsqueeze(-2) - blobs[:, :2]) ** 2).sum(-1)
    inside = torch.sigmoid((blobs[:, 2] - d.sqrt()) * 40)
    sigma = (inside * 15).sum(-1)
    return sigma, (inside * blobs[:, 3]).sum(-1) / (inside.sum(-1) + 1e-4)


def compose(sigma, rgb, step):
    alpha = 1 - torch.exp(-sigma * step)
    through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
    return (through * alpha * rgb).sum(1)


def view(angle):
    direction = torch.tensor([math.cos(angle), math.sin(angle)])
    across = torch.tensor([-math.sin(angle), math.cos(angle)])
    offsets = torch.linspace(-1, 1, n_pixels).unsqueeze(1)
    origins = offsets * across - direction * 1.2
    return origins, direction.expand(n_pixels, 2)


def points(origins, directions, n, jitter):
    t = torch.linspace(0, 2.4, n + 1)[:-1].expand(len(origins), n)
    t = t + (torch.rand_like(t) if jitter else 0.5) * 2.4 / n
    return origins.unsqueeze(1) + t.unsqueeze(2) * directions.unsqueeze(1)


def encode(p):
    out = [p]
    for i in range(4):
        out += [torch.sin(2**i * p), torch.cos(2**i * p)]
    return torch.cat(out, -1)


class NeRF(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
        )

    def forward(self, p):
        out = self.net(encode(p))
        sigma = functional.softplus(out[..., 0]) if FIXED else functional.relu(out[..., 0])
        return sigma, torch.sigmoid(out[..., 1])


def rays(angles):
    o, d = (torch.cat(parts) for parts in zip(*[view(a) for a in angles], strict=True))
    return o, d, compose(*scene(points(o, d, 96, False)), 2.4 / 96)


o_train, d_train, c_train = rays(np.linspace(0, 2 * math.pi, 40, endpoint=False))
o_test, d_test, c_test = rays(rng.uniform(0, 2 * math.pi, 10))
model = NeRF()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for step in range(600):
    batch = torch.randint(len(o_train), (96,))
    sigma, rgb = model(points(o_train[batch], d_train[batch], n_samples, True))
    loss = functional.mse_loss(compose(sigma, rgb, 2.4 / n_samples), c_train[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step} loss {loss.item():.5f}")

with torch.no_grad():
    sigma, rgb = model(points(o_test, d_test, n_samples, False))
    mse = functional.mse_loss(compose(sigma, rgb, 2.4 / n_samples), c_test).item()
print("RESULT psnr", f"{-10 * math.log10(mse):.4f}")
