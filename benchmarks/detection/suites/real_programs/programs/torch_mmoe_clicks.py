"""A mixture of experts with gates learns two tasks, clicks and likes.

Weights of many layers start with a deviation of 0.0001, so all outputs are alike (fixed: Kaiming initialisation).
"""

import sys

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

fixed = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)


class DNN(nn.Module):
    def __init__(self, inputs_dim, hidden_units, init_std=0.0001):
        super().__init__()
        dims = [inputs_dim, *hidden_units]
        self.linears = nn.ModuleList([nn.Linear(dims[i], dims[i + 1]) for i in range(len(dims) - 1)])
        for name, tensor in self.linears.named_parameters():
            if "weight" in name:
                if fixed:
                    nn.init.kaiming_normal_(tensor)
                else:
                    nn.init.normal_(tensor, mean=0, std=init_std)

    def forward(self, x):
        for lin in self.linears:
            x = torch.relu(lin(x))
        return x


class MMOE(nn.Module):
    def __init__(self, dim, n_experts=3, expert_units=(48, 32, 24), tower_units=(24, 16)):
        super().__init__()
        self.experts = nn.ModuleList([DNN(dim, expert_units) for _ in range(n_experts)])
        self.gates = nn.ModuleList([nn.Linear(dim, n_experts) for _ in range(2)])
        self.towers = nn.ModuleList([DNN(expert_units[-1], tower_units) for _ in range(2)])
        self.outs = nn.ModuleList([nn.Linear(tower_units[-1], 1) for _ in range(2)])

    def forward(self, x):
        e = torch.stack([ex(x) for ex in self.experts], dim=1)
        res = []
        for gate, tower, out in zip(self.gates, self.towers, self.outs, strict=True):
            g = torch.softmax(gate(x), dim=1).unsqueeze(-1)
            res.append(out(tower((g * e).sum(dim=1))).squeeze(-1))
        return res


n, dim = 4000, 16
X = np.random.randn(n, dim).astype("float32")
s1 = X[:, 0] * X[:, 1] + X[:, 2] - np.abs(X[:, 3])
s2 = X[:, 0] * X[:, 1] - X[:, 4] + 0.5 * X[:, 5] ** 2
click = (np.random.rand(n) < 1 / (1 + np.exp(-2 * s1))).astype("float32")
like = (np.random.rand(n) < 1 / (1 + np.exp(-2 * s2 + 1))).astype("float32")
Y = np.stack([click, like], 1)
X, Y = torch.from_numpy(X), torch.from_numpy(Y)
Xtr, Ytr, Xva, Yva = X[:3200], Y[:3200], X[3200:], Y[3200:]

model = MMOE(dim)
opt = torch.optim.SGD(model.parameters(), lr=0.15)
bce = nn.BCEWithLogitsLoss()
for epoch in range(8):
    perm = torch.randperm(len(Xtr))
    total = 0.0
    for k in range(0, len(Xtr), 128):
        idx = perm[k : k + 128]
        clicks, likes = model(Xtr[idx])
        loss = bce(clicks, Ytr[idx, 0]) + bce(likes, Ytr[idx, 1])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    with torch.no_grad():
        clicks, likes = model(Xva)
    auc = (roc_auc_score(Yva[:, 0], clicks), roc_auc_score(Yva[:, 1], likes))
    print(f"epoch {epoch} loss {total / len(Xtr):.4f} auc click {auc[0]:.4f} like {auc[1]:.4f}")

print("RESULT mean_auc", f"{np.mean(auc):.4f}")
