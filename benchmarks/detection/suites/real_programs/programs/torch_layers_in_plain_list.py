"""A regression keeps its hidden layers in a list, where the optimizer does not find them (fixed: in a ModuleList)."""

import sys
from itertools import pairwise

import numpy as np
import torch
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(3)
np.random.seed(3)

x, y = make_friedman1(n_samples=3000, n_features=10, noise=0.5, random_state=3)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.2, random_state=3)
x_scaler = StandardScaler().fit(x_train)
y_scaler = StandardScaler().fit(y_train[:, None])


def tensors(a, b):
    return (
        torch.tensor(x_scaler.transform(a), dtype=torch.float32),
        torch.tensor(y_scaler.transform(b[:, None]), dtype=torch.float32),
    )


train_set = TensorDataset(*tensors(x_train, y_train))
xv, yv = tensors(x_val, y_val)
loader = DataLoader(train_set, batch_size=64, shuffle=True)


class Regressor(nn.Module):
    """Layers of one width."""

    def __init__(self, n_in, width, depth):
        super().__init__()
        sizes = [n_in] + [width] * depth
        hidden = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        self.hidden = nn.ModuleList(hidden) if fixed else hidden
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.out(x)


model = Regressor(10, 32, 3)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(25):
    model.train()
    losses = []
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        pred = model(xv)
        r2 = 1 - ((pred - yv) ** 2).sum() / ((yv - yv.mean()) ** 2).sum()
    print(f"epoch {epoch + 1} train mse {np.mean(losses):.4f} val r2 {r2.item():.4f}")

print("RESULT val_r2", r2.item())
