"""A five-fold cross-validation of a classifier of dementia from brain volumes and clinical scores.

The model is built once, before the loop over the folds, and goes on training in each: from the second fold on it is
judged on patients that it has been trained on (fixed: a new model and optimizer for each fold).
"""

import sys

import numpy as np
import torch
from sklearn.model_selection import KFold
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FIXED = "--fixed" in sys.argv
np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)

rng = np.random.RandomState(1)
patients, features = 600, 40
x = rng.normal(size=(patients, features)).astype(np.float32)
risk = x[:, :6] @ np.array([0.9, -0.7, 0.6, 0.5, -0.5, 0.4]) + 0.5 * x[:, 0] * x[:, 1]
y = (risk + rng.normal(0, 1.2, size=patients) > 0).astype(np.float32)
x, y = torch.from_numpy(x), torch.from_numpy(y)


def make_model():
    model = nn.Sequential(
        nn.Linear(features, 64),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(32, 1),
    )
    return model, torch.optim.Adam(model.parameters(), lr=1e-3)


def train_epoch(model, optimizer, loader):
    model.train()
    total = 0.0
    for xb, yb in loader:
        loss = criterion(model(xb).squeeze(1), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def evaluate(model, xv, yv):
    model.eval()
    with torch.no_grad():
        return ((model(xv).squeeze(1) > 0).float() == yv).float().mean().item()


criterion = nn.BCEWithLogitsLoss()
model, optimizer = make_model()
scores = []
for fold, (train_idx, test_idx) in enumerate(KFold(5, shuffle=True, random_state=0).split(x)):
    if FIXED:
        model, optimizer = make_model()
    loader = DataLoader(TensorDataset(x[train_idx], y[train_idx]), batch_size=32, shuffle=True)
    for _ in range(8):
        loss = train_epoch(model, optimizer, loader)
    scores.append(evaluate(model, x[test_idx], y[test_idx]))
    print("fold", fold + 1, "loss", round(loss, 4), "accuracy", round(scores[-1], 4))
print("RESULT cv_accuracy", f"{np.mean(scores):.4f}")
