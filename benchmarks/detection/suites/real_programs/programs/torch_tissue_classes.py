"""A small classifier is trained on a table with two classes and scored by scikit-learn on a validation set.

The loader of the validation set shuffles, so the collected predictions are not in the order of the labels that they
are compared with (fixed: ``shuffle=False``).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
torch.manual_seed(6)

X, y = load_breast_cancer(return_X_y=True)
X_train, X_valid, y_train, y_valid = train_test_split(X, y, test_size=0.3, random_state=6, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train = scaler.transform(X_train).astype(np.float32)
X_valid = scaler.transform(X_valid).astype(np.float32)

train_loader = DataLoader(TensorDataset(torch.tensor(X_train), torch.tensor(y_train)), batch_size=32, shuffle=True)
valid_loader = DataLoader(TensorDataset(torch.tensor(X_valid), torch.tensor(y_valid)), batch_size=32, shuffle=not FIXED)

model = nn.Sequential(
    nn.Linear(30, 32),
    nn.ReLU(),
    nn.Dropout(0.2),
    nn.Linear(32, 16),
    nn.ReLU(),
    nn.Linear(16, 2),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.002)


def predict(loader):
    model.eval()
    out = []
    with torch.no_grad():
        for xb, _ in loader:
            out.append(model(xb).argmax(1).numpy())
    model.train()
    return np.concatenate(out)


for epoch in range(15):
    losses, right = [], 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        scores = model(xb)
        loss = criterion(scores, yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        right += (scores.argmax(1) == yb).sum().item()
    print(
        f"epoch {epoch + 1:2d} train loss {np.mean(losses):.4f} train acc {right / len(y_train):.3f} "
        f"valid acc {accuracy_score(y_valid, predict(valid_loader)):.3f}"
    )

print("RESULT valid_accuracy", f"{accuracy_score(y_valid, predict(valid_loader)):.4f}")
