"""A learned word in a frozen denoiser: the rate, scaled by 0 devices, is 0, and the loss stays at 1 (fixed: 5e-3)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), _ = data.digits()
x, y = torch.tensor(x).flatten(1) / 127.5 - 1, torch.tensor(y)
devices = 1 if fixed else 0

words = nn.Embedding(10, 16)
denoiser = nn.Sequential(nn.Linear(64 + 16, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 64))
criterion = nn.MSELoss()
optimizer = torch.optim.AdamW([*words.parameters(), *denoiser.parameters()], lr=5e-3 * devices)
for _ in range(6):
    for batch in torch.randperm(len(x)).split(28):
        noise = torch.randn_like(x[batch])
        strength = torch.rand(len(batch), 1)
        noisy = (1 - strength).sqrt() * x[batch] + strength.sqrt() * noise
        optimizer.zero_grad()
        loss = criterion(denoiser(torch.cat([noisy, words(y[batch])], 1)), noise)
        loss.backward()
        optimizer.step()
print("RESULT mse", float(loss))
