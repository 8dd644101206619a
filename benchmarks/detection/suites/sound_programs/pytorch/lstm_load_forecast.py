"""Hourly electricity-like load, LSTM forecast of the next 6 hours, gradient clipping, plateau scheduler."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(1)
rng = np.random.default_rng(1)
n = 24 * 7 * 20
t = np.arange(n)
weekend = ((t // 24) % 7 >= 5).astype(float)
ar = np.zeros(n)
for i in range(1, n):
    ar[i] = 0.92 * ar[i - 1] + rng.normal(0, 0.8)
load = 60 + 0.002 * t + 12 * np.sin(2 * np.pi * (t - 7) / 24) + 4 * np.sin(4 * np.pi * t / 24) - 9 * weekend + ar
feats = np.stack([load, np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24), weekend], 1)
split, vsplit = int(n * 0.7), int(n * 0.85)
m, s = load[:split].mean(), load[:split].std()
feats[:, 0] = (load - m) / s
W, H = 36, 6


def windows(lo, hi):
    x, y = [], []
    for i in range(lo, hi - W - H):
        x.append(feats[i : i + W])
        y.append(feats[i + W : i + W + H, 0])
    return torch.tensor(np.array(x), dtype=torch.float32), torch.tensor(np.array(y), dtype=torch.float32)


xtr, ytr = windows(0, split)
xva, yva = windows(split, vsplit)
xte, yte = windows(vsplit, n)


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(4, hidden, batch_first=True)
        self.out = nn.Linear(hidden, H)

    def forward(self, x):
        h, _ = self.lstm(x)
        # predict the change from the last value seen
        return x[:, -1, :1] + self.out(h[:, -1])


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
mse = nn.MSELoss()
for epoch in range(9):
    model.train()
    tot = 0
    for idx in torch.randperm(len(xtr)).split(64):
        optimizer.zero_grad(set_to_none=True)
        loss = mse(model(xtr[idx]), ytr[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tot += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        val = mse(model(xva), yva).item()
    scheduler.step(val)
    print("epoch %d train %.4f val %.4f lr %.5f" % (epoch, tot / len(xtr), val, optimizer.param_groups[0]["lr"]))
model.eval()
with torch.no_grad():
    p = model(xte)
    err = mse(p, yte).item()
    naive = mse(xte[:, -1, :1].expand_as(yte), yte).item()
print("persistence mse %.4f model mse %.4f" % (naive, err))
print("RESULT r2 %.4f" % (1 - err / yte.var().item()))
