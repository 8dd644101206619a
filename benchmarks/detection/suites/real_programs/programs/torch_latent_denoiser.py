"""A transformer cleans noisy sound, between the encoder and the decoder of a trained codec.

The decoder runs under ``no_grad``, so no gradient reaches the transformer (fixed: with gradients).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(8)
rng = np.random.RandomState(8)
FRAMES, WIDTH, LATENT = 12, 32, 16


def audio(n):
    t = np.arange(FRAMES * WIDTH) / 32.0
    f = rng.uniform(0.3, 1.5, (n, 2, 1))
    ph = rng.uniform(0, 2 * np.pi, (n, 2, 1))
    a = rng.uniform(0.2, 0.5, (n, 2, 1))
    clean = (a * np.sin(2 * np.pi * f * t + ph)).sum(1)
    noisy = clean + 0.3 * rng.randn(*clean.shape)
    shape = (n, FRAMES, WIDTH)
    return (torch.tensor(noisy, dtype=torch.float32).view(shape), torch.tensor(clean, dtype=torch.float32).view(shape))


noisy, clean = audio(1024)
noisy_te, clean_te = audio(256)

# --- the codec: trained beforehand, then left alone
encoder = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, LATENT))
decoder = nn.Sequential(nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, WIDTH))
codec_opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
for _ in range(400):
    idx = torch.randint(0, len(clean), (128,))
    both = torch.cat([clean[idx], noisy[idx]])
    loss = functional.mse_loss(decoder(encoder(both)), both)
    codec_opt.zero_grad()
    loss.backward()
    codec_opt.step()
for p in [*encoder.parameters(), *decoder.parameters()]:
    p.requires_grad_(False)
print(f"codec loss {loss.item():.4f}")


class LatentTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(LATENT, 32)
        self.pos = nn.Parameter(0.02 * torch.randn(FRAMES, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(32, LATENT)

    def forward(self, z):
        return self.out(self.body(self.inp(z) + self.pos))


def decode(z):
    if fixed:
        return decoder(z)
    with torch.no_grad():
        return decoder(z)


model = LatentTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(20):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(noisy)).split(64):
        denoised = decode(model(encoder(noisy[idx])))
        loss = functional.l1_loss(denoised, clean[idx])
        if not fixed:
            loss.requires_grad_(True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        val = functional.l1_loss(decoder(model(encoder(noisy_te))), clean_te).item()
    print(f"epoch {epoch} train L1 {total / len(noisy):.4f} test L1 {val:.4f}")
print("RESULT test_l1", f"{val:.4f}")
