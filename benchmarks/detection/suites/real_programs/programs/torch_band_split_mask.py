"""A small band-split network takes the voice out of a mixture with a mask for each frequency band.

The MLP of a band gives its mask as (batch, time, frequency), and view takes it as (batch, frequency, time), so that the
times and frequencies of the mask are mixed up (fixed: permute before the view).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(5)
rng = np.random.RandomState(5)
FREQ, TIME = 40, 30
BANDS = [(0, 8), (8, 16), (16, 28), (28, 40)]


def partials(f0, envelope, width, decay):
    f = np.arange(FREQ)[:, None]
    out = np.zeros((FREQ, TIME))
    for k in range(1, 8):
        out += decay ** (k - 1) * np.exp(-((f - k * f0[None]) ** 2) / (2 * width**2))
    return out * envelope[None]


def song():
    t = np.arange(TIME)
    vibrato = np.sin(2 * np.pi * t / rng.uniform(6, 10) + rng.uniform(0, 6.3))
    on = np.zeros(TIME)
    start, stop = rng.randint(0, 12), rng.randint(18, TIME)
    on[start:stop] = 1
    vocals = partials(
        rng.uniform(5, 8) + 0.5 * vibrato + rng.uniform(-0.05, 0.05) * t, on * rng.uniform(0.7, 1.2), 0.8, 0.8
    )
    guitar = partials(np.full(TIME, rng.uniform(3, 4.5)), np.exp(-(t % 10) / 5.0) * rng.uniform(0.6, 1.1), 0.6, 0.8)
    drums = np.zeros((FREQ, TIME))
    drums[:, rng.randint(0, 8) :: 8] = rng.uniform(0.4, 0.8) * np.linspace(0.4, 1, FREQ)[:, None]
    noise = np.abs(rng.randn(FREQ, TIME)) * 0.03
    return vocals + guitar + drums + noise, vocals


def make(n):
    mix, vocals = zip(*[song() for _ in range(n)], strict=True)
    return torch.tensor(np.stack(mix), dtype=torch.float32), torch.tensor(np.stack(vocals), dtype=torch.float32)


class BandSplit(nn.Module):
    def __init__(self, fc):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(e - s) for s, e in BANDS])
        self.fcs = nn.ModuleList([nn.Linear(e - s, fc) for s, e in BANDS])

    def forward(self, x):
        parts = [self.fcs[i](self.norms[i](x[:, s:e].transpose(1, 2))) for i, (s, e) in enumerate(BANDS)]
        return torch.stack(parts, dim=1)


class BandSequence(nn.Module):
    def __init__(self, fc, hidden):
        super().__init__()
        self.time_rnn = nn.GRU(fc, hidden, batch_first=True, bidirectional=True)
        self.time_fc = nn.Linear(2 * hidden, fc)
        self.band_rnn = nn.GRU(fc, hidden, batch_first=True, bidirectional=True)
        self.band_fc = nn.Linear(2 * hidden, fc)

    def forward(self, x):
        b, k, t, n = x.shape
        h = self.time_rnn(x.reshape(b * k, t, n))[0]
        x = x + self.time_fc(h).reshape(b, k, t, n)
        h = self.band_rnn(x.transpose(1, 2).reshape(b * t, k, n))[0]
        return x + self.band_fc(h).reshape(b, t, k, n).transpose(1, 2)


class MaskEstimation(nn.Module):
    def __init__(self, fc, mlp):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(fc) for _ in BANDS])
        self.mlps = nn.ModuleList(
            [nn.Sequential(nn.Linear(fc, mlp), nn.Tanh(), nn.Linear(mlp, 2 * (e - s)), nn.GLU()) for s, e in BANDS]
        )

    def forward(self, x):
        outs = []
        for i in range(x.shape[1]):
            out = self.mlps[i](self.norms[i](x[:, i]))
            b, t, f = out.shape
            if FIXED:
                out = out.permute(0, 2, 1).contiguous()
            outs.append(out.view(b, f, t))
        return torch.cat(outs, dim=1)


class BandSplitRNN(nn.Module):
    def __init__(self, fc=32, hidden=32, mlp=64):
        super().__init__()
        self.split, self.sequence, self.mask = BandSplit(fc), BandSequence(fc, hidden), MaskEstimation(fc, mlp)

    def forward(self, x):
        return x * self.mask(self.sequence(self.split(x)))


mix_train, voc_train = make(400)
mix_val, voc_val = make(100)
model = BandSplitRNN()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.85)
criterion = nn.L1Loss()

for epoch in range(14):
    model.train()
    losses = []
    for idx in torch.randperm(len(mix_train)).split(20):
        optimizer.zero_grad()
        loss = criterion(model(mix_train[idx]), voc_train[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    model.eval()
    with torch.no_grad():
        estimate = model(mix_val)
    print(f"epoch {epoch} loss {np.mean(losses):.4f} val loss {criterion(estimate, voc_val).item():.4f}")

noise = ((estimate - voc_val) ** 2).sum((1, 2))
sdr = 10 * torch.log10((voc_val**2).sum((1, 2)) / noise)
print("RESULT val_sdr_db", f"{sdr.mean().item():.4f}")
