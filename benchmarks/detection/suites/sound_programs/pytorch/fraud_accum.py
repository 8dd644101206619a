"""Imbalanced fraud table (about 4 % positives): weighted BCE, gradient accumulation, average precision."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import QuantileTransformer
from torch import nn

torch.manual_seed(17)
X, y = make_classification(
    9000,
    n_features=20,
    n_informative=9,
    n_redundant=4,
    n_clusters_per_class=3,
    weights=[0.965],
    class_sep=1.1,
    flip_y=0.01,
    random_state=17,
)
X[:, :5] = np.exp(X[:, :5] / 2)  # skewed amounts
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
qt = QuantileTransformer(output_distribution="normal", n_quantiles=500, random_state=0).fit(Xtr)
Xtr = torch.tensor(qt.transform(Xtr), dtype=torch.float32).clamp(-4, 4)
Xte = torch.tensor(qt.transform(Xte), dtype=torch.float32).clamp(-4, 4)
ytr_t = torch.tensor(ytr, dtype=torch.float32)

net = nn.Sequential(
    nn.Linear(20, 64),
    nn.BatchNorm1d(64),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(64, 32),
    nn.BatchNorm1d(32),
    nn.ReLU(),
    nn.Linear(32, 1),
)
prior = ytr.mean()
pos_weight = torch.tensor(((1 - prior) / prior) ** 0.5, dtype=torch.float32)  # a softened weight
crit = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
ACC = 4
for ep in range(16):
    net.train()
    batches = torch.randperm(len(Xtr)).split(64)
    batches = batches[: len(batches) // ACC * ACC]
    tot = 0.0
    opt.zero_grad()
    for k, idx in enumerate(batches):
        loss = crit(net(Xtr[idx]).squeeze(1), ytr_t[idx])
        (loss / ACC).backward()
        if (k + 1) % ACC == 0:
            opt.step()
            opt.zero_grad()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        p = torch.sigmoid(net(Xte)).squeeze(1).numpy()
    print(
        f"{ep} loss {tot / len(batches):.4f} AP {average_precision_score(yte, p):.4f} AUC {roc_auc_score(yte, p):.4f}"
    )
print("base rate %.3f" % yte.mean())
print("RESULT average_precision %.4f" % average_precision_score(yte, p))
