"""A small CNN sorts colour photos into three kinds, of which one makes up most of the training photos.

The pixels go in as values from 0 to 255 and the loss weighs all photos alike, so that the first steps overshoot and the
network names one kind for every photo (fixed: pixels of -1 to 1, and a cross-entropy weighted by the inverse
frequencies of the kinds).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
rng = np.random.default_rng(0)
torch.manual_seed(0)


def photos(counts):
    """A disc, a ring or a cross of one colour on a ground of another colour."""
    rows, cols = np.mgrid[0:20, 0:20]
    pictures, kinds = [], []
    for kind, count in enumerate(counts):
        for _ in range(count):
            r, c, size = rng.uniform(7, 13), rng.uniform(7, 13), rng.uniform(4, 6)
            far = np.hypot(rows - r, cols - c)
            if kind == 0:
                shape = far < size
            elif kind == 1:
                shape = (far < size) & (far > size - 2)
            else:
                near = (abs(rows - r) < size) & (abs(cols - c) < size)
                shape = near & ((abs(rows - r) < 1.2) | (abs(cols - c) < 1.2))
            ground, colour = rng.uniform(20, 110, 3), rng.uniform(140, 240, 3)
            picture = np.where(shape[None], colour[:, None, None], ground[:, None, None]) + rng.normal(
                0, 12, (3, 20, 20)
            )
            pictures.append(picture.clip(0, 255))
            kinds.append(kind)
    order = rng.permutation(len(kinds))
    return torch.tensor(np.array(pictures)[order], dtype=torch.float32), torch.tensor(np.array(kinds)[order])


x_train, y_train = photos((70, 70, 660))
x_test, y_test = photos((100, 100, 100))
if FIXED:
    x_train, x_test = x_train / 127.5 - 1, x_test / 127.5 - 1
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3)
        self.conv2 = nn.Conv2d(12, 24, 3)
        self.fc1 = nn.Linear(24 * 3 * 3, 48)
        self.fc2 = nn.Linear(48, 3)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        return self.fc2(functional.relu(self.fc1(x.flatten(1))))


model = CNN()
if FIXED:
    counts = torch.bincount(y_train).float()
    criterion = nn.CrossEntropyLoss(weight=counts.sum() / (3 * counts))
else:
    criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for epoch in range(30):
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch", epoch + 1, "loss", round(total / len(train_loader), 4))

model.eval()
with torch.no_grad():
    accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
print("RESULT test_accuracy", f"{accuracy:.4f}")
