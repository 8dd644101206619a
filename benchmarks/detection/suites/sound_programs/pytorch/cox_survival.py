"""Neural Cox proportional hazards on simulated censored patients, full-batch partial likelihood, concordance score."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(2)
torch.manual_seed(2)
N, P = 1200, 12
X = rng.normal(size=(N, P))
X[:, 0] = X[:, 0] > 0.3  # treatment arm
X[:, 1] = 60 + 9 * X[:, 1]  # age
X[:, 2] = np.exp(0.6 * X[:, 2])  # a lab value
risk = -0.9 * X[:, 0] + 0.07 * (X[:, 1] - 60) + 0.8 * np.log(X[:, 2]) + 0.5 * X[:, 3] ** 2 - 0.5
T = rng.weibull(1.3, N) * 5 * np.exp(-risk / 1.3)
C = rng.exponential(8, N)
time, event = np.minimum(T, C), (T <= C).astype(np.float32)
print("events: %.2f" % event.mean())
tr, va, te = np.split(rng.permutation(N), [800, 950])
X[:, 2] = np.log(X[:, 2])
m, s = X[tr].mean(0), X[tr].std(0)
Z = torch.tensor((X - m) / s, dtype=torch.float32)


def cox_loss(h, t, e):
    order = torch.argsort(t, descending=True)
    h, e = h[order], e[order]
    return -((h - torch.logcumsumexp(h, 0)) * e).sum() / e.sum()


def c_index(h, t, e):
    num = den = 0.0
    for i in np.where(e == 1)[0]:
        later = t > t[i]
        den += later.sum()
        num += (h[later] < h[i]).sum()
    return num / den


net = nn.Sequential(nn.Linear(P, 24), nn.Tanh(), nn.Dropout(0.1), nn.Linear(24, 1, bias=False))
opt = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=1e-3)
tt, ee = torch.tensor(time), torch.tensor(event)
best, keep = np.inf, None
for ep in range(200):
    net.train()
    loss = cox_loss(net(Z[tr]).squeeze(1), tt[tr], ee[tr])
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        v = cox_loss(net(Z[va]).squeeze(1), tt[va], ee[va]).item()
    if v < best:
        best, keep = v, {k: w.clone() for k, w in net.state_dict().items()}
    if ep % 20 == 0:
        print(ep, "train %.4f val %.4f" % (loss.item(), v))
net.load_state_dict(keep)
net.eval()
with torch.no_grad():
    h = net(Z[te]).squeeze(1).numpy()
print("best possible c-index %.3f" % c_index(risk[te], time[te], event[te]))
print("RESULT c_index %.4f" % c_index(h, time[te], event[te]))
