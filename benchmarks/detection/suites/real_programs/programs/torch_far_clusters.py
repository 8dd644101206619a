"""Two well separated clouds of points around 92 are told apart by a small network with sigmoids, ``BCELoss`` and Adam.

The coordinates go in as they are, so that every hidden unit is saturated from the start and all points get about the
same answer (fixed: the mean is subtracted and the result divided by the standard deviation).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(2)
rng = np.random.RandomState(2)

n = 300
first = rng.normal([88.5, 95.5], 1.6, (n, 2))
second = rng.normal([95.5, 88.5], 1.6, (n, 2))
points = np.concatenate([first, second]).astype("float32")
labels = np.concatenate([np.zeros(n), np.ones(n)]).astype("float32")[:, None]
order = rng.permutation(2 * n)
points, labels = torch.from_numpy(points[order]), torch.from_numpy(labels[order])

if FIXED:
    points = (points - points[:400].mean()) / points[:400].std()

x_train, y_train = points[:400], labels[:400]
x_test, y_test = points[400:], labels[400:]


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.linear = nn.Linear(input_size, hidden_size)
        self.linear2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        x = torch.sigmoid(self.linear(x))
        return torch.sigmoid(self.linear2(x))

    def predict(self, x):
        return (self.forward(x) >= 0.5).float()


model = Model(2, 2, 1)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for i in range(1000):
    y_pred = model(x_train)
    loss = criterion(y_pred, y_train)
    if i % 100 == 0:
        print("epoch", i, "loss", round(loss.item(), 4))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    accuracy = (model.predict(x_test) == y_test).float().mean().item()
print("RESULT test_accuracy", f"{accuracy:.4f}")
