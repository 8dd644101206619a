"""A recurrent network of rectified units adds numbers over 30 steps (fixed: gradients clipped to a norm of 0.5)."""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.default_rng(0)

# a random signal; the answer is the sum of the values where the marker is on
STEPS = 30


def make_set(n):
    values = rng.uniform(-1, 1, (n, STEPS))
    marks = np.zeros((n, STEPS))
    for row in marks:
        row[rng.choice(STEPS, 3, replace=False)] = 1.0
    x = np.stack([values, marks], axis=-1)
    y = (values * marks).sum(1, keepdims=True)
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))


train_set, val_set = make_set(1920), make_set(500)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_x, val_y = val_set.tensors


class SumRNN(nn.Module):
    """A recurrent layer that begins as the identity, and an output."""

    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.RNN(2, hidden, nonlinearity="relu", batch_first=True)
        self.head = nn.Linear(hidden, 1)
        nn.init.eye_(self.rnn.weight_hh_l0)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


model = SumRNN()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=25)

for epoch in range(25):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        if fixed:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        total += loss.item() * len(xb)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        val_mse = criterion(model(val_x), val_y).item()
    print(f"epoch {epoch + 1} train {total / len(train_set):.4f} val {val_mse:.4f}")

print("RESULT val_mse", val_mse)
