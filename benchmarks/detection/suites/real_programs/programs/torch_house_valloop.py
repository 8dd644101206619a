"""A regression with dropout stops early by its validation loss.

The validation loop leaves the network in training mode, so dropout stays active and batch normalisation takes in
validation batches (fixed: ``net.eval()`` before it).
"""

import copy
import sys

import numpy as np
import torch
from sklearn.datasets import make_friedman1
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(6)
np.random.seed(6)
X, y = make_friedman1(n_samples=1500, n_features=10, noise=1.0, random_state=6)
X = (X - X.mean(0)) / X.std(0)
y = (y - y.mean()) / y.std()
X, y = torch.tensor(X).float(), torch.tensor(y).float().view(-1, 1)
n_tr = 1100
tr = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[:n_tr], y[:n_tr]), batch_size=50, shuffle=True)
va = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X[n_tr:], y[n_tr:]), batch_size=8)


def dnn(hidden=(64, 64), p=0.5):
    layers, last = [], 10
    for h in hidden:
        layers += [nn.Linear(last, h), nn.BatchNorm1d(h), nn.SELU(), nn.Dropout(p)]
        last = h
    return nn.Sequential(*layers, nn.Linear(last, 1))


net = dnn()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()
best, best_net, wait, patience = 1e9, None, 0, 12
for epoch in range(80):
    net.train()
    train_l = []
    for b, t in tr:
        opt.zero_grad()
        loss = mse(net(b), t)
        loss.backward()
        opt.step()
        train_l.append(loss.item())
    if fixed:
        net.eval()
    se, n = 0.0, 0
    with torch.no_grad():
        for b, t in va:
            se += ((net(b) - t) ** 2).sum().item()
            n += len(t)
    val = se / n
    if epoch % 5 == 0:
        print(f"Loss at epoch {epoch + 1}: training: {np.mean(train_l):.3f}, validation: {val:.3f}, lr: 0.005")
    if val < best:
        best, best_net, wait = val, copy.deepcopy(net), 0
    else:
        wait += 1
        if wait >= patience:
            print("stopped early at", epoch + 1)
            break
print("RESULT best_val_r2", f"{1 - best / y[n_tr:].var(unbiased=False).item():.4f}")
