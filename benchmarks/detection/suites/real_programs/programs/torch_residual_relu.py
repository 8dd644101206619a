"""A small residual network sorts small pictures, trained by SGD with Nesterov momentum and a negative log likelihood.

A ReLU stands right before the log-softmax, so that scores cannot go below 0 and classes whose score is 0 for all
pictures get no gradient any more (fixed: that ReLU is taken away).
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(3)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
images = (images - 0.305) / 0.376
train_x, test_x, train_y, test_y = train_test_split(
    images, torch.from_numpy(digits.target), test_size=0.25, random_state=0, stratify=digits.target
)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        out = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(x + self.bn2(self.conv2(out)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 16, 3, padding=1)
        self.bn = nn.BatchNorm2d(16)
        self.blocks = nn.Sequential(Block(16), Block(16))
        self.out = nn.Linear(16, 10)

    def forward(self, x):
        x = functional.relu(self.bn(self.stem(x)))
        x = self.blocks(x).mean((2, 3))
        x = self.out(x)
        if not FIXED:
            x = functional.relu(x)
        return functional.log_softmax(x, dim=1)


model = ResNet()
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)

for epoch in range(12):
    model.train()
    order = torch.randperm(len(train_x))
    total = 0.0
    for start in range(0, len(train_x), 64):
        index = order[start : start + 64]
        optimizer.zero_grad()
        loss = criterion(model(train_x[index]), train_y[index])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(index)
    model.eval()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch + 1}: loss {total / len(train_x):.4f}, test accuracy {accuracy:.4f}")

print("RESULT test_accuracy", f"{accuracy:.4f}")
