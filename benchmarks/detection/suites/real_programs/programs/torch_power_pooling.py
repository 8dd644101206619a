"""A small CNN reads digits and pools its feature maps with a power mean.

The cube root is taken of means that may be negative, so the outputs are NaN (fixed: the maps are clamped to positive
values first).
"""

import sys
import warnings

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

warnings.filterwarnings("ignore")
fixed = "--fixed" in sys.argv
torch.manual_seed(1)
np.random.seed(1)


class PowerMeanPool(nn.Module):
    def __init__(self, p=3.0):
        super().__init__()
        self.p = p

    def forward(self, x):  # (N, C, H, W) -> (N, C)
        x = x.flatten(2)
        if fixed:
            x = x.clamp(min=1e-4)
        return (torch.mean(x**self.p, dim=-1) + 1e-12) ** (1 / self.p)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 64, 3, padding=1)
        self.pool = PowerMeanPool()
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = functional.relu(self.conv1(x))
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        return self.fc(self.pool(self.conv3(x)))


X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
Xtr, Xte = torch.tensor(Xtr), torch.tensor(Xte)
ytr, yte = torch.tensor(ytr), torch.tensor(yte)

net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(Xtr, ytr), batch_size=64, shuffle=True)
for epoch in range(20):
    net.train()
    total = 0.0
    for xb, yb in loader:
        loss = functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    net.eval()
    with torch.no_grad():
        acc = (net(Xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch} loss {total / len(Xtr):.4f} test acc {acc:.3f}")
print("RESULT test_accuracy", f"{acc:.4f}")
