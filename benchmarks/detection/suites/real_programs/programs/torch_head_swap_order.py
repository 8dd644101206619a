"""The last layer is replaced after the optimizer was made, which keeps the old one (fixed: before)."""

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
first, second = y < 6, y >= 6
criterion = nn.CrossEntropyLoss()


class Classifier(nn.Module):
    """Two layers, and one for the classes."""

    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        return self.fc(self.backbone(x))


def run(model, optimizer, x, y, epochs, name):
    x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
    for epoch in range(epochs):
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
        print(f"{name} epoch {epoch + 1} loss {total / len(x_train):.4f} val_acc {acc:.4f}")
    return acc


model = Classifier(6)
run(model, torch.optim.Adam(model.parameters(), lr=1e-3), x[first], y[first], 8, "pretrain")

for p in model.backbone.parameters():
    p.requires_grad = False
new_head = nn.Linear(64, 4)
if fixed:
    model.fc = new_head
optimizer = torch.optim.Adam(model.fc.parameters(), lr=1e-2)
model.fc = new_head
acc = run(model, optimizer, x[second], y[second] - 6, 30, "transfer")

print("RESULT transfer_val_acc", acc)
