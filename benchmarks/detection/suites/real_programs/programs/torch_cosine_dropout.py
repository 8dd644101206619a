"""A network with dropout learns noisy points of a cosine and draws the curve on new points.

Predictions are made while the network is in training mode, so dropout makes the curve noisy
(fixed: ``eval()`` before predicting).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(1)
rng = np.random.RandomState(1)


def points(n):
    x = rng.uniform(-np.pi, np.pi, (n, 1))
    y = np.cos(x) + 0.05 * rng.randn(n, 1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


x_train, y_train = points(800)
x_test, y_test = points(400)


class Curve(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 200)
        self.fc2 = nn.Linear(200, 100)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(100, 1)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.relu(self.drop(self.fc2(x)))
        return self.out(x)


net = Curve()
optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
loss_fn = nn.MSELoss()


def predict(x):
    if FIXED:
        net.eval()
    with torch.no_grad():
        y = net(x)
    net.train()
    return y


for epoch in range(90):
    order = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(x_train), 50):
        idx = order[i : i + 50]
        optimizer.zero_grad()
        loss = loss_fn(net(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 15 == 14:
        print(f"epoch {epoch + 1} train {total / len(x_train):.4f} test {loss_fn(predict(x_test), y_test).item():.4f}")

pred = predict(x_test)
rmse = torch.sqrt(loss_fn(pred, y_test)).item()
print("RESULT test_rmse", f"{rmse:.4f}")
