"""A small conditional diffusion model learns to refocus.

From a blurred picture and the wanted focus it predicts the noise in a noisy version of the refocused one. The loop
calls ``backward``, the scheduler and ``zero_grad``, but never the optimizer's step (fixed: ``optimizer.step()`` after
``backward``).
"""

import sys

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

sharp = load_digits().images[:1400] / 8 - 1
seen = rng.uniform(0.3, 1.2, len(sharp))
wanted = rng.uniform(0.0, 1.2, len(sharp))
blurred = np.stack([gaussian_filter(s, k) for s, k in zip(sharp, seen, strict=False)]).astype("float32")
refocused = np.stack([gaussian_filter(s, k) for s, k in zip(sharp, wanted, strict=False)]).astype("float32")
blurred, refocused = torch.tensor(blurred)[:, None], torch.tensor(refocused)[:, None]
focus = torch.tensor(np.stack([seen, wanted], 1).astype("float32"))


class RefocusNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.inp = nn.Conv2d(2, width, 3, padding=1)
        self.cond = nn.Sequential(nn.Linear(3, width), nn.SiLU(), nn.Linear(width, width))
        self.mid1 = nn.Conv2d(width, width, 3, padding=1)
        self.mid2 = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, noisy, blurred, level, focus):
        h = self.inp(torch.cat([noisy, blurred], 1))
        h = h + self.cond(torch.cat([level, focus], 1))[:, :, None, None]
        h = h + self.mid1(torch.nn.functional.silu(h))
        h = h + self.mid2(torch.nn.functional.silu(h))
        return self.out(torch.nn.functional.silu(h))


def corrupt(clean, level, noise):
    angle = level[:, :, None, None] * np.pi / 2
    return torch.cos(angle) * clean + torch.sin(angle) * noise


net = RefocusNet()
optimizer = torch.optim.AdamW(net.parameters(), lr=0.002)
epochs, batch, n_train = 12, 32, 1200
lr_scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * (n_train // batch))

for epoch in range(epochs):
    order = torch.randperm(n_train)
    total = 0.0
    for i in range(0, n_train - batch + 1, batch):
        idx = order[i : i + batch]
        level = torch.rand(batch, 1) * 0.9 + 0.1
        noise = torch.randn(batch, 1, 8, 8)
        pred = net(corrupt(refocused[idx], level, noise), blurred[idx], level, focus[idx])
        loss = torch.nn.functional.mse_loss(pred, noise)
        loss.backward()
        if FIXED:
            optimizer.step()
        lr_scheduler.step()
        optimizer.zero_grad()
        total += loss.item()
    print(f"epoch {epoch} loss {total / (n_train // batch):.4f}")

with torch.no_grad():
    level = torch.linspace(0.1, 1, 200)[:, None]
    noise = torch.randn(200, 1, 8, 8)
    pred = net(corrupt(refocused[n_train:], level, noise), blurred[n_train:], level, focus[n_train:])
    mse = torch.nn.functional.mse_loss(pred, noise).item()
print("RESULT noise_mse", f"{mse:.4f}")
