"""An LSTM is to go on with a noisy series, but its windows (N, time) are viewed as (time, N).

This mixes values of different windows (fixed: windows transposed).
"""

import sys

import numpy as np
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(5)

num_datapoints, test_size, input_size = 1000, 0.2, 20
lstm_input_size, h1, output_dim, num_layers = 1, 32, 1, 2
learning_rate, num_epochs = 1e-2, 250


def ar_data(n, prev, noise):
    """windows of a stationary AR(3) series, one window after the other in time"""
    c = [1.6, -0.9, 0.15]
    y = list(rng.normal(0, 1, 3))
    for _ in range(n + prev + 200):
        y.append(c[0] * y[-1] + c[1] * y[-2] + c[2] * y[-3] + rng.normal(0, noise))
    y = np.array(y[203:])
    y = y / y.std()
    x = np.stack([y[i : i + prev] for i in range(n)])
    return x.astype(np.float32), y[prev : prev + n].astype(np.float32)


X, y = ar_data(num_datapoints, input_size, 0.1)
split = int(num_datapoints * (1 - test_size))
X_train, X_test = torch.from_numpy(X[:split]), torch.from_numpy(X[split:])
y_train, y_test = torch.from_numpy(y[:split]), torch.from_numpy(y[split:])

if fixed:
    X_train = X_train.t().reshape(input_size, -1, 1)
    X_test = X_test.t().reshape(input_size, -1, 1)
else:
    X_train = X_train.view([input_size, -1, 1])
    X_test = X_test.view([input_size, -1, 1])


class LSTM(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, num_layers):
        super().__init__()
        self.lstm = nn.LSTM(input_dim, hidden_dim, num_layers)
        self.linear = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.linear(out[-1]).view(-1)


model = LSTM(lstm_input_size, h1, output_dim, num_layers)
loss_fn = nn.MSELoss()
optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)

for t in range(num_epochs):
    model.train()
    y_pred = model(X_train)
    loss = loss_fn(y_pred, y_train)
    if t % 50 == 0:
        print("Epoch", t, "MSE:", round(loss.item(), 5))
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()

model.eval()
with torch.no_grad():
    mse = loss_fn(model(X_test), y_test).item()
print("RESULT test_mse", f"{mse:.5f}")
