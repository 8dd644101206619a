"""An encoder inverts a fixed generator, trained with a loss of pixels and a discriminator.

The discriminator's gradients add up over the steps, with those of the encoder's step (fixed: gradients of the
discriminator reset before its backward pass).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(4)

LATENTS, SIZE = 6, 12
# "pre-trained" generator: draws an ellipse with a shade from 6 latents
yy, xx = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")


def generator(z):
    t = torch.tanh(z)
    cx, cy = 0.4 * t[:, 0, None, None], 0.4 * t[:, 1, None, None]
    rx, ry = 0.5 + 0.2 * t[:, 2, None, None], 0.5 + 0.2 * t[:, 3, None, None]
    d = ((xx - cx) / rx) ** 2 + ((yy - cy) / ry) ** 2
    img = torch.sigmoid(5 * (1 - d)) * (0.7 + 0.25 * t[:, 4, None, None]) + 0.1 * t[:, 5, None, None] * xx
    return (img * 2 - 1).unsqueeze(1)


def real_images(n):
    x = generator(torch.randn(n, LATENTS))
    return (x + 0.05 * torch.randn_like(x)).clamp(-1.2, 1.2)


encoder = nn.Sequential(
    nn.Conv2d(1, 16, 3, 2, 1),
    nn.LeakyReLU(0.2),
    nn.Conv2d(16, 32, 3, 2, 1),
    nn.LeakyReLU(0.2),
    nn.Flatten(),
    nn.Linear(32 * 9, 64),
    nn.LeakyReLU(0.2),
    nn.Linear(64, LATENTS),
)
discriminator = nn.Sequential(
    nn.Conv2d(1, 16, 3, 2, 1),
    nn.LeakyReLU(0.2),
    nn.Conv2d(16, 32, 3, 2, 1),
    nn.LeakyReLU(0.2),
    nn.Flatten(),
    nn.Linear(32 * 9, 1),
)
optimizer_encoder = torch.optim.Adam(encoder.parameters(), lr=1e-3, betas=(0.5, 0.99))
optimizer_discriminator = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.99))
train_x = real_images(3000)
val_x = real_images(500)
batch = 32
adv_weight = 1.0
for epoch in range(8):
    perm = torch.randperm(len(train_x))
    log = []
    for i in range(0, len(perm) - batch + 1, batch):
        x_real = train_x[perm[i : i + batch]]
        # discriminator
        x_rec = generator(encoder(x_real)).detach()
        loss_discriminator = (
            functional.softplus(-discriminator(x_real)).mean() + functional.softplus(discriminator(x_rec)).mean()
        )
        if fixed:
            optimizer_discriminator.zero_grad()
        loss_discriminator.backward()
        optimizer_discriminator.step()
        # encoder
        x_rec = generator(encoder(x_real))
        loss_pix = functional.mse_loss(x_rec, x_real)
        loss_adv = functional.softplus(-discriminator(x_rec)).mean()
        loss_encoder = loss_pix + adv_weight * loss_adv
        optimizer_encoder.zero_grad()
        loss_encoder.backward()
        optimizer_encoder.step()
        log.append([loss_discriminator.item(), loss_pix.item(), loss_adv.item()])
    means = np.mean(log, 0)
    with torch.no_grad():
        val = functional.mse_loss(generator(encoder(val_x)), val_x).item()
    print(f"epoch {epoch}  loss_D {means[0]:.4f}  loss_pix {means[1]:.4f}  loss_adv {means[2]:.4f}  val_rec {val:.4f}")
print("RESULT val_rec_mse", f"{val:.4f}")
