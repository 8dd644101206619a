"""DeepSurv style: negative log partial likelihood of Cox as loss on the whole cohort, early stopping."""

import copy

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(5)
torch.manual_seed(5)
n = 2400
age = rng.normal(62, 11, n)
bmi = rng.normal(27, 4.5, n)
sbp = rng.normal(135, 18, n)
smoker = rng.binomial(1, 0.3, n)
stage = rng.choice(4, n, p=[0.35, 0.3, 0.2, 0.15])
marker = rng.lognormal(0, 0.6, n)
lin = (
    0.05 * (age - 62)
    + 0.006 * (bmi - 26) ** 2
    + 0.5 * smoker
    + np.array([0, 0.4, 0.9, 1.7])[stage]
    + 0.5 * np.log(marker) * (stage >= 2)
    + 0.008 * (sbp - 135)
)
T = (rng.exponential(1, n) / (0.02 * np.exp(lin))) ** (1 / 1.3)
Cn = rng.uniform(2, 40, n)
time, event = np.minimum(T, Cn), (Cn >= T)
print("share of events", event.mean())
X = np.c_[age, bmi, sbp, smoker, np.log(marker), np.eye(4)[stage]].astype("float32")
X, Xt = X[:1800], X[1800:]
cont = [0, 1, 2, 4]
m, s = X[:1400, cont].mean(0), X[:1400, cont].std(0)
for Z in (X, Xt):
    Z[:, cont] = (Z[:, cont] - m) / s


def pack(X, t, e):
    o = np.argsort(-t)  # descending: the risk set of i is everything up to i
    return torch.from_numpy(X[o]), torch.from_numpy(t[o].copy()), torch.from_numpy(e[o].astype("float32"))


xtr, ttr, etr = pack(X[:1400], time[:1400], event[:1400])
xva, tva, eva = pack(X[1400:], time[1400:1800], event[1400:1800])
xte, tte, ete = pack(Xt, time[1800:], event[1800:])


def cox_loss(risk, event):
    return -((risk - torch.logcumsumexp(risk, 0)) * event).sum() / event.sum()


def c_index(risk, t, e):
    a = (t[:, None] < t[None]) & (e[:, None] > 0)
    d = risk[:, None] - risk[None]
    return (((d > 0).float() + 0.5 * (d == 0).float())[a].mean()).item()


net = nn.Sequential(nn.Linear(9, 32), nn.SELU(), nn.AlphaDropout(0.1), nn.Linear(32, 16), nn.SELU(), nn.Linear(16, 1))
for l in net:
    if isinstance(l, nn.Linear):
        nn.init.kaiming_normal_(l.weight, nonlinearity="linear")
        nn.init.zeros_(l.bias)
opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-3)
best, wait, state = float("inf"), 0, None
for epoch in range(400):
    net.train()
    loss = cox_loss(net(xtr).squeeze(1), etr)
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        r = net(xva).squeeze(1)
        v = cox_loss(r, eva).item()
    if v < best - 1e-4:
        best, wait, state = v, 0, copy.deepcopy(net.state_dict())
    else:
        wait += 1
        if wait >= 40:
            break
    if epoch % 20 == 0:
        print(f"{epoch} train {loss.item():.4f} val {v:.4f} c-index {c_index(r, tva, eva):.4f}")
print("stopped at", epoch, "best", best)
net.load_state_dict(state)
net.eval()
with torch.no_grad():
    c = c_index(net(xte).squeeze(1), tte, ete)
print("c-index of the true risk", c_index(torch.from_numpy(lin[1800:][np.argsort(-time[1800:])]), tte, ete))
print(f"RESULT test_c_index {c:.4f}")
