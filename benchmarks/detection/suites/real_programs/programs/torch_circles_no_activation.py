"""Two circles are told apart by linear layers without activations between them (fixed: ReLU between them)."""

import sys

import torch
from sklearn.datasets import make_circles
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)

x, y = make_circles(n_samples=2000, noise=0.08, factor=0.4, random_state=0)
x = torch.tensor(x, dtype=torch.float32)
y = torch.tensor(y, dtype=torch.float32).unsqueeze(1)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=0)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)

layers = [nn.Linear(2, 32), nn.Linear(32, 32), nn.Linear(32, 1)]
if fixed:
    layers.insert(2, nn.ReLU())
    layers.insert(1, nn.ReLU())
model = nn.Sequential(*layers)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(20):
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
        acc = ((model(x_val) > 0).float() == y_val).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(x_train):.4f} val_acc {acc:.4f}")

print("RESULT val_acc", acc)
