"""A CNN gives the places of ten points in grey pictures of faces.

It is tested without ``eval()``, so dropout stays on in the test (fixed: with ``eval()``).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
S = 40
yy, xx = np.mgrid[:S, :S]


def face():
    cx, cy, w = rng.uniform(16, 24), rng.uniform(16, 24), rng.uniform(9, 13)
    h = w * rng.uniform(1.1, 1.35)
    a = rng.normal(0, 0.12)
    rel = np.array(
        [
            [-0.45, -0.3],
            [0.45, -0.3],
            [-0.7, -0.55],
            [0.7, -0.55],
            [0, 0.1],
            [-0.35, 0.5],
            [0.35, 0.5],
            [0, 0.6],
            [0, 0.95],
            [0, -0.95],
        ]
    )
    p = rel * [w, h] * 0.85
    p = np.stack([cx + p[:, 0] * np.cos(a) - p[:, 1] * np.sin(a), cy + p[:, 0] * np.sin(a) + p[:, 1] * np.cos(a)], 1)
    im = 0.15 + 0.1 * rng.random() + rng.normal(0, 0.04, (S, S))
    im[((xx - cx) / w) ** 2 + ((yy - cy) / h) ** 2 < 1] += 0.45
    for q in p[:8]:
        im -= 0.4 * np.exp(-((xx - q[0]) ** 2 + (yy - q[1]) ** 2) / 2.5)
    return im.clip(0, 1), p


data = [face() for _ in range(1300)]
X = torch.tensor(np.stack([d[0] for d in data]), dtype=torch.float32)[:, None]
P = torch.tensor(np.stack([d[1] for d in data]), dtype=torch.float32).reshape(len(data), -1)
P = (P - 20.0) / 10.0  # scale the points around 0
train_loader = DataLoader(TensorDataset(X[:1100], P[:1100]), batch_size=25, shuffle=True)
test_loader = DataLoader(TensorDataset(X[1100:], P[1100:]), batch_size=25)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5, padding=2)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 48, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(48 * 5 * 5, 256)
        self.fc2 = nn.Linear(256, 128)
        self.fc3 = nn.Linear(128, 20)
        self.drop1, self.drop2, self.drop3 = nn.Dropout(0.2), nn.Dropout(0.4), nn.Dropout(0.4)

    def forward(self, x):
        x = self.pool(functional.relu(self.conv1(x)))
        x = self.pool(functional.relu(self.conv2(x)))
        x = self.pool(functional.relu(self.conv3(x)))
        x = self.drop1(x).flatten(1)
        x = self.drop2(functional.relu(self.fc1(x)))
        x = self.drop3(functional.relu(self.fc2(x)))
        return self.fc3(x)


net, criterion = Net(), nn.SmoothL1Loss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.001)


def test_points():
    if fixed:
        net.eval()
    err = []
    with torch.no_grad():
        for images, key_pts in test_loader:
            d = (net(images) - key_pts).view(-1, 10, 2) * 10.0
            err.append(d.norm(dim=2))
    return torch.cat(err).mean().item()


for epoch in range(14):
    net.train()
    running = 0
    for images, key_pts in train_loader:
        loss = criterion(net(images), key_pts)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"Epoch: {epoch + 1}, Avg. Loss: {running / len(train_loader):.5f}")
    if epoch % 7 == 6:
        print("  pixels off on the test pictures:", round(test_points(), 3))
print("RESULT pixel_error", round(test_points(), 4))
