"""Dilated causal TCN that tells chirp-like sounds apart in noisy raw waveforms, RMSprop, Kaiming init."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(12)
torch.manual_seed(12)
L, NAMES = 256, ["tone", "up", "down", "tremolo", "click"]


def wave(c):
    t = np.linspace(0, 1, L)
    f0 = rng.uniform(10, 25)
    ph = rng.uniform(0, 2 * np.pi)
    if c == 0:
        s = np.sin(2 * np.pi * f0 * t + ph)
    elif c in (1, 2):
        k = rng.uniform(15, 30) * (1 if c == 1 else -1)
        f = f0 if c == 1 else f0 + 28
        s = np.sin(2 * np.pi * (f * t + k * t * t / 2) + ph)
    elif c == 3:
        s = np.sin(2 * np.pi * f0 * t + ph) * (0.5 + 0.5 * np.sin(2 * np.pi * rng.uniform(3, 6) * t + ph))
    else:
        s = np.zeros(L)
        for p in rng.integers(10, L - 30, 4):
            s[p : p + 30] += np.exp(-np.arange(30) / 6) * np.sin(np.arange(30) * 1.3) * 1.5
    return s * rng.uniform(0.7, 1.3) + rng.normal(0, 0.35, L)


def make(n):
    y = rng.integers(0, 5, n)
    x = np.stack([wave(c) for c in y]).astype(np.float32)
    x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    return torch.from_numpy(x)[:, None], torch.from_numpy(y)


xtr, ytr = make(1200)
xte, yte = make(400)


class Block(nn.Module):
    def __init__(self, i, o, dil):
        super().__init__()
        self.pad = 4 * dil
        self.conv = nn.Conv1d(i, o, 5, dilation=dil)
        self.norm = nn.BatchNorm1d(o)
        self.drop = nn.Dropout(0.1)
        self.res = nn.Conv1d(i, o, 1) if i != o else nn.Identity()
        nn.init.kaiming_normal_(self.conv.weight, nonlinearity="relu")
        nn.init.zeros_(self.conv.bias)

    def forward(self, x):
        h = self.drop(F.relu(self.norm(self.conv(F.pad(x, (self.pad, 0))))))
        return h + self.res(x)


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(1, 16, 1), Block(16, 16, 2), Block(16, 16, 4), Block(16, 16, 8))
        self.fc = nn.Linear(32, 5)

    def forward(self, x):
        h = self.blocks(x)
        return self.fc(torch.cat([h.mean(2), h.amax(2)], 1))


net = TCN()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [4, 6], 0.3)
for ep in range(8):
    net.train()
    tot = 0.0
    for idx in torch.randperm(len(xtr)).split(40):
        loss = F.cross_entropy(net(xtr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
    sched.step()
    net.eval()
    with torch.no_grad():
        acc = (net(xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {ep} loss {tot / len(xtr):.4f} acc {acc:.4f}")
print("RESULT accuracy %.4f" % acc)
