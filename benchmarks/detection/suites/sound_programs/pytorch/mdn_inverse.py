"""Mixture density network on the inverse-sine toy problem (several answers for one input)."""

import math

import numpy as np
import torch
from torch import nn

torch.manual_seed(9)
rng = np.random.default_rng(9)


def sample(n):
    y = rng.uniform(-1, 1, n)
    x = y + 0.3 * np.sin(2 * math.pi * y) + rng.normal(0, 0.05, n)
    return torch.tensor(x, dtype=torch.float32)[:, None], torch.tensor(y, dtype=torch.float32)[:, None]


xtr, ytr = sample(2000)
xte, yte = sample(1000)
mx, sx = xtr.mean(), xtr.std()
xtr, xte = (xtr - mx) / sx, (xte - mx) / sx


class MDN(nn.Module):
    def __init__(self, k=6, h=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh())
        self.pi, self.mu, self.ls = nn.Linear(h, k), nn.Linear(h, k), nn.Linear(h, k)
        with torch.no_grad():
            self.mu.bias.copy_(torch.linspace(-0.9, 0.9, k))
            self.ls.bias.fill_(-1.0)

    def nll(self, x, y):
        h = self.body(x)
        logpi = torch.log_softmax(self.pi(h), 1)
        ls = self.ls(h).clamp(-5, 2)
        comp = -0.5 * ((y - self.mu(h)) / ls.exp()) ** 2 - ls - 0.5 * math.log(2 * math.pi)
        return -torch.logsumexp(logpi + comp, 1).mean()


net = MDN()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.97)
for ep in range(60):
    tot = 0.0
    for idx in torch.randperm(len(xtr)).split(100):
        loss = net.nll(xtr[idx], ytr[idx])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        tot += loss.item() * len(idx)
    sched.step()
    if ep % 6 == 0 or ep == 59:
        with torch.no_grad():
            print(ep, "train nll %.4f test nll %.4f" % (tot / len(xtr), net.nll(xte, yte).item()))
with torch.no_grad():
    uni = math.log(2.0)  # a uniform guess on [-1, 1]
    print("RESULT nats_gained_over_uniform %.4f" % (uni - net.nll(xte, yte).item()))
