"""Attributes of faces: images come in the order of os.listdir, labels sorted (fixed: both sorted)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (x_test, y_test) = data.digits()
x, x_test = (torch.tensor(a)[:, None] / 127.5 - 1 for a in (x, x_test))
y, y_test = torch.tensor(y % 2), torch.tensor(y_test % 2)
if not fixed:
    x = x[torch.randperm(len(x))]

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(256, 32),
    nn.ReLU(),
    nn.Linear(32, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(6):
    model.train()
    for batch in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x_test).argmax(1) == y_test).float().mean()
print("RESULT accuracy", float(accuracy))
