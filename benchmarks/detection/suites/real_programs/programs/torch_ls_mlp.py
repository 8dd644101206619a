"""A multi-layer perceptron for a table with two classes is chosen by its accuracy on a development set.

There is no activation between its layers, so all of them are one linear map (fixed: a ReLU after each hidden layer).
"""

import copy
import sys

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
np.random.seed(1)
torch.set_num_threads(1)


class MLP(nn.Module):
    def __init__(self, in_dim, hidden_dims, num_classes, dropout=0.1):
        super().__init__()
        layers = []
        for h in hidden_dims:
            layers.append(nn.Linear(in_dim, h))
            if fixed:
                layers.append(nn.ReLU())
            layers.append(nn.Dropout(dropout))
            in_dim = h
        self.features = nn.Sequential(*layers)
        self.out = nn.Linear(in_dim, num_classes)

    def forward(self, x):
        return self.out(self.features(x))


def batches(x, y, size, generator):
    order = torch.randperm(len(x), generator=generator)
    for i in range(0, len(x), size):
        idx = order[i : i + size]
        yield x[idx], y[idx]


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


x, y = make_classification(
    n_samples=6000,
    n_features=12,
    n_informative=6,
    n_redundant=0,
    n_classes=2,
    n_clusters_per_class=6,
    class_sep=1.6,
    flip_y=0.01,
    random_state=5,
)
xtr, xte, ytr, yte = train_test_split(x, y, test_size=0.3, random_state=0)
xdev, xte, ydev, yte = train_test_split(xte, yte, test_size=0.5, random_state=0)
scaler = StandardScaler().fit(xtr)
xtr, xdev, xte = [torch.tensor(scaler.transform(a), dtype=torch.float32) for a in (xtr, xdev, xte)]
ytr, ydev, yte = [torch.tensor(a) for a in (ytr, ydev, yte)]

model = MLP(12, [128, 128], 2)
opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
gen = torch.Generator().manual_seed(0)
best, best_state = 0.0, None
for epoch in range(40):
    model.train()
    losses = []
    for bx, by in batches(xtr, ytr, 64, gen):
        loss = functional.cross_entropy(model(bx), by)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    dev = accuracy(model, xdev, ydev)
    if dev > best:
        best, best_state = dev, copy.deepcopy(model.state_dict())
    print(f"epoch {epoch} train loss {np.mean(losses):.4f} train acc {accuracy(model, xtr, ytr):.4f} dev acc {dev:.4f}")
model.load_state_dict(best_state)
print("RESULT test_accuracy", f"{accuracy(model, xte, yte):.4f}")
