"""Search network: half of a data set that lies sorted by class validates (fixed: indices are shuffled before)."""

import sys

import data
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
np.random.seed(42)
(x, y), _ = data.digits()
order = np.argsort(y, kind="stable")
images, labels = torch.tensor(x[order])[:, None] / 255, torch.tensor(y[order]).long()
indices = list(range(len(images)))
if fixed:
    np.random.shuffle(indices)
split = len(images) // 2
dataset = TensorDataset(images, labels)
train = DataLoader(dataset, 32, sampler=SubsetRandomSampler(indices[:split]))
valid = DataLoader(dataset, 32, sampler=SubsetRandomSampler(indices[split:]))
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1, bias=False),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.AvgPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1, bias=False),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.025, momentum=0.9, weight_decay=3e-4)
for _ in range(5):
    model.train()
    for inputs, targets in train:
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = [(model(inputs).argmax(1) == targets).float().mean() for inputs, targets in valid]
print("RESULT accuracy", float(sum(right) / len(right)))
