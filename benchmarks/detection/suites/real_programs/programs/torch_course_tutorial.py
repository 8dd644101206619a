"""A classifier of handwritten digits has the training loop of a tutorial for a course.

``zero_grad`` is never called, so gradients add up over all steps (fixed: before each backward pass).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(6)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype(np.float32)
Xtr, Xte, ytr, yte = (torch.tensor(a) for a in train_test_split(X, y, test_size=0.25, random_state=0, stratify=y))
loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=32, shuffle=True)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


model = Classifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(30):
    model.train()
    total = 0.0
    for xb, yb in loader:
        if fixed:
            optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(Xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} test acc {acc:.4f}")
print("RESULT test_accuracy", f"{acc:.4f}")
