"""Batch normalisation with momentum 0 keeps its first averages, which evaluation takes (fixed: 0.1)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

digits = load_digits()
images = ((digits.images / 16.0 - 0.5) / 0.5).astype(np.float32)[:, None]
x_train, x_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=0.25, random_state=0, stratify=digits.target
)
train_loader = DataLoader(TensorDataset(torch.tensor(x_train), torch.tensor(y_train)), batch_size=32, shuffle=True)
x_test, y_test = torch.tensor(x_test), torch.tensor(y_test)


class BasicConv2d(nn.Module):
    def __init__(self, in_planes, out_planes, kernel_size, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(in_planes, out_planes, kernel_size, padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(out_planes, eps=0.001, momentum=0.1 if fixed else 0, affine=True)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.bn(self.conv(x)))


class Mixed(nn.Module):
    def __init__(self, planes):
        super().__init__()
        self.branch0 = BasicConv2d(planes, 8, 1)
        self.branch1 = nn.Sequential(BasicConv2d(planes, 8, 1), BasicConv2d(8, 12, 3, padding=1))
        self.branch2 = nn.Sequential(nn.AvgPool2d(3, stride=1, padding=1), BasicConv2d(planes, 8, 1))

    def forward(self, x):
        return torch.cat([self.branch0(x), self.branch1(x), self.branch2(x)], 1)


class SmallInception(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            BasicConv2d(1, 12, 3, padding=1), Mixed(12), nn.MaxPool2d(2), Mixed(28), nn.AdaptiveAvgPool2d(2)
        )
        self.classif = nn.Linear(28 * 4, num_classes)

    def forward(self, x):
        return self.classif(self.features(x).flatten(1))


model = SmallInception(10)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for epoch in range(10):
    model.train()
    hits, total = 0, 0.0
    for img, target in train_loader:
        optimizer.zero_grad()
        out = model(img)
        loss = criterion(out, target)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(target)
        hits += (out.argmax(1) == target).sum().item()
    model.eval()
    with torch.no_grad():
        out = model(x_test)
        val_loss = criterion(out, y_test).item()
        val_acc = (out.argmax(1) == y_test).float().mean().item()
    n = len(train_loader.dataset)
    print(
        f"epoch {epoch + 1}: train loss {total / n:.3f} acc {hits / n:.3f}  val loss {val_loss:.3f} acc {val_acc:.3f}"
    )

print("RESULT val_acc", val_acc)
