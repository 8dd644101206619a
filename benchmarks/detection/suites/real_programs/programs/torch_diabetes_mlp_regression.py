"""Predictions (N, 1) are compared with targets (N,), each with each (fixed: squeezed)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)

data = load_diabetes()
x_train, x_val, y_train, y_val = train_test_split(data.data, data.target, test_size=0.25, random_state=7)
scaler = StandardScaler().fit(x_train)
mean, std = y_train.mean(), y_train.std()
x_train = torch.tensor(scaler.transform(x_train), dtype=torch.float32)
x_val = torch.tensor(scaler.transform(x_val), dtype=torch.float32)
y_train = torch.tensor((y_train - mean) / std, dtype=torch.float32)
y_val = torch.tensor((y_val - mean) / std, dtype=torch.float32)

model = nn.Sequential(
    nn.Linear(10, 32),
    nn.ReLU(),
    nn.Linear(32, 16),
    nn.ReLU(),
    nn.Linear(16, 1),
)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)

for epoch in range(25):
    model.train()
    order = torch.randperm(len(x_train))
    total = 0.0
    for batch in order.split(32):
        xb, yb = x_train[batch], y_train[batch]
        predicted = model(xb).squeeze(1) if fixed else model(xb)
        loss = loss_fn(predicted, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    if (epoch + 1) % 5 == 0:
        model.eval()
        with torch.no_grad():
            r2 = r2_score(y_val.numpy(), model(x_val).numpy().ravel())
        print(f"epoch {epoch + 1} loss {total / len(x_train):.4f} val_r2 {r2:.4f}")

print("RESULT val_r2", r2)
