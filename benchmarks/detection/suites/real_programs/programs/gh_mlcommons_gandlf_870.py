"""Classifier of scans: samples and their labels are shuffled apart from each other (fixed: in the same order)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (test_x, test_y) = data.digits()
x, test_x = torch.tensor(x)[:, None] / 255, torch.tensor(test_x)[:, None] / 255
y, test_y = torch.tensor(y).long(), torch.tensor(test_y).long()
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.InstanceNorm2d(8),
    nn.LeakyReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.LeakyReLU(),
    nn.Flatten(),
    nn.Linear(256, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(6):
    samples = torch.randperm(len(x))
    truths = samples if fixed else torch.randperm(len(x))
    for batch, wanted in zip(samples.split(64), truths.split(64), strict=True):
        optimizer.zero_grad()
        criterion(model(x[batch]), y[wanted]).backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT accuracy", float((model(test_x).argmax(1) == test_y).float().mean()))
