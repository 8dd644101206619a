"""A graph autoencoder embeds nodes by two graph convolutions and predicts edges by inner products.

The features of the nodes still contain their running index, whose size drowns all other features (fixed: without the
index).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.RandomState(0)

N, GROUPS, FEATURES = 600, 8, 20

group = rng.randint(GROUPS, size=N)
centres = rng.normal(size=(GROUPS, FEATURES))
table = np.column_stack([np.arange(N), centres[group] + rng.normal(scale=0.8, size=(N, FEATURES))])
x = table[:, 1:] if FIXED else table
x = torch.from_numpy(x).float()

prob = np.where(group[:, None] == group[None, :], 0.12, 0.004)
upper = np.triu(rng.uniform(size=(N, N)) < prob, 1)
edges = np.argwhere(upper)
rng.shuffle(edges)
n_test = len(edges) // 10
test_pos, train_pos = edges[:n_test], edges[n_test:]


def sample_negatives(n):
    found = []
    while len(found) < n:
        i, j = sorted(rng.randint(N, size=2))
        if i != j and not upper[i, j]:
            found.append((i, j))
    return np.array(found)


test_neg = sample_negatives(n_test)

adjacency = torch.eye(N)
adjacency[train_pos[:, 0], train_pos[:, 1]] = 1
adjacency[train_pos[:, 1], train_pos[:, 0]] = 1
scale = adjacency.sum(1).rsqrt()
adjacency = scale[:, None] * adjacency * scale[None, :]


class GCNEncoder(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin1 = nn.Linear(n_in, 2 * n_out, bias=False)
        self.lin2 = nn.Linear(2 * n_out, n_out, bias=False)

    def forward(self, x):
        h = functional.relu(adjacency @ self.lin1(x))
        return adjacency @ self.lin2(h)


def decode(z, pairs):
    return (z[pairs[:, 0]] * z[pairs[:, 1]]).sum(1)


def recon_loss(z):
    eps = 1e-15
    pos = torch.sigmoid(decode(z, train_pos))
    neg = torch.sigmoid(decode(z, sample_negatives(len(train_pos))))
    return -torch.log(pos + eps).mean() - torch.log(1 - neg + eps).mean()


def test():
    model.eval()
    with torch.no_grad():
        z = model(x)
        scores = torch.sigmoid(torch.cat([decode(z, test_pos), decode(z, test_neg)])).numpy()
    target = np.r_[np.ones(n_test), np.zeros(n_test)]
    return roc_auc_score(target, scores), average_precision_score(target, scores)


model = GCNEncoder(x.shape[1], 16)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(1, 201):
    model.train()
    optimizer.zero_grad()
    loss = recon_loss(model(x))
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        auc, ap = test()
        print(f"Epoch: {epoch:03d}, Loss: {loss.item():.4f}, AUC: {auc:.4f}, AP: {ap:.4f}")

print("RESULT test_auc", f"{auc:.4f}")
