"""A denoiser's loss takes the root of 0 in silent frames, where its gradient is NaN (fixed: epsilon in the root)."""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
EPS = 1e-8
BANDS, FRAMES = 15, 30


def spectrogram(n):
    """band envelopes of 'utterances': syllables with a formant each, pauses between them"""
    clean = np.zeros((n, BANDS, FRAMES), dtype=np.float32)
    noisy = np.zeros_like(clean)
    b = np.arange(BANDS)[:, None]
    for k in range(n):
        t = rng.randint(0, 4)
        end = rng.randint(20, FRAMES + 1)
        while t < end - 3:
            dur = rng.randint(3, 7)
            centre, width = rng.uniform(1, BANDS - 2), rng.uniform(0.8, 2.0)
            shape = np.exp(-((b - centre) ** 2) / (2 * width**2)) * np.hanning(dur + 2)[1:-1]
            stop = min(t + dur, end)
            clean[k, :, t:stop] += shape[:, : stop - t]
            t = stop + rng.randint(1, 4)
        noise = np.abs(rng.randn(BANDS, FRAMES)) * rng.uniform(0.1, 0.5)
        noisy[k] = clean[k] + noise
        noisy[k, :, end:] = 0.0
    return torch.tensor(noisy), torch.tensor(clean)


def norm(x, dim):
    if fixed:
        return torch.sqrt(torch.sum(x**2, dim=dim, keepdim=True) + EPS)
    return torch.sqrt(torch.sum(x**2, dim=dim, keepdim=True)) + EPS


class NegSTOILoss(nn.Module):
    def forward(self, est, clean):
        est = est - est.mean(dim=1, keepdim=True)
        clean = clean - clean.mean(dim=1, keepdim=True)
        est = est / norm(est, 1)
        clean = clean / norm(clean, 1)
        active = (clean.abs().sum(dim=1) > 0.5).float()
        corr = (est * clean).sum(dim=1)
        return -((corr * active).sum(dim=1) / active.sum(dim=1)).mean()


class Denoiser(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(BANDS, hidden, batch_first=True)
        self.out = nn.Linear(hidden, BANDS)

    def forward(self, noisy):
        h, _ = self.rnn(noisy.transpose(1, 2))
        return noisy * torch.sigmoid(self.out(h)).transpose(1, 2)


train_noisy, train_clean = spectrogram(600)
test_noisy, test_clean = spectrogram(150)
model = Denoiser()
loss_func = NegSTOILoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

with torch.no_grad():
    print(f"unprocessed: correlation {-loss_func(test_noisy, test_clean).item():.4f}")
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(len(train_noisy)).split(30):
        optimizer.zero_grad()
        loss = loss_func(model(train_noisy[idx]), train_clean[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    with torch.no_grad():
        score = -loss_func(model(test_noisy), test_clean).item()
    print(f"epoch {epoch + 1}  loss {total / len(train_noisy):.4f}  test correlation {score:.4f}")

print("RESULT test_correlation", f"{score:.4f}")
