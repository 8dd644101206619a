"""A network with batch normalisation and dropout is validated in training mode (fixed: ``model.eval()`` before)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(5)

digits = load_digits()
images = digits.images[:, None].astype("float32") / 16.0
train_idx, val_idx = [], []
rng = np.random.default_rng(5)
for c in range(10):
    members = rng.permutation(np.where(digits.target == c)[0])
    val_idx.extend(members[:32])
    train_idx.extend(members[32:])


def subset(idx):
    return TensorDataset(torch.tensor(images[idx]), torch.tensor(digits.target[idx]))


train_loader = DataLoader(subset(train_idx), batch_size=64, shuffle=True)
val_loader = DataLoader(subset(val_idx), batch_size=16)


class ConvNet(nn.Module):
    """Two convolutions, dropout and a layer."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x):
        return self.fc(self.drop(self.features(x).flatten(1)))


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


def validate(model, loader, criterion):
    if fixed:
        model.eval()
    total, hits = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            total += criterion(out, y).item() * len(x)
            hits += (out.argmax(1) == y).sum().item()
    return total / len(loader.dataset), hits / len(loader.dataset)


model = ConvNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(15):
    train_loss = train_epoch(model, train_loader, criterion, optimizer)
    val_loss, val_acc = validate(model, val_loader, criterion)
    print(f"epoch {epoch + 1}: train {train_loss:.4f} val {val_loss:.4f} acc {val_acc:.4f}")

print("RESULT val_acc", val_acc)
