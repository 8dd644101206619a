"""A network tells from a table of 24 columns which patients will come back.

The positive class is rare and the loss weighs all alike, so everything is taken for the majority (fixed: class weights
in the loss).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(21)
rng = np.random.RandomState(21)

n, d = 1800, 24
X = rng.randn(n, d)
X[:, 5] = np.round(rng.uniform(20, 90, n))
X[:, 6] = rng.poisson(2, n)
age = (X[:, 5] - 55) / 20
score = 0.9 * X[:, 0] - 0.8 * X[:, 1] + 0.7 * X[:, 2] * X[:, 3] + 0.7 * age + 0.3 * (X[:, 6] - 2) + 1.1 * rng.randn(n)
y = (score > np.quantile(score, 0.93)).astype(int)
print("share of positives", y.mean())

Xtr, Xva, ytr, yva = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
sc = StandardScaler().fit(Xtr)
Xtr, Xva = (torch.tensor(sc.transform(a), dtype=torch.float32) for a in (Xtr, Xva))
ytr, yva = torch.tensor(ytr), torch.tensor(yva)

net = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 2))


class Poly1CE(nn.Module):
    def __init__(self, epsilon=1.0, weight=None):
        super().__init__()
        self.epsilon, self.weight = epsilon, weight

    def forward(self, logits, target):
        pt = torch.softmax(logits, 1).gather(1, target[:, None]).squeeze(1)
        ce = nn.functional.cross_entropy(logits, target, reduction="none", weight=self.weight)
        w = 1.0 if self.weight is None else self.weight[target]
        return (ce + self.epsilon * w * (1 - pt)).mean()


if fixed:
    counts = torch.bincount(ytr).float()
    criterion = Poly1CE(weight=counts.sum() / (2 * counts))
else:
    criterion = Poly1CE()
opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-3)
for epoch in range(20):
    net.train()
    perm = torch.randperm(len(Xtr))
    tot = 0
    for i in range(0, len(Xtr), 64):
        idx = perm[i : i + 64]
        opt.zero_grad()
        loss = criterion(net(Xtr[idx]), ytr[idx])
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        pred = net(Xva).argmax(1)
    if epoch % 4 == 3:
        print(
            f"epoch {epoch + 1} loss {tot / len(Xtr):.4f} val acc {(pred == yva).float().mean():.3f} "
            f"recall of the sick {recall_score(yva, pred):.3f}"
        )
print(confusion_matrix(yva, pred))
print("RESULT val_balanced_accuracy", f"{balanced_accuracy_score(yva, pred):.4f}")
