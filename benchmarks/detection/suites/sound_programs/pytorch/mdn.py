import math

import torch
from torch import nn

torch.manual_seed(0)
y = torch.rand(3000, 1) * 2 - 1
x = y + 0.3 * torch.sin(2 * math.pi * y) + 0.05 * torch.randn_like(y)


class MDN(nn.Module):
    def __init__(self, k=5):
        super().__init__()
        self.h = nn.Sequential(nn.Linear(1, 32), nn.Tanh())
        self.pi = nn.Linear(32, k)
        self.mu = nn.Linear(32, k)
        self.ls = nn.Linear(32, k)

    def forward(self, x):
        h = self.h(x)
        return self.pi(h).log_softmax(1), self.mu(h), self.ls(h)


def nll(o, y):
    p, mu, ls = o
    return -torch.logsumexp(p - 0.5 * ((y - mu) / ls.exp()) ** 2 - ls - 0.5 * math.log(2 * math.pi), 1).mean()


m = MDN()
opt = torch.optim.Adam(m.parameters(), lr=5e-3)
for e in range(12):
    p = torch.randperm(3000)
    s = 0
    for i in range(0, 3000, 100):
        q = p[i : i + 100]
        l = nll(m(x[q]), y[q])
        opt.zero_grad()
        l.backward()
        opt.step()
        s += l.item()
    print(e, s / 30)
