"""Tabular regression: F.mse_loss of targets (n, 1) and predictions (n,) (fixed: one shape)."""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
x, y = data.regression(2000, 12)
x, y = torch.tensor(x), torch.tensor(y)[:, None]


class Net(nn.Module):
    """A perceptron with normalisation that gives one number a row."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 32), nn.ReLU()
        )
        self.head = nn.Linear(32, 1)

    def forward(self, rows):
        return self.head(self.body(rows)).squeeze(-1)


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for _ in range(8):
    model.train()
    for batch in torch.randperm(1600).split(100):
        optimizer.zero_grad()
        functional.mse_loss(model(x[batch]), y[batch, 0] if fixed else y[batch]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = float(((model(x[1600:]) - y[1600:, 0]) ** 2).mean())
print("RESULT mse", error)
