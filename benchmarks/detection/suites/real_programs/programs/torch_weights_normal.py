"""The weights of layers with tanh start with a deviation of 1 (fixed: Xavier's initialisation)."""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

digits = load_digits()
x = torch.tensor(digits.data / 16.0, dtype=torch.float32)
y = torch.tensor(digits.target)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)


def init_weights(module):
    if isinstance(module, nn.Linear):
        draw = nn.init.xavier_normal_ if fixed else nn.init.normal_
        draw(module.weight)
        nn.init.zeros_(module.bias)


layers = [nn.Linear(64, 128), nn.Tanh()]
for _ in range(3):
    layers += [nn.Linear(128, 128), nn.Tanh()]
model = nn.Sequential(*layers, nn.Linear(128, 10))
model.apply(init_weights)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(15):
    model.train()
    total = 0.0
    for xb, yb in loader:
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
