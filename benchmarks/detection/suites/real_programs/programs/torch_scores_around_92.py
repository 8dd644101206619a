"""A little network of sigmoids tells two groups of points apart whose coordinates lie around 92.

The inputs are not normalised and saturate the hidden units (fixed: standardised).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(3)
rng = np.random.RandomState(3)

n = 250
a = rng.randn(n, 2) * [3.0, 3.0] + [88.0, 95.0]
b = rng.randn(n, 2) * [3.0, 3.0] + [97.0, 88.0]
x_data = torch.tensor(np.vstack([a, b]), dtype=torch.float32)
y_data = torch.tensor(np.r_[np.zeros(n), np.ones(n)], dtype=torch.float32).unsqueeze(1)
if fixed:
    x_data = (x_data - x_data.mean(0)) / x_data.std(0)


class Model(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.linear = nn.Linear(input_size, hidden_size)
        self.linear2 = nn.Linear(hidden_size, output_size)

    def forward(self, x):
        x = torch.sigmoid(self.linear(x))
        return torch.sigmoid(self.linear2(x))

    def predict(self, x):
        return (self.forward(x) >= 0.5).float()


model = Model(2, 4, 1)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for i in range(1000):
    y_pred = model(x_data)
    loss = criterion(y_pred, y_data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 100 == 0:
        print("epoch:", i, "loss:", loss.item())

acc = (model.predict(x_data) == y_data).float().mean().item()
print("RESULT accuracy", f"{acc:.4f}")
