"""A small network answers with three scores which of three ranges a number lies in.

A sigmoid squashes the scores that go into ``CrossEntropyLoss``, so the loss cannot fall to 0 and the rare class is
never answered (fixed: raw scores).
"""

import random
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.optim.lr_scheduler import ReduceLROnPlateau

fixed = "--fixed" in sys.argv
random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class GatingNet(nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.linear1 = nn.Linear(input_dim, 32)
        self.linear2 = nn.Linear(32, output_dim)

    def forward(self, x):
        x = functional.relu(self.linear1(x))
        x = self.linear2(x)
        if not fixed:
            x = torch.sigmoid(x)
        return x


learning_rate = 0.05
batch_size = 64
epochs = 4000

net = GatingNet(1, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=learning_rate, momentum=0.9)
scheduler = ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=500)
criterion = nn.CrossEntropyLoss()


def label_of(scale):
    if scale < 1.1:
        return 0
    if scale < 1.5:
        return 1
    return 2


def make_batch(n):
    inputs, labels = [], []
    for _ in range(n):
        scale = random.randint(10, 20) / 10
        inputs.append([scale])
        labels.append(label_of(scale))
    return torch.tensor(inputs), torch.tensor(labels)


for epoch in range(epochs):
    x, y = make_batch(batch_size)
    x = (x - 1.5) / 0.3162
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step(loss.item())
    if epoch % 500 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")

with torch.no_grad():
    x, y = make_batch(2000)
    x = (x - 1.5) / 0.3162
    scores = net(x)
    print("accuracy", (scores.argmax(1) == y).float().mean().item())
    loss = criterion(scores, y).item()
print("RESULT loss", f"{loss:.4f}")
