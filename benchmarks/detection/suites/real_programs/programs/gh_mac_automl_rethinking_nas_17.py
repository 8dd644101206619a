"""Retraining a found architecture: the loader does not shuffle sorted images (fixed: shuffle=True)."""

import sys

import data
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, y), (x_test, y_test) = data.digits()
x, x_test = (torch.tensor(a)[:, None] / 127.5 - 1 for a in (x, x_test))
y, y_test = torch.tensor(y), torch.tensor(y_test)
order = y.argsort()  # a folder for each class
loader = DataLoader(TensorDataset(x[order], y[order]), batch_size=32, shuffle=fixed)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(256, 10),
)  # fmt: skip
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.025, momentum=0.9, weight_decay=3e-4)
for _ in range(6):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    print("RESULT accuracy", float((model(x_test).argmax(1) == y_test).float().mean()))
