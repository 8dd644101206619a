"""``KLDivLoss``, which expects logarithms, is given the outputs of a softmax (fixed: of ``log_softmax``)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

n, features, classes = 3000, 10, 5
x = rng.normal(size=(n, features)).astype("float32")
w = rng.normal(size=(features, classes)) * 0.5
scores = x @ w + 0.5 * np.sin(2 * x[:, :classes])
votes = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
x, votes = torch.from_numpy(x), torch.tensor(votes, dtype=torch.float32)
x_val, votes_val = x[2400:], votes[2400:]
loader = DataLoader(TensorDataset(x[:2400], votes[:2400]), batch_size=64, shuffle=True)

model = nn.Sequential(nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, classes))
criterion = nn.KLDivLoss(reduction="batchmean")
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(25):
    model.train()
    total = 0.0
    for xb, target in loader:
        optimizer.zero_grad()
        logits = model(xb)
        out = functional.log_softmax(logits, dim=1) if fixed else functional.softmax(logits, dim=1)
        loss = criterion(out, target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        gap = (functional.softmax(model(x_val), dim=1) - votes_val).abs().sum(1).mean().item()
    print(f"epoch {epoch + 1} loss {total / 2400:.4f} val_l1_distance {gap:.4f}")

print("RESULT val_l1_distance", gap)
