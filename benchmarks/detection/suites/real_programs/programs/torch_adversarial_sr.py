"""A generator and a discriminator for super-resolution of textures train with a step decay of their rates.

The schedulers count epochs but are stepped after every batch, so the rates fall to nothing within a few dozen updates
(fixed: stepped after every epoch).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.optim.lr_scheduler import StepLR

fixed = "--fixed" in sys.argv
torch.manual_seed(6)
np.random.seed(6)
torch.set_num_threads(1)

NUM_EPOCHS, BATCH = 16, 32


def patches(n, seed, size=16):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size]
    out = []
    for _ in range(n):
        angle, freq, phase = rng.uniform(0, np.pi), rng.uniform(0.25, 1.1), rng.uniform(0, 6.3)
        wave = np.sin(freq * (np.cos(angle) * xx + np.sin(angle) * yy) + phase)
        cut = (np.cos(angle + 1) * (xx - 8) + np.sin(angle + 1) * (yy - 8)) > rng.uniform(-5, 5)
        img = 0.5 + 0.3 * np.where(cut, np.sign(wave), 0.6 * wave)
        out.append(np.clip(img, 0, 1))
    return torch.tensor(np.stack(out), dtype=torch.float32)[:, None]


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.PReLU(), nn.Conv2d(c, c, 3, padding=1))

    def forward(self, x):
        return x + self.body(x)


class Generator(nn.Module):
    def __init__(self, c=24):
        super().__init__()
        self.head = nn.Sequential(nn.Conv2d(1, c, 5, padding=2), nn.PReLU())
        self.body = nn.Sequential(Residual(c), Residual(c))
        self.up = nn.Sequential(nn.Conv2d(c, 4 * c, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())
        self.tail = nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, x):
        h = self.head(x)
        return (torch.tanh(self.tail(self.up(h + self.body(h)))) + 1) / 2


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(12, 24, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(24 * 16, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


hr, hr_val = patches(800, 1), patches(160, 2)
lr_img, lr_val = functional.avg_pool2d(hr, 2), functional.avg_pool2d(hr_val, 2)
generator, discriminator = Generator(), Discriminator()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-4)
scheduler_g = StepLR(optimizer_g, step_size=NUM_EPOCHS // 2, gamma=0.1)
scheduler_d = StepLR(optimizer_d, step_size=NUM_EPOCHS // 2, gamma=0.1)
bce = nn.BCEWithLogitsLoss()

for epoch in range(1, NUM_EPOCHS + 1):
    generator.train()
    order = torch.randperm(len(hr))
    total_g, total_d = 0.0, 0.0
    for i in range(0, len(hr), BATCH):
        idx = order[i : i + BATCH]
        real, small = hr[idx], lr_img[idx]
        fake = generator(small)
        d_loss = bce(discriminator(real), torch.ones(len(idx))) + bce(
            discriminator(fake.detach()), torch.zeros(len(idx))
        )
        optimizer_d.zero_grad()
        d_loss.backward()
        optimizer_d.step()
        g_loss = functional.mse_loss(fake, real) + 1e-4 * bce(discriminator(fake), torch.ones(len(idx)))
        optimizer_g.zero_grad()
        g_loss.backward()
        optimizer_g.step()
        if not fixed:
            scheduler_g.step()
            scheduler_d.step()
        total_g += g_loss.item() * len(idx)
        total_d += d_loss.item() * len(idx)
    if fixed:
        scheduler_g.step()
        scheduler_d.step()
    generator.eval()
    with torch.no_grad():
        psnr = -10 * torch.log10(functional.mse_loss(generator(lr_val), hr_val)).item()
    print(f"[{epoch}/{NUM_EPOCHS}] Loss_D: {total_d / len(hr):.4f} Loss_G: {total_g / len(hr):.5f} PSNR: {psnr:.3f} dB")
print("RESULT val_PSNR", f"{psnr:.3f}")
