"""A network tells from the expression of single cells whether their donor is ill.

It has early stopping on a validation set, and is applied to donors seen nowhere before. The split is by cells, so
each donor has cells in training and in validation, and the donors are learnt by heart (fixed: donors are split).
"""

import copy
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
n_genes = 40
direction = rng.randn(n_genes) / np.sqrt(n_genes)


def donors(n, cells):
    ill = np.arange(n) % 2
    own = rng.randn(n, n_genes) * 0.8
    own += (2 * ill - 1)[:, None] * direction * 1.6
    x = np.repeat(own, cells, 0) + rng.randn(n * cells, n_genes) * 0.7
    return x, np.repeat(ill, cells), np.repeat(np.arange(n), cells)


x, y, sample = donors(30, 60)
x_new, y_new, _ = donors(60, 30)
mean, std = x.mean(0), x.std(0)
x, x_new = (x - mean) / std, (x_new - mean) / std

if FIXED:
    order = rng.permutation(30)
    is_val = np.isin(sample, order[:7])
else:
    is_val = np.zeros(len(x), bool)
    is_val[rng.permutation(len(x))[: len(x) // 5]] = True
x, y, x_new, y_new = (torch.tensor(a, dtype=torch.float32) for a in (x, y, x_new, y_new))
train_dl = DataLoader(TensorDataset(x[~is_val], y[~is_val]), batch_size=128, shuffle=True)
x_val, y_val = x[is_val], y[is_val]

model = nn.Sequential(
    nn.Linear(n_genes, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def evaluate(x, y):
    model.eval()
    with torch.no_grad():
        out = model(x).squeeze(1)
    return criterion(out, y).item(), ((out > 0) == (y > 0.5)).float().mean().item()


best, waited = (float("inf"), None), 0
for epoch in range(40):
    model.train()
    losses = []
    for xb, yb in train_dl:
        loss = criterion(model(xb).squeeze(1), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    val_loss, val_acc = evaluate(x_val, y_val)
    print(f"epoch {epoch} train {np.mean(losses):.4f} val {val_loss:.4f} val accuracy {val_acc:.4f}")
    if val_loss < best[0]:
        best, waited = (val_loss, copy.deepcopy(model.state_dict())), 0
    else:
        waited += 1
        if waited == 10:
            break

model.load_state_dict(best[1])
val_loss, val_acc = evaluate(x_val, y_val)
new_loss, new_acc = evaluate(x_new, y_new)
print(f"validation loss {val_loss:.4f} accuracy {val_acc:.4f}")
print(f"new donors loss {new_loss:.4f} accuracy {new_acc:.4f}")
print("RESULT new_donors_loss", f"{new_loss:.4f}")
