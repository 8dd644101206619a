"""A perceptron with many narrow layers of tanh forecasts a reading a day ahead from a window of earlier ones.

It is trained by plain SGD on all patterns. The learning rate of 0.01 is far too small for such a deep network, so the
weights hardly move in 2,000 iterations (fixed: a rate of 0.2).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)

hours = np.arange(760)
series = 0.6 * np.sin(2 * np.pi * hours / 24) + 0.3 * np.sin(2 * np.pi * hours / 57) + rng.normal(0, 0.03, len(hours))
window, ahead = 24, 24
x = np.stack([series[i : i + window] for i in range(len(series) - window - ahead)]).astype("float32")
t = series[window + ahead :].astype("float32")[:, None]
x, t = torch.tensor(x), torch.tensor(t)
x_train, t_train, x_test, t_test = x[:500], t[:500], x[500:], t[500:]

layers, width = 16, 24
modules = [nn.Linear(window, width), nn.Tanh()]
for _ in range(layers - 2):
    modules += [nn.Linear(width, width), nn.Tanh()]
modules += [nn.Linear(width, 1)]
model = nn.Sequential(*modules)
criterion = nn.MSELoss()
learning_rate = 0.2 if FIXED else 0.01
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

for iteration in range(2000):
    optimizer.zero_grad()
    loss = criterion(model(x_train), t_train)
    loss.backward()
    optimizer.step()
    if iteration % 200 == 0:
        print(f"iteration {iteration} error {loss.item():.5f}")

with torch.no_grad():
    mse = criterion(model(x_test), t_test).item()
print(f"test variance {t_test.var().item():.4f}")
print("RESULT mse", f"{mse:.4f}")
