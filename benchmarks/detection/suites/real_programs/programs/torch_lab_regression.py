"""A lab of a course has a linear regression on a standardised table of patients, with SGD.

The learning rate of 0.00001 is much too small, so the loss hardly falls (fixed: larger learning rate, 0.01).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
lr = 1e-2 if fixed else 1e-5
table, y = load_diabetes(return_X_y=True, scaled=False)
order = np.random.RandomState(0).permutation(len(table))
table, y = table[order].astype(np.float32), y[order].astype(np.float32)
n_train = 340
table = (table - table[:n_train].mean(0)) / table[:n_train].std(0)
y_mean, y_std = y[:n_train].mean(), y[:n_train].std()
y = (y - y_mean) / y_std
table, y = torch.tensor(table), torch.tensor(y).unsqueeze(1)
train_loader = DataLoader(TensorDataset(table[:n_train], y[:n_train]), batch_size=16, shuffle=True)


class LinearRegression(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.randn(d, 1))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x @ self.w + self.b


model = LinearRegression(table.shape[1])
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=lr)
for epoch in range(60):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            val = criterion(model(table[n_train:]), y[n_train:]).item()
        print(f"Epoch [{epoch + 1}/60] train loss {total / len(train_loader):.4f} val loss {val:.4f}")
print("RESULT val_mse", f"{val:.4f}")
