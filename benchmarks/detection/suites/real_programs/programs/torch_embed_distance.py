"""A network learns to put pictures of the same digit together by a contrastive loss.

The root of the distances of samples to themselves has no finite gradient, so the weights become NaN (fixed: an epsilon
under the root).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(2)
np.random.seed(2)

X, y = load_digits(return_X_y=True)
X = (X / 16 + 0.2 * np.random.randn(*X.shape)).astype("float32")
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=2, stratify=y)


def pairwise_euclidean(a):
    sq = (a.unsqueeze(1) - a.unsqueeze(0)).pow(2).sum(2)
    if fixed:
        return torch.sqrt(sq + 1e-8)
    return torch.sqrt(sq)


def contrastive(emb, lab, margin=2.0):
    d = pairwise_euclidean(emb)
    same = lab.unsqueeze(1) == lab.unsqueeze(0)
    pos = (d**2)[same].mean()
    neg = (functional.relu(margin - d) ** 2)[~same].mean()
    return pos + neg


enc = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 8))
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
xt, yt = torch.tensor(Xtr), torch.tensor(ytr)


def knn_score():
    enc.eval()
    with torch.no_grad():
        a, b = enc(xt).numpy(), enc(torch.tensor(Xte)).numpy()
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    return KNeighborsClassifier(5).fit(a, ytr).score(b, yte)


for epoch in range(25):
    enc.train()
    perm = torch.randperm(len(xt))
    run = []
    for i in range(0, len(xt) - 63, 64):
        idx = perm[i : i + 64]
        loss = contrastive(enc(xt[idx]), yt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        run.append(loss.item())
    if epoch % 5 == 0 or epoch == 24:
        print("epoch", epoch, "loss", np.mean(run), "knn", knn_score())
print("RESULT knn_accuracy", f"{knn_score():.4f}")
