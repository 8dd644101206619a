"""A small network in the manner of ResNet9 tells eight textures apart in drawn colour pictures.

Batch normalisation has a momentum of 0.8, meant as in TensorFlow. In PyTorch, it is the weight of the newest batch, so
that the running statistics are hardly more than those of the last, small batch (fixed: a momentum of 1 - 0.8).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.default_rng(0)
MOMENTUM = 1 - 0.8 if FIXED else 0.8
CLASSES, SIZE = 8, 16


def make(count):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    x = np.zeros((count, 3, SIZE, SIZE), np.float32)
    y = rng.integers(0, CLASSES, count)
    for k in range(count):
        angle = np.pi * y[k] / CLASSES + rng.normal(0, 0.08)
        wave = np.sin((np.cos(angle) * xx + np.sin(angle) * yy) * rng.uniform(1.0, 1.5) + rng.uniform(0, 6.3))
        gain = rng.uniform(10, 60)
        colour = rng.uniform(0.3, 1.0, 3)[:, None, None]
        base = rng.uniform(50, 200, 3)[:, None, None]
        x[k] = np.clip(base + gain * colour * wave + rng.normal(0, 12, (3, SIZE, SIZE)), 0, 255)
    return x, y


x_train, y_train = make(1604)
x_test, y_test = make(500)
mean, std = x_train.mean(axis=(0, 2, 3), keepdims=True), x_train.std(axis=(0, 2, 3), keepdims=True)
train_loader = DataLoader(
    TensorDataset(torch.from_numpy((x_train - mean) / std), torch.from_numpy(y_train)), batch_size=32, shuffle=True
)
test_loader = DataLoader(
    TensorDataset(torch.from_numpy((x_test - mean) / std), torch.from_numpy(y_test)), batch_size=100
)


def conv_bn(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o, momentum=MOMENTUM), nn.LeakyReLU(0.1)
    )


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = conv_bn(channels, channels), conv_bn(channels, channels)

    def forward(self, x):
        return x + self.conv2(self.conv1(x))


class ResNet9(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            conv_bn(3, 12),
            conv_bn(12, 24),
            nn.MaxPool2d(2),
            Residual(24),
            conv_bn(24, 32),
            nn.MaxPool2d(2),
            conv_bn(32, 48),
            nn.MaxPool2d(2),
            Residual(48),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )
        self.fc = nn.Linear(48, CLASSES, bias=False)

    def forward(self, x):
        return self.fc(self.layers(x))


model = ResNet9()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scores = []
for epoch in range(8):
    model.train()
    total = hits = count = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = functional.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        hits += (out.argmax(1) == y).sum().item()
        count += len(y)
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in test_loader:
            right += (model(x).argmax(1) == y).sum().item()
    scores.append(right / len(y_test))
    print(f"epoch {epoch + 1}  loss {total / count:.4f}  acc {hits / count:.4f}  test acc {scores[-1]:.4f}")
print("RESULT mean_test_accuracy_of_last_5_epochs", f"{np.mean(scores[-5:]):.4f}")
