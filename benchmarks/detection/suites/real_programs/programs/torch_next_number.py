"""An LSTM predicts the next number of 1, 2, 3, 4 ..., as a first step before real series.

The outputs of all time steps are compared with one target a sample, and broadcasting mixes samples with time steps
(fixed: only the last step, with targets of the same shape).
"""

import sys

import numpy as np
import torch

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)

data = np.arange(0, 100, 1)


def shift_data(window_size, data):
    x, y = [], []
    for i in range(len(data) - window_size):
        x.append(data[i : i + window_size])
        y.append(data[i + window_size])
    return np.array(x), np.array(y)


x, y = shift_data(10, data)
x = torch.tensor(x / 100.0, dtype=torch.float32).unsqueeze(-1)
y = torch.tensor(y / 100.0, dtype=torch.float32)
order = torch.randperm(len(x), generator=torch.Generator().manual_seed(1))
x, y = x[order], y[order]
x_train, y_train, x_test, y_test = x[:72], y[:72], x[72:], y[72:]


class LSTM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(1, 20, 1, batch_first=True)
        self.fc = torch.nn.Linear(20, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        out = self.fc(out)
        if fixed:
            return out[:, -1]
        return out.flatten(1)


model = LSTM()
criterion = torch.nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(120):
    total = 0.0
    for start in range(0, len(x_train), 10):
        xb, yb = x_train[start : start + 10], y_train[start : start + 10]
        if len(xb) < 10:
            continue
        optimizer.zero_grad()
        out = model(xb)
        loss = criterion(out, yb.unsqueeze(1) if fixed else yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 20 == 0:
        print(f"epoch {epoch} loss {total:.5f}")

with torch.no_grad():
    out = model(x_test)
    guess = out[:, -1] * 100
    gap = (guess - y_test * 100).abs().mean().item()
    for row, want in list(zip(guess, y_test * 100, strict=True))[:5]:
        print(f"expected {want.item():.0f} got {row.item():.1f}")
print("RESULT mean_abs_error", f"{gap:.3f}")
