"""A template for regressions on tables, with functions that build, fit and score a network.

The outputs have shape (N, 1) and the targets (N,), so that the loss broadcasts them to a square matrix (fixed: targets
in the shape of the outputs).
"""

import sys
import warnings

import numpy as np
import torch
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
warnings.filterwarnings("ignore")
torch.manual_seed(0)
torch.set_num_threads(1)


def build_regressor(n_features, hidden=50):
    return nn.Sequential(
        nn.Linear(n_features, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1)
    )


def train_epoch(model, loader, optimizer, criterion):
    model.train()
    curr_loss = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        y_hat = model(x)
        target = y.view(y_hat.shape) if FIXED else y
        loss = criterion(y_hat, target)
        loss.backward()
        optimizer.step()
        curr_loss += loss.item()
    return curr_loss / len(loader)


def fit(x, y, epochs=25):
    model = build_regressor(x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    for epoch in range(epochs):
        loss = train_epoch(model, loader, optimizer, nn.MSELoss())
        print(f"epoch {epoch + 1} loss {loss:.4f}")
    return model


X, y = make_friedman1(3000, n_features=8, noise=0.7, random_state=0)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=0)
scaler = StandardScaler().fit(X_tr)
mean, std = y_tr.mean(), y_tr.std()
model = fit(
    torch.tensor(scaler.transform(X_tr), dtype=torch.float32), torch.tensor((y_tr - mean) / std, dtype=torch.float32)
)
model.eval()
with torch.no_grad():
    pred = model(torch.tensor(scaler.transform(X_te), dtype=torch.float32)).numpy().ravel() * std + mean
print("predictions", pred[:4].round(2), "targets", y_te[:4].round(2))
print("RESULT test_rmse", f"{np.sqrt(((pred - y_te) ** 2).mean()):.4f}")
