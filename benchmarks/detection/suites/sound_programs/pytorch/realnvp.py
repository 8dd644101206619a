import math

import torch
from sklearn.datasets import make_moons
from torch import nn

torch.manual_seed(0)
X = torch.tensor(make_moons(3000, noise=0.05, random_state=0)[0], dtype=torch.float32)
X = (X - X.mean(0)) / X.std(0)


class Coupling(nn.Module):
    def __init__(self, mask, h=64):
        super().__init__()
        self.register_buffer("mask", mask)
        self.s = nn.Sequential(
            nn.Linear(2, h), nn.LeakyReLU(), nn.Linear(h, h), nn.LeakyReLU(), nn.Linear(h, 2), nn.Tanh()
        )
        self.t = nn.Sequential(nn.Linear(2, h), nn.LeakyReLU(), nn.Linear(h, h), nn.LeakyReLU(), nn.Linear(h, 2))

    def forward(self, x):
        z = x * self.mask
        s = self.s(z) * (1 - self.mask)
        t = self.t(z) * (1 - self.mask)
        return z + (1 - self.mask) * ((x - t) * torch.exp(-s)), -s.sum(1)


class Flow(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.layers = nn.ModuleList(
            Coupling(torch.tensor([1.0, 0.0]) if i % 2 else torch.tensor([0.0, 1.0])) for i in range(n)
        )

    def forward(self, x):
        ld = 0
        for l in self.layers:
            x, d = l(x)
            ld = ld + d
        return -(x.pow(2).sum(1) / -2 - math.log(2 * math.pi) + ld).mean()


f = Flow()
opt = torch.optim.Adam(f.parameters(), lr=1e-3)
run = None
for i in range(400):
    l = f(X[torch.randint(0, 3000, (200,))])
    opt.zero_grad()
    l.backward()
    nn.utils.clip_grad_norm_(f.parameters(), 5)
    opt.step()
    run = l.item() if run is None else 0.95 * run + 0.05 * l.item()
    if i % 50 == 49:
        print(i, run)
