"""A bidirectional LSTM forecasts a series from sliding windows.

The target is the input moved by one step (x1..xn to x2..xn+1), which the backward direction has already seen, so the
network learns to copy, and the one step that is really new comes out as a repetition (fixed: x1..xn to xn+1..x2n).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(2)
rng = np.random.RandomState(2)

t = np.arange(1500)
series = np.sin(2 * np.pi * t / 11) + 0.6 * np.sin(2 * np.pi * t / 4.6 + 1) + 0.12 * rng.randn(len(t))
series = (series - series[:1100].mean()) / series[:1100].std()
series = series.astype("float32")
window = 40


def windows(values):
    x, y, nxt = [], [], []
    for i in range(len(values) - 2 * window):
        x.append(values[i : i + window])
        shift = window if FIXED else 1
        y.append(values[i + shift : i + shift + window])
        nxt.append(values[i + window])
    return [torch.tensor(np.stack(v)) for v in (x, y, nxt)]


x_train, y_train, _ = windows(series[:1100])
x_test, y_test, next_test = windows(series[1100:])


class LSTMModel(nn.Module):
    def __init__(self, input_dim, hidden_dim, layer_dim, output_dim):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.directions = 2
        self.layer_dim = layer_dim
        self.lstm = nn.LSTM(input_dim, hidden_dim, layer_dim, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        batch, seq_len, _ = x.shape
        h0 = torch.zeros(self.layer_dim * self.directions, batch, self.hidden_dim)
        c0 = torch.zeros(self.layer_dim * self.directions, batch, self.hidden_dim)
        out, _ = self.lstm(x, (h0, c0))
        out = out.view(batch, seq_len, self.directions, self.hidden_dim)
        out = out[:, :, 0, :] + out[:, :, 1, :]
        return self.fc(out)


model = LSTMModel(1, 20, 1, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)

for epoch in range(28):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(32):
        optimizer.zero_grad()
        out = model(x_train[idx].unsqueeze(-1)).squeeze(-1)
        loss = criterion(out, y_train[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        out = model(x_test.unsqueeze(-1)).squeeze(-1)
        test_loss = criterion(out, y_test).item()
    print(f"epoch {epoch + 1} train {total / len(x_train):.5f} test {test_loss:.5f}")

forecast = out[:, 0] if FIXED else out[:, -1]
rmse = (forecast - next_test).pow(2).mean().sqrt().item()
print("RESULT next_step_rmse", f"{rmse:.4f}")
