"""Focal loss of probabilities without a clamp: log of 0 ends in NaN (fixed: clamp)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (x_test, y_test) = data.digits()
x, x_test = (torch.tensor(a).flatten(1) / 255 for a in (x, x_test))
y, y_test = torch.tensor(y), torch.tensor(y_test)


class FocalLoss(nn.Module):
    """Cross-entropy that counts what is classified well less."""

    def forward(self, classification, targets):
        if fixed:
            classification = classification.clamp(1e-4, 1 - 1e-4)
        chance = torch.where(targets == 1, 1 - classification, classification)
        entropy = -(targets * classification.log() + (1 - targets) * (1 - classification).log())
        return (0.25 * chance**2 * entropy).sum() / targets.sum()


model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10), nn.Sigmoid())
criterion = FocalLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
for _ in range(25):
    for batch in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), nn.functional.one_hot(y[batch], 10).float())
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT accuracy", float((model(x_test).argmax(1) == y_test).float().mean()))
