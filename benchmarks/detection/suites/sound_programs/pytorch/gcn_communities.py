"""Two-layer graph convolution, semi-supervised node classes in a stochastic block graph, full batch."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

np.random.seed(11)
torch.manual_seed(11)
N, K = 600, 4
labels = np.random.randint(0, K, N)
P = np.where(labels[:, None] == labels[None, :], 0.035, 0.006)
A = np.triu(np.random.rand(N, N) < P, 1)
A = (A | A.T).astype(np.float32)
feat = np.random.randn(N, 24).astype(np.float32)
centres = np.random.randn(K, 24) * 0.45
feat += centres[labels]
feat = (feat - feat.mean(0)) / feat.std(0)
A_hat = A + np.eye(N, dtype=np.float32)
d = A_hat.sum(1) ** -0.5
adj = torch.tensor(A_hat * d[:, None] * d[None, :])
x, y = torch.tensor(feat, dtype=torch.float32), torch.tensor(labels)
order = torch.randperm(N)
train, val, test = order[:120], order[120:240], order[240:]


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, h, a):
        return a @ (h @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.g1, self.g2 = GraphConv(24, 32), GraphConv(32, K)

    def forward(self, h, a):
        h = F.relu(self.g1(F.dropout(h, 0.3, self.training), a))
        return self.g2(F.dropout(h, 0.5, self.training), a)


gcn = GCN()
opt = torch.optim.Adam(
    [{"params": gcn.g1.parameters(), "weight_decay": 5e-4}, {"params": gcn.g2.parameters(), "weight_decay": 0.0}],
    lr=0.01,
)
for ep in range(150):
    gcn.train()
    opt.zero_grad()
    loss = F.cross_entropy(gcn(x, adj)[train], y[train])
    loss.backward()
    opt.step()
    if ep % 15 == 0:
        gcn.eval()
        with torch.no_grad():
            p = gcn(x, adj).argmax(1)
        print(ep, "loss %.3f val %.3f" % (loss.item(), (p[val] == y[val]).float().mean()))
gcn.eval()
with torch.no_grad():
    p = gcn(x, adj).argmax(1)
print("RESULT accuracy %.4f" % (p[test] == y[test]).float().mean().item())
