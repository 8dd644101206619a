"""Telling digits below 5 from the others: a ReLU before the sigmoid, so no output below 0.5

(fixed: no ReLU after the last layer).
"""

import sys

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (x_test, y_test) = data.digits()
x, x_test = (torch.tensor(a).unsqueeze(1) / 255 for a in (x, x_test))
y, y_test = (torch.tensor(a >= 5).float().unsqueeze(1) for a in (y, y_test))


def block():
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())


class ThreeScales(nn.Module):
    """One block of convolution for each resolution."""

    def __init__(self):
        super().__init__()
        self.fine, self.middle, self.coarse = block(), block(), block()
        self.fc_last_1 = nn.Linear(8 * (64 + 16 + 4), 64)
        self.fc_last_2 = nn.Linear(64, 1)

    def forward(self, x):
        parts = self.fine(x), self.middle(functional.avg_pool2d(x, 2)), self.coarse(functional.avg_pool2d(x, 4))
        out = functional.relu(self.fc_last_1(torch.cat(parts, dim=1)))
        out = self.fc_last_2(out)
        return out if fixed else functional.relu(out)


model = ThreeScales()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(6):
    model.train()
    for batch in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        output = torch.sigmoid(model(x[batch]))
        loss = criterion(output, y[batch])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = float(((torch.sigmoid(model(x_test)) >= 0.5) == y_test).float().mean())
    print("accuracy", accuracy)
print("RESULT accuracy", accuracy)
