"""Diabetes progression (442 patients) with a small MLP, smooth L1 loss, AdamW and early stopping."""

import copy

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

torch.manual_seed(0)
rng = np.random.RandomState(0)
X, y = load_diabetes(return_X_y=True)
X_tmp, X_te, y_tmp, y_te = train_test_split(X, y, test_size=0.2, random_state=1)
X_tr, X_va, y_tr, y_va = train_test_split(X_tmp, y_tmp, test_size=0.2, random_state=1)
sx = StandardScaler().fit(X_tr)
mu, sd = y_tr.mean(), y_tr.std()


def prep(a, b):
    return (torch.tensor(sx.transform(a), dtype=torch.float32), torch.tensor((b - mu) / sd, dtype=torch.float32))


xtr, ttr = prep(X_tr, y_tr)
xva, tva = prep(X_va, y_va)
xte, _ = prep(X_te, y_te)

net = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Dropout(0.2), nn.Linear(32, 16), nn.SiLU(), nn.Linear(16, 1))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
crit = nn.SmoothL1Loss()
best, best_state, patience, bad = float("inf"), None, 25, 0
for epoch in range(300):
    net.train()
    perm = torch.randperm(len(xtr))
    for i in range(0, len(perm), 32):
        idx = perm[i : i + 32]
        loss = crit(net(xtr[idx]).squeeze(1), ttr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        va = crit(net(xva).squeeze(1), tva).item()
    if va < best - 1e-4:
        best, best_state, bad = va, copy.deepcopy(net.state_dict()), 0
    else:
        bad += 1
        if bad >= patience:
            print("early stop at", epoch)
            break
    if epoch % 10 == 0:
        print(epoch, "val", round(va, 4))
net.load_state_dict(best_state)
net.eval()
with torch.no_grad():
    pred = net(xte).squeeze(1).numpy() * sd + mu
print("RESULT r2 %.4f" % r2_score(y_te, pred))
