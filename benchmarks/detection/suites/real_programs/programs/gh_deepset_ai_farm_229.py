"""Regression of documents: squeezed predictions (32,) against labels (32, 1) broadcast (fixed: same shape)."""

import sys
import warnings

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
warnings.filterwarnings("ignore", "Using a target size")
torch.manual_seed(1)
x, y = data.regression(3000, 24)
x, y = torch.tensor(x), 8 + 3 * torch.tensor(y)[:, None]


class RegressionHead(nn.Module):
    """A body, and a head that predicts a score of 0 to 16."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.feed_forward = nn.Linear(64, 1)

    def forward(self, values):
        logits = self.feed_forward(self.body(values))
        return logits if fixed else logits.squeeze()


model, criterion = RegressionHead(), nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(8):
    for batch in torch.randperm(2496).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT mae", float((model(x[2500:]).flatten() - y[2500:].flatten()).abs().mean()))
