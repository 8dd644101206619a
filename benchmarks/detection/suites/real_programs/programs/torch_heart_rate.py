"""A small network of sigmoids tells normal heart rates from unusual ones.

The readings lie around 92 beats per minute and are not scaled, so that they saturate the hidden units and the loss
hardly falls (fixed: standardised readings, and a learning rate of 0.01 instead of 0.001).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(2)
rng = np.random.default_rng(5)

# one patient's heart rate, one reading every half second
n = 1800
noise = np.zeros(n)
for i in range(1, n):
    noise[i] = 0.9 * noise[i - 1] + rng.normal(0, 1.0)
hr = 91.5 + 5 * np.sin(np.arange(n) / 90) + 3 * np.sin(np.arange(n) / 23 + 1) + noise
x_all = hr.astype(np.float32).reshape(-1, 1)
y_all = (hr > 91).astype(np.float32).reshape(-1, 1)
order = rng.permutation(n)
train, test = order[:1400], order[1400:]
x_data, y_data = torch.from_numpy(x_all[train]), torch.from_numpy(y_all[train])
x_test, y_test = torch.from_numpy(x_all[test]), torch.from_numpy(y_all[test])
lr = 0.001
if FIXED:
    mean, std = x_data.mean(), x_data.std()
    x_data, x_test = (x_data - mean) / std, (x_test - mean) / std
    lr = 0.01


class Model(nn.Module):
    def __init__(self, input_size, hidden, output_size):
        super().__init__()
        self.linear = nn.Linear(input_size, hidden)
        self.linear2 = nn.Linear(hidden, output_size)

    def forward(self, x):
        x = torch.sigmoid(self.linear(x))
        return torch.sigmoid(self.linear2(x))


model = Model(1, 10, 1)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=lr)

epochs = 3000
for i in range(epochs):
    y_pred = model(x_data)
    loss = criterion(y_pred, y_data)
    if (i + 1) % 250 == 0:
        print(f"epoch {i + 1}  loss {loss.item():.4f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    p = model(x_test)
    test_loss = criterion(p, y_test).item()
    acc = ((p >= 0.5).float() == y_test).float().mean().item()
print(f"test loss {test_loss:.4f}  accuracy {acc:.4f}")
print("RESULT test_loss", f"{test_loss:.4f}")
