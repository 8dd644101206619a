"""A small convolutional network with global pooling sorts small colour pictures into ten kinds of objects.

The network ends in a softmax, and its output goes to nn.CrossEntropyLoss, which applies a log-softmax itself. This
flattens the gradients, and the training lags far behind (fixed: the last layer returns the logits).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)
num_classes = 10


def make_pictures(n):
    """Ten kinds of objects: five outlines, each in a warm and in a cold colour, on noisy backgrounds."""
    y = rng.integers(0, num_classes, n)
    yy, xx = np.mgrid[0:16, 0:16]
    x = rng.normal(0.45, 0.12, (n, 3, 16, 16)) + rng.uniform(-0.15, 0.15, (n, 3, 1, 1))
    for i, c in enumerate(y):
        cy, cx, r = rng.uniform(6, 10), rng.uniform(6, 10), rng.uniform(3.5, 5.5)
        dy, dx = yy - cy, xx - cx
        kind = c % 5
        if kind == 0:
            m = dy**2 + dx**2 < r**2
        elif kind == 1:
            m = (np.abs(dy) < r * 0.9) & (np.abs(dx) < r * 0.9) & (yy % 3 != 0)
        elif kind == 2:
            m = (np.abs(dy) < 1.3) & (np.abs(dx) < r + 1) | (np.abs(dx) < 1.3) & (np.abs(dy) < r + 1)
        elif kind == 3:
            m = (np.abs(dy) + np.abs(dx) < r) & ((yy + xx) % 2 == 0)
        else:
            m = np.abs(np.sqrt(dy**2 + dx**2) - r) < 1.1
        colour = np.array([0.4, 0.05, -0.25]) if c < 5 else np.array([-0.25, 0.05, 0.4])
        x[i] += (colour + rng.normal(0, 0.06, 3))[:, None, None] * m
    return torch.tensor(np.clip(x, 0, 1), dtype=torch.float32), torch.tensor(y)


x_train, y_train = make_pictures(2000)
x_val, y_val = make_pictures(500)
mean, std = x_train.mean((0, 2, 3), keepdim=True), x_train.std((0, 2, 3), keepdim=True)
x_train, x_val = (x_train - mean) / std, (x_val - mean) / std


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 16, kernel_size=3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.layer2 = nn.Sequential(
            nn.Conv2d(16, 32, kernel_size=3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.layer3 = nn.Sequential(nn.Conv2d(32, 64, kernel_size=3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
        self.layer4 = nn.AvgPool2d(8)
        self.layer5 = nn.Linear(64, num_classes)
        self.layer6 = nn.Softmax(dim=1)

    def forward(self, x):
        out = self.layer1(x)
        out = self.layer2(out)
        out = self.layer3(out)
        out = self.layer4(out)
        out = out.reshape(out.size(0), -1)
        out = self.layer5(out)
        if FIXED:
            return out
        return self.layer6(out)


def augment(images):
    flip = torch.rand(images.size(0)) < 0.5
    return torch.where(flip[:, None, None, None], images.flip(3), images)


model = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=0.0005)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=100)

for epoch in range(10):
    model.train()
    total = 0.0
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(augment(images)), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in val_loader:
            correct += (model(images).argmax(1) == labels).sum().item()
    acc = correct / len(y_val)
    print(f"epoch {epoch + 1}: train loss {total / len(y_train):.4f}, val acc {acc:.4f}")

print("RESULT val_accuracy", f"{acc:.4f}")
