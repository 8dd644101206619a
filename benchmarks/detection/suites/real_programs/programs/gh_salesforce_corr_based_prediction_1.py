"""Image classifier with a penalty: gradients are reset once an epoch, outside of the batches (fixed: at each batch)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (test_x, test_y) = data.digits()
x, test_x = torch.tensor(x)[:, None] / 255, torch.tensor(test_x)[:, None] / 255
y, test_y = torch.tensor(y).long(), torch.tensor(test_y).long()
features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 32))
head = nn.Linear(32, 10)
model = nn.Sequential(features, nn.ReLU(), head)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for _ in range(5):
    optimizer.zero_grad()
    for batch in torch.randperm(len(x)).split(64):
        if fixed:
            optimizer.zero_grad()
        hidden = features(x[batch])
        loss = criterion(head(torch.relu(hidden)), y[batch]) + 1e-3 * hidden.var(0).mean()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT accuracy", float((model(test_x).argmax(1) == test_y).float().mean()))
