"""A CNN for colour pictures of six kinds normalises in its first layer and is trained on pictures between 0 and 1.

The test pictures are normalised by their own transform as well, so that it is done twice and many of them are taken for
the wrong kind (fixed: the test pictures stay between 0 and 1).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
MEAN, STD = [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]
SIZE = 16


def pictures(n, seed):
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 6, n)
    grid = np.mgrid[:SIZE, :SIZE]
    x = np.empty((n, 3, SIZE, SIZE))
    for i, kind in enumerate(y):
        row, column = rng.uniform(5, 11, 2)
        radius = rng.uniform(3, 5)
        dy, dx = np.abs(grid[0] - row), np.abs(grid[1] - column)
        shape = [dy**2 + dx**2 < radius**2, np.maximum(dy, dx) < radius * 0.9, np.minimum(dy, dx) < 1.2][kind % 3] & (
            np.maximum(dy, dx) < radius + 1
        )
        background = rng.uniform(0.2, 0.7, 3)
        colour = background + (0.3 if kind < 3 else -0.2)
        x[i] = np.where(shape, colour[:, None, None], background[:, None, None])
    return np.clip(x + rng.normal(0, 0.03, x.shape), 0, 1).astype("float32"), y


class NormalizeLayer(nn.Module):
    def __init__(self, means, sds):
        super().__init__()
        self.register_buffer("means", torch.tensor(means).view(1, 3, 1, 1))
        self.register_buffer("sds", torch.tensor(sds).view(1, 3, 1, 1))

    def forward(self, x):
        return (x - self.means) / self.sds


def test_transform(x):
    if FIXED:
        return x
    return (x - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(STD).view(1, 3, 1, 1)


train_x, train_y = map(torch.from_numpy, pictures(2000, 0))
test_x, test_y = map(torch.from_numpy, pictures(500, 1))
train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=50, shuffle=True)
test_loader = DataLoader(TensorDataset(test_transform(test_x), test_y), batch_size=100)

network = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(512, 64),
    nn.ReLU(),
    nn.Linear(64, 6),
)
model = nn.Sequential(NormalizeLayer(MEAN, STD), network)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(6):
    model.train()
    right, total = 0, 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        output = model(x + 0.02 * torch.randn_like(x))
        loss = criterion(output, y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        right += (output.argmax(1) == y).sum().item()
    model.eval()
    good = 0
    with torch.no_grad():
        for x, y in test_loader:
            good += (model(x).argmax(1) == y).sum().item()
    accuracy = good / len(test_x)
    print(
        f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}, train acc {right / len(train_x):.4f}, "
        f"test acc {accuracy:.4f}"
    )

print("RESULT test_accuracy", f"{accuracy:.4f}")
