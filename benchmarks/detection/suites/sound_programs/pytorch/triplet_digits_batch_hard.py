"""Metric learning: batch-hard triplet loss on the digits with normalised embeddings, scored by nearest neighbour."""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from torch import nn

torch.manual_seed(4)
rng = np.random.default_rng(4)
X, y = load_digits(return_X_y=True)
X = X.astype(np.float32) / 16 - 0.3
perm = rng.permutation(len(X))
tr, te = perm[:1300], perm[1300:]
by_class = [tr[y[tr] == c] for c in range(10)]


def pk_batch(p=8, k=6):
    cls = rng.choice(10, p, replace=False)
    idx = np.concatenate([rng.choice(by_class[c], k, replace=False) for c in cls])
    return torch.from_numpy(X[idx]), torch.from_numpy(y[idx])


def batch_hard(emb, lab, margin=0.3):
    d = torch.cdist(emb, emb)
    same = lab[:, None] == lab[None, :]
    eye = torch.eye(len(lab), dtype=torch.bool)
    hardest_pos = d.masked_fill(~same | eye, float("-inf")).max(1).values
    hardest_neg = d.masked_fill(same, float("inf")).min(1).values
    return F.softplus((hardest_pos - hardest_neg + margin) * 5).mean() / 5


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(64, 128), nn.LayerNorm(128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 16)
        )

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


net = Embed()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(900):
    xb, yb = pk_batch()
    loss = batch_hard(net(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, round(loss.item(), 4))
net.eval()
with torch.no_grad():
    E = net(torch.from_numpy(X)).numpy()
knn = KNeighborsClassifier(5).fit(E[tr], y[tr])
print("RESULT knn_accuracy %.4f" % knn.score(E[te], y[te]))
