"""Biased matrix factorisation for 1-5 star ratings with Adagrad; the noise of the ratings bounds the error."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(5)
torch.manual_seed(5)
U, I, D = 400, 250, 3
pu, qi = rng.normal(0, 0.6, (U, D)), rng.normal(0, 0.6, (I, D))
bu, bi = rng.normal(0, 0.35, U), rng.normal(0, 0.45, I)
pop = rng.pareto(1.5, I) + 0.3
pairs = set()
while len(pairs) < 24000:
    us = rng.integers(0, U, 5000)
    its = rng.choice(I, 5000, p=pop / pop.sum())
    pairs.update(zip(us.tolist(), its.tolist()))
pairs = np.array(sorted(pairs))
rng.shuffle(pairs)
u, i = pairs[:, 0], pairs[:, 1]
r = 3.5 + bu[u] + bi[i] + (pu[u] * qi[i]).sum(1) + rng.normal(0, 0.4, len(u))
r = np.clip(np.round(r * 2) / 2, 1, 5)
cut = int(0.85 * len(u))
u, i, r = torch.tensor(u), torch.tensor(i), torch.tensor(r, dtype=torch.float32)


class BiasedMF(nn.Module):
    def __init__(self, mean, dim=8):
        super().__init__()
        self.register_buffer("mean", mean)
        self.user, self.item = nn.Embedding(U, dim), nn.Embedding(I, dim)
        self.ub, self.ib = nn.Embedding(U, 1), nn.Embedding(I, 1)
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.ub, self.ib):
            nn.init.zeros_(e.weight)

    def forward(self, a, b):
        return self.mean + self.ub(a).squeeze(-1) + self.ib(b).squeeze(-1) + (self.user(a) * self.item(b)).sum(-1)


mf = BiasedMF(r[:cut].mean())
opt = torch.optim.Adagrad(mf.parameters(), lr=0.08)
lam = 0.02
for ep in range(14):
    mf.train()
    se = 0.0
    for idx in torch.randperm(cut).split(256):
        pred = mf(u[idx], i[idx])
        err = (pred - r[idx]) ** 2
        reg = mf.user(u[idx]).pow(2).sum(1) + mf.item(i[idx]).pow(2).sum(1)
        loss = (err + lam * reg).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        se += err.sum().item()
    mf.eval()
    with torch.no_grad():
        te = (mf(u[cut:], i[cut:]).clamp(1, 5) - r[cut:]).pow(2).mean().sqrt().item()
    print(f"{ep} train rmse {(se / cut) ** 0.5:.4f} test rmse {te:.4f}")
base = (r[cut:] - r[:cut].mean()).pow(2).mean().sqrt().item()
print("mean predictor", round(base, 4))
print("RESULT rmse %.4f" % te)
