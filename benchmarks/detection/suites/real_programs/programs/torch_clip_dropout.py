"""A small I3D with an inception-like block of 3D convolutions says which of four ways a blob moves in a short clip.

Its argument for the dropout is a probability to keep, of 1. It is passed on to ``nn.Dropout3d``, which takes it as
the probability to drop, so in training every feature is zero before the classifier (fixed: one minus it is passed).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
FRAMES, SIZE = 6, 12


def clips(n):
    labels = rng.randint(0, 4, n)
    ways = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])[labels]
    start = rng.uniform(4, 8, (n, 2))
    grid = np.stack(np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij"))
    video = np.zeros((n, 1, FRAMES, SIZE, SIZE))
    for f in range(FRAMES):
        centre = start + ways * (f - 2.5) * 0.9
        d = ((grid[None] - centre[:, :, None, None]) ** 2).sum(1)
        video[:, 0, f] = np.exp(-d / 3)
    video += rng.randn(*video.shape) * 0.1
    return torch.tensor((video - 0.07) / 0.25, dtype=torch.float32), torch.tensor(labels)


class Unit3D(nn.Sequential):
    def __init__(self, a, b, k=3):
        super().__init__(nn.Conv3d(a, b, k, padding=k // 2, bias=False), nn.BatchNorm3d(b), nn.ReLU())


class Mixed(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.branch_0 = Unit3D(a, b, 1)
        self.branch_1 = nn.Sequential(Unit3D(a, b, 1), Unit3D(b, b))

    def forward(self, x):
        return torch.cat([self.branch_0(x), self.branch_1(x)], 1)


class I3D(nn.Module):
    def __init__(self, num_classes, dropout_keep_prob=1.0):
        super().__init__()
        self.conv = Unit3D(1, 8)
        self.mixed = Mixed(8, 12)
        self.dropout = nn.Dropout3d(1 - dropout_keep_prob if FIXED else dropout_keep_prob)
        self.logits = nn.Conv3d(24, num_classes, 1)

    def forward(self, x):
        x = functional.max_pool3d(self.conv(x), (1, 2, 2))
        x = functional.max_pool3d(self.mixed(x), (1, 2, 2))
        x = functional.avg_pool3d(x, (2, 3, 3), stride=1)
        return self.logits(self.dropout(x)).mean((2, 3, 4))


x_train, y_train = clips(500)
x_test, y_test = clips(200)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=25, shuffle=True)
model = I3D(4)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(loader):.4f} test accuracy {accuracy:.4f}")

print("RESULT accuracy", f"{accuracy:.4f}")
