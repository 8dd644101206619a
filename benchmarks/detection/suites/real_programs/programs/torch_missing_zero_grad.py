"""A classifier of digits whose gradients are never reset (fixed: reset before each backward pass)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)

digits = load_digits()
x_train, x_val, y_train, y_val = train_test_split(
    digits.data / 16.0, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)
train_set = TensorDataset(torch.tensor(x_train, dtype=torch.float32), torch.tensor(y_train))
val_set = TensorDataset(torch.tensor(x_val, dtype=torch.float32), torch.tensor(y_val))
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
val_loader = DataLoader(val_set, batch_size=256)

model = nn.Sequential(
    nn.Linear(64, 128),
    nn.ReLU(),
    nn.Linear(128, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(12):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        if fixed:
            optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in val_loader:
            correct += (model(xb).argmax(1) == yb).sum().item()
    val_acc = correct / len(val_set)
    print(f"epoch {epoch + 1} loss {total / len(train_set):.4f} val_acc {val_acc:.4f}")

print("RESULT val_acc", val_acc)
