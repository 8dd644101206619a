"""Demand forecast with quantiles (0.1, 0.5, 0.9): pinball loss, entity embeddings, 4-fold cross-validation."""

import numpy as np
import torch
from sklearn.model_selection import KFold
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(8)
n = 4000
shop, dow = rng.integers(0, 20, n), rng.integers(0, 7, n)
temp, promo, price = rng.normal(15, 8, n), rng.binomial(1, 0.2, n), rng.normal(3, 0.4, n)
shop_level = rng.normal(0, 0.4, 20)
mu = (
    3.5
    + shop_level[shop]
    + np.array([0, -0.1, -0.1, 0, 0.15, 0.35, 0.2])[dow]
    + 0.015 * temp
    + 0.4 * promo
    - 0.5 * (price - 3)
)
sd = 0.12 + 0.15 * promo + 0.05 * (dow > 4)
logq = mu + sd * rng.normal(size=n)  # log demand is modelled
cat = torch.tensor(np.c_[shop, dow])
num = np.c_[temp, promo, price].astype("float32")
y = logq.astype("float32")
Q = torch.tensor([0.1, 0.5, 0.9])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e1, self.e2 = nn.Embedding(20, 6), nn.Embedding(7, 3)
        self.net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 3))

    def forward(self, c, x):
        o = self.net(torch.cat([self.e1(c[:, 0]), self.e2(c[:, 1]), x], 1))
        # the median, and positive distances to the outer quantiles
        lo, hi = nn.functional.softplus(o[:, 0]), nn.functional.softplus(o[:, 2])
        return torch.stack([o[:, 1] - lo, o[:, 1], o[:, 1] + hi], 1)


def pinball(p, y):
    d = y[:, None] - p
    return torch.maximum(Q * d, (Q - 1) * d).mean()


scores, triv, cover = [], [], []
for fold, (tr, te) in enumerate(KFold(4, shuffle=True, random_state=0).split(num)):
    torch.manual_seed(fold)
    m, s = num[tr].mean(0), num[tr].std(0)
    ym, ys = y[tr].mean(), y[tr].std()
    x = torch.tensor((num - m) / s)
    z = torch.tensor((y - ym) / ys)
    dl = DataLoader(TensorDataset(cat[tr], x[tr], z[tr]), batch_size=64, shuffle=True)
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.85)
    for epoch in range(12):
        model.train()
        tot = 0
        for c, xb, zb in dl:
            loss = pinball(model(c, xb), zb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(zb)
        sched.step()
    model.eval()
    with torch.no_grad():
        p = model(cat[te], x[te])
        scores.append(pinball(p, z[te]).item())
        cover.append(((z[te] >= p[:, 0]) & (z[te] <= p[:, 2])).float().mean().item())
        triv.append(pinball(torch.quantile(z[tr], Q).expand(len(te), 3), z[te]).item())
    print(
        f"fold {fold} train {tot / len(tr):.4f} test {scores[-1]:.4f} "
        f"coverage of 10..90 % {cover[-1]:.3f} trivial {triv[-1]:.4f}"
    )
true = torch.tensor(np.stack([mu - 1.2816 * sd, mu, mu + 1.2816 * sd], 1), dtype=torch.float32)
print("oracle", pinball(true, torch.tensor(y)).item() / y.std(), "trivial", np.mean(triv))
print(f"RESULT cv_pinball {np.mean(scores):.4f}")
