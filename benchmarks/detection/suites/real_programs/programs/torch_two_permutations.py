"""Inputs and labels are shuffled by two permutations of their own (fixed: by the same one)."""

import sys

import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

wine = load_wine()
x_train, x_val, y_train, y_val = train_test_split(
    wine.data, wine.target, test_size=0.3, random_state=0, stratify=wine.target
)
scaler = StandardScaler().fit(x_train)
x_train = torch.tensor(scaler.transform(x_train), dtype=torch.float32)
x_val = torch.tensor(scaler.transform(x_val), dtype=torch.float32)
y_train, y_val = torch.tensor(y_train), torch.tensor(y_val)


def batches(x, y, size):
    order = torch.randperm(len(x))
    x = x[order]
    y = y[order if fixed else torch.randperm(len(y))]
    for start in range(0, len(x), size):
        yield x[start : start + size], y[start : start + size]


model = nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Linear(16, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(25):
    model.train()
    total = 0.0
    for xb, yb in batches(x_train, y_train, 16):
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        acc = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(x_train):.4f} val_acc {acc:.4f}")

print("RESULT val_acc", acc)
