"""Convolutions over time and frequency and an LSTM over time give the mask of one of two voices.

The maps (B, C, T, F) are viewed as (B, T, C * F) without a permutation, so a row holds pieces of several times and
channels (fixed: time moved before the channels).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(8)
np.random.seed(8)
torch.set_num_threads(1)

T, NF = 40, 20


def voice(rng, base):
    pitch = base + 1.5 * np.sin(np.arange(T) / rng.uniform(4, 9) + rng.uniform(0, 6))
    on = np.repeat(rng.random(T // 5) < 0.7, 5)
    f = np.arange(NF)[None]
    spec = sum(np.exp(-0.5 * ((f - k * pitch[:, None]) / 0.6) ** 2) / k for k in (1, 2, 3))
    return spec * on[:, None] * rng.uniform(0.7, 1.3)


def mixtures(n, seed):
    rng = np.random.default_rng(seed)
    x, m = [], []
    for _ in range(n):
        a, b = voice(rng, 3.2), voice(rng, 5.6)
        noise = np.abs(rng.normal(0, 0.08, (T, NF)))
        x.append((a + b + noise) ** 0.3)
        m.append(a / (a + b + noise + 1e-6))
    return torch.tensor(np.stack(x), dtype=torch.float32)[:, None], torch.tensor(np.stack(m), dtype=torch.float32)


class AudioModel(nn.Module):
    def __init__(self, channels=6, hidden=48):
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv2d(1, 12, 5, padding=2),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.Conv2d(12, 12, 5, padding=2),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.Conv2d(12, channels, 1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        )
        self.lstm = nn.LSTM(channels * NF, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, NF)

    def forward(self, x):
        batch, _, height, _ = x.shape
        out = self.convs(x)  # (B, C, T, F)
        if fixed:
            out = out.permute(0, 2, 1, 3).contiguous()
        out = out.view(batch, height, -1)  # (B, T, C * F)
        out, _ = self.lstm(out)
        return torch.sigmoid(self.fc(out))


xtr, mtr = mixtures(500, 1)
xte, mte = mixtures(120, 2)
model = AudioModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(14):
    model.train()
    order = torch.randperm(len(xtr))
    total = 0.0
    for i in range(0, len(xtr), 20):
        idx = order[i : i + 20]
        optimizer.zero_grad()
        loss = (model(xtr[idx]) - mtr[idx]).pow(2).mean()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        val = (model(xte) - mte).pow(2).mean().item()
    print(f"epoch {epoch + 1} loss {total / len(xtr):.5f} val {val:.5f}")
print("RESULT val_mask_R2", f"{1 - val / mte.var().item():.4f}")
