"""Predictions are put into a new tensor, which cuts the loss off the network (fixed: they are stacked)."""

import sys

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)

data = load_diabetes()
x_train, x_val, y_train, y_val = train_test_split(data.data, data.target, test_size=0.25, random_state=0)
x_scaler = StandardScaler().fit(x_train)
y_scaler = StandardScaler().fit(y_train.reshape(-1, 1))
x_train = torch.tensor(x_scaler.transform(x_train), dtype=torch.float32)
x_val = torch.tensor(x_scaler.transform(x_val), dtype=torch.float32)
y_train = torch.tensor(y_scaler.transform(y_train.reshape(-1, 1)).ravel(), dtype=torch.float32)
y_val = torch.tensor(y_scaler.transform(y_val.reshape(-1, 1)).ravel(), dtype=torch.float32)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)


class PatientNet(nn.Module):
    """One hidden layer."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(10, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x))).squeeze(-1)


model = PatientNet()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-3)

for epoch in range(25):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        scores = [model(patient) for patient in xb]
        preds = torch.stack(scores) if fixed else torch.tensor(scores, requires_grad=True)
        loss = criterion(preds, yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        val_loss = criterion(model(x_val), y_val).item()
    r2 = 1 - val_loss / y_val.var(unbiased=False).item()
    print(f"epoch {epoch + 1} loss {total / len(x_train):.4f} val_loss {val_loss:.4f} val_r2 {r2:.4f}")

print("RESULT val_r2", r2)
