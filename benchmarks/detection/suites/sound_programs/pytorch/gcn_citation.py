"""Two layer GCN (Kipf & Welling), semi-supervised and full batch, on a generated citation graph: sparse adjacency,
bag-of-words features, 20 labels per class, dropout 0.5, weight decay 5e-4."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

np.random.seed(42)
torch.manual_seed(42)
N, C, V = 1500, 5, 300
labels = np.random.randint(0, C, N)
# words
topic = np.random.dirichlet(np.full(V, 0.15), C)
back = np.random.dirichlet(np.full(V, 1.0))
feat = np.zeros((N, V), dtype="float32")
for i in range(N):
    p = 0.3 * topic[labels[i]] + 0.7 * back
    feat[i, np.random.choice(V, 18, p=p)] = 1
feat /= feat.sum(1, keepdims=True)
# citations: 78 % inside the class
edges = set()
by_class = [np.where(labels == c)[0] for c in range(C)]
for i in range(N):
    for _ in range(2):
        j = np.random.choice(by_class[labels[i]]) if np.random.rand() < 0.78 else np.random.randint(N)
        if i != j:
            edges.add((i, j))
            edges.add((j, i))
for i in range(N):
    edges.add((i, i))
e = torch.tensor(sorted(edges)).t()
deg = torch.zeros(N).index_add_(0, e[0], torch.ones(e.shape[1]))
w = deg[e[0]].rsqrt() * deg[e[1]].rsqrt()
adj = torch.sparse_coo_tensor(e, w, (N, N)).coalesce()

perm = np.random.permutation(N)
train = np.concatenate([perm[labels[perm] == c][:20] for c in range(C)])
rest = np.setdiff1d(perm, train)
np.random.shuffle(rest)
idx_train, idx_val, idx_test = map(torch.as_tensor, (train, rest[:300], rest[300:]))
x, y = torch.tensor(feat), torch.tensor(labels)


class GraphConvolution(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1, self.gc2 = GraphConvolution(V, 16), GraphConvolution(16, C)

    def forward(self, x, adj):
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, 0.5, self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


def accuracy(out, idx):
    return (out[idx].argmax(1) == y[idx]).float().mean().item()


for epoch in range(200):
    model.train()
    optimizer.zero_grad()
    out = model(x, adj)
    loss = F.nll_loss(out[idx_train], y[idx_train])
    loss.backward()
    optimizer.step()
    if (epoch + 1) % 20 == 0:
        model.eval()
        with torch.no_grad():
            out = model(x, adj)
        print(
            f"epoch {epoch + 1} train {loss.item():.4f} val {F.nll_loss(out[idx_val], y[idx_val]).item():.4f} "
            f"acc {accuracy(out, idx_val):.4f}"
        )
print(f"RESULT test_accuracy {accuracy(out, idx_test):.4f}")
