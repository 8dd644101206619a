"""A deep convolutional network over one-hot characters sorts short news lines into four topics, trained by Adam.

The learning rate of 0.02 is too high for it, and it soon gives the same topic for every line (fixed: a rate of
0.001).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

ALPHABET = "abcdefghijklmnopqrstuvwxyz "
LENGTH = 60
TOPICS = [
    ["goal", "team", "coach", "league", "match"],
    ["stock", "market", "bank", "profit", "shares"],
    ["phone", "software", "chip", "robot", "network"],
    ["minister", "border", "treaty", "election", "army"],
]
COMMON = ["the", "new", "after", "on", "of", "year", "says", "with", "for", "big", "first", "two"]


def lines(n):
    x, y = np.zeros((n, len(ALPHABET), LENGTH), "float32"), rng.randint(0, 4, n)
    for k in range(n):
        words = list(rng.choice(TOPICS[y[k]], 3)) + list(rng.choice(COMMON, 7))
        rng.shuffle(words)
        for i, c in enumerate(" ".join(words)[:LENGTH]):
            x[k, ALPHABET.index(c), i] = 1
    return torch.tensor(x), torch.tensor(y)


class CharCNN(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.conv1 = nn.Conv1d(len(ALPHABET), width, 5)
        self.conv2 = nn.Conv1d(width, width, 3)
        self.conv3 = nn.Conv1d(width, width, 3)
        self.conv4 = nn.Conv1d(width, width, 3)
        self.fc1 = nn.Linear(width * 4, 96)
        self.fc2 = nn.Linear(96, 96)
        self.fc3 = nn.Linear(96, 4)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        x = functional.max_pool1d(functional.relu(self.conv1(x)), 3)
        x = functional.relu(self.conv2(x))
        x = functional.relu(self.conv3(x))
        x = functional.max_pool1d(functional.relu(self.conv4(x)), 3)
        x = x.flatten(1)
        x = self.drop(functional.relu(self.fc1(x)))
        x = self.drop(functional.relu(self.fc2(x)))
        return functional.log_softmax(self.fc3(x), dim=1)


x_train, y_train = lines(2500)
x_test, y_test = lines(500)
model = CharCNN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001 if FIXED else 0.02)

for epoch in range(12):
    model.train()
    order = torch.randperm(len(x_train))
    total, steps = 0.0, 0
    for i in range(0, len(order), 32):
        idx = order[i : i + 32]
        loss = functional.nll_loss(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, steps = total + loss.item(), steps + 1
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"Epoch[{epoch + 1}] loss: {total / steps:.6f} acc: {acc:.4f}")

print("RESULT accuracy", f"{acc:.4f}")
