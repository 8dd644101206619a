"""Small residual net on textured 16x16 pictures, 10 % wrong labels, mixup, Nesterov SGD, one-cycle, EMA weights."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel

torch.manual_seed(31)
rng = np.random.default_rng(31)
S, K = 16, 6


def make(n, noise):
    y = rng.integers(0, K, n)
    g = np.mgrid[:S, :S] / S
    x = np.zeros((n, 3, S, S), np.float32)
    for i, c in enumerate(y):
        ang, freq = (c % 3) * np.pi / 3 + rng.normal(0, 0.12), 2.5 if c < 3 else 4.5
        freq *= rng.uniform(0.85, 1.15)
        wave = np.sin(2 * np.pi * freq * (g[0] * np.cos(ang) + g[1] * np.sin(ang)) + rng.uniform(0, 6.28))
        x[i] = 0.5 + rng.uniform(0.05, 0.25, (3, 1, 1)) * wave + rng.normal(0, 0.15, (3, S, S))
    lab = y.copy()
    flip = rng.random(n) < noise
    lab[flip] = rng.integers(0, K, flip.sum())
    return torch.from_numpy((x.clip(0, 1) - 0.5) / 0.2), torch.from_numpy(lab)


xtr, ytr = make(1400, 0.1)
xte, yte = make(500, 0.0)


class Res(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.c2, self.b2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.skip = nn.Conv2d(i, o, 1, stride, bias=False) if stride > 1 or i != o else nn.Identity()

    def forward(self, x):
        h = F.relu(self.b1(self.c1(x)))
        return F.relu(self.b2(self.c2(h)) + self.skip(x))


net = nn.Sequential(
    nn.Conv2d(3, 16, 3, 1, 1, bias=False),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    Res(16, 16, 1),
    Res(16, 32, 2),
    Res(32, 48, 2),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(48, K),
)
ema = AveragedModel(net, avg_fn=lambda a, p, n: 0.97 * a + 0.03 * p, use_buffers=False)
E, B = 8, 64
nb = len(xtr) // B
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=E * nb, pct_start=0.25)
beta = torch.distributions.Beta(0.3, 0.3)
for ep in range(E):
    net.train()
    tot = 0.0
    for idx in torch.randperm(len(xtr))[: nb * B].split(B):
        lam, p = beta.sample(), torch.randperm(B)
        xb = lam * xtr[idx] + (1 - lam) * xtr[idx][p]
        out = net(xb)
        loss = lam * F.cross_entropy(out, ytr[idx]) + (1 - lam) * F.cross_entropy(out, ytr[idx][p])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        ema.update_parameters(net)
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        print(ep, "loss %.4f raw test acc %.4f" % (tot / nb, (net(xte).argmax(1) == yte).float().mean()))
torch.optim.swa_utils.update_bn(xtr.split(100), ema)
ema.eval()
with torch.no_grad():
    print("RESULT ema_accuracy %.4f" % (ema(xte).argmax(1) == yte).float().mean().item())
