"""An autoencoder looks for anomalies in the metrics of a server.

The test data are scaled by a ``MinMaxScaler`` of their own (fixed: by that of the training data).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.preprocessing import MinMaxScaler
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(4)
rng = np.random.RandomState(4)
D, W = 6, 8


def metrics(n, start):
    t = np.arange(start, start + n)
    base = np.stack([np.sin(2 * np.pi * t / p + k) for k, p in enumerate((24, 24, 48, 12, 36, 24))], 1)
    mix = np.array(
        [
            [1, 0.5, 0, 0, 0.3, 0],
            [0, 1, 0.5, 0, 0, 0.3],
            [0.3, 0, 1, 0.5, 0, 0],
            [0, 0.3, 0, 1, 0.5, 0],
            [0, 0, 0.3, 0, 1, 0.5],
            [0.5, 0, 0, 0.3, 0, 1],
        ]
    )
    return (base @ mix) * np.array([1, 5, 20, 100, 2, 50]) + 0.08 * rng.randn(n, D) * np.array([1, 5, 20, 100, 2, 50])


train = metrics(2500, 0)
test = metrics(1200, 2500)
label = np.zeros(1200, int)
scale = np.array([1, 5, 20, 100, 2, 50])
for s in rng.choice(np.arange(20, 1150), 12, replace=False):
    k = rng.randint(8, 20)
    cols = rng.choice(D, 2, replace=False)
    test[s : s + k, cols] += rng.choice([-1, 1]) * rng.uniform(0.5, 0.9) * scale[cols]
    label[s : s + k] = 1
# a few outages with extreme readings
for s in (300, 800):
    test[s : s + 3] = test[s : s + 3] + 8 * scale
    label[s : s + 3] = 1


def preprocess(a, scaler=None):
    if scaler is None:
        scaler = MinMaxScaler().fit(a)
    return scaler.transform(a).astype("float32"), scaler


train_s, sc = preprocess(train)
test_s, _ = preprocess(test, sc if fixed else None)


def win(a):
    return np.stack([a[i - W + 1 : i + 1].ravel() for i in range(W - 1, len(a))])


xt, xe, ye = torch.tensor(win(train_s)), torch.tensor(win(test_s)), label[W - 1 :]
xv, xt = xt[2000:], xt[:2000]
ae = nn.Sequential(
    nn.Linear(W * D, 32), nn.ReLU(), nn.Linear(32, 8), nn.ReLU(), nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, W * D)
)
opt = torch.optim.Adam(ae.parameters(), lr=2e-3)
for epoch in range(30):
    ae.train()
    perm = torch.randperm(len(xt))
    tot = 0
    for i in range(0, len(xt), 64):
        b = xt[perm[i : i + 64]]
        opt.zero_grad()
        loss = ((ae(b) - b) ** 2).mean()
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
    ae.eval()
    with torch.no_grad():
        v = ((ae(xv) - xv) ** 2).mean().item()
        te = ((ae(xe) - xe) ** 2).mean().item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} train {tot / len(xt):.5f} val {v:.5f} test {te:.5f}")
with torch.no_grad():
    ev = ((ae(xv) - xv) ** 2)[:, -D:].mean(1).numpy()
    ee = ((ae(xe) - xe) ** 2)[:, -D:].mean(1).numpy()
thr = np.quantile(ev, 0.99)
print("auc", roc_auc_score(ye, ee), "alarms", (ee > thr).mean(), "true share", ye.mean())
print("RESULT f1", f"{f1_score(ye, ee > thr):.4f}")
