"""A graph convolution of two layers marks the nodes of a network as normal (0) or fraudulent (1).

The model has a single output and ends in a log_softmax over that one column, which is 0 for every node, so every node
gets the same label and nothing is learnt (fixed: a sigmoid in its place).
"""

import sys

import numpy as np
import torch
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(6)
rng = np.random.RandomState(6)

N, FEATURES = 1000, 16
y = (rng.rand(N) < 0.4).astype(int)
p = np.where(y[:, None] == y[None], 0.012, 0.003)
upper = np.triu(rng.rand(N, N) < p, 1)
adj = (upper | upper.T).astype("float32")
centre = rng.randn(2, FEATURES) * 0.3
x = centre[y] + rng.randn(N, FEATURES)
x = (x - x.mean(0)) / x.std(0)

a = adj + np.eye(N)
d = 1 / np.sqrt(a.sum(1))
a_hat = torch.tensor(a * d[:, None] * d[None], dtype=torch.float32)
x = torch.tensor(x, dtype=torch.float32)
y = torch.tensor(y, dtype=torch.float32).unsqueeze(1)
order = torch.randperm(N)
train_mask, test_mask = order[:600], order[600:]


class GCNConv(torch.nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = torch.nn.Linear(in_channels, out_channels)

    def forward(self, x, adj):
        return adj @ self.lin(x)


class GCN(torch.nn.Module):
    def __init__(self, hidden_channels):
        super().__init__()
        self.conv1 = GCNConv(FEATURES, hidden_channels)
        self.conv2 = GCNConv(hidden_channels, 1)

    def forward(self, x, adj):
        x = functional.relu(self.conv1(x, adj))
        x = functional.dropout(x, p=0.3, training=self.training)
        x = self.conv2(x, adj)
        if FIXED:
            return torch.sigmoid(x)
        return functional.log_softmax(x, dim=1)


model = GCN(hidden_channels=16)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
criterion = torch.nn.BCELoss()

for epoch in range(1, 201):
    model.train()
    optimizer.zero_grad()
    out = model(x, a_hat)
    loss = criterion(out[train_mask], y[train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"Epoch: {epoch:03d}, Loss: {loss.item():.4f}")

model.eval()
with torch.no_grad():
    pred = (model(x, a_hat) > 0.5).float()
acc = (pred[test_mask] == y[test_mask]).float().mean().item()
print("RESULT test_acc", f"{acc:.4f}")
