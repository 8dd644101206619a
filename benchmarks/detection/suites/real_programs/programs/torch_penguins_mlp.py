"""A small fully connected network tells three species of penguins apart by five measurements.

There is no activation between its layers, so that it is a linear model (fixed: a ReLU after each hidden layer).
"""

import sys

import torch
from sklearn.datasets import make_gaussian_quantiles
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)

# measurements of bill, flipper and mass in their units
x, y = make_gaussian_quantiles(n_samples=2400, n_features=5, n_classes=3, random_state=2)
x = x * [5.5, 2.0, 14.0, 800.0, 0.5] + [43.9, 17.2, 200.9, 4200.0, 2.1]
x_train, x_valid, y_train, y_valid = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
mean, std = x_train.mean(0), x_train.std(0)
train_set = TensorDataset(torch.tensor((x_train - mean) / std, dtype=torch.float32), torch.tensor(y_train))
valid_set = TensorDataset(torch.tensor((x_valid - mean) / std, dtype=torch.float32), torch.tensor(y_valid))
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=200)


class FCNet(nn.Module):
    """Fully connected network for the penguins."""

    def __init__(self, in_feats, out_feats, hidden=48):
        super().__init__()
        layers = []
        for a, b in ((in_feats, hidden), (hidden, hidden)):
            layers.append(nn.Linear(a, b))
            if FIXED:
                layers.append(nn.ReLU())
        layers.append(nn.Linear(hidden, out_feats))
        self._fwd = nn.Sequential(*layers)

    def forward(self, batch):
        return self._fwd(batch)


def train_one_epoch(model, loader, optimizer, loss_func):
    model.train()
    total = 0.0
    for batch, targets in loader:
        optimizer.zero_grad()
        loss = loss_func(model(batch), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(targets)
    return total / len(loader.dataset)


def validate(model, loader):
    model.eval()
    with torch.no_grad():
        return sum((model(b).argmax(1) == t).sum().item() for b, t in loader) / len(loader.dataset)


model = FCNet(5, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_func = nn.CrossEntropyLoss()
for epoch in range(25):
    train_loss = train_one_epoch(model, train_loader, optimizer, loss_func)
    acc = validate(model, valid_loader)
    if epoch % 4 == 0:
        print(f"epoch {epoch:2d} train loss {train_loss:.4f} valid accuracy {acc:.4f}")
print("RESULT valid_accuracy", f"{acc:.4f}")
