# LSTM predicting the next value of a series. Fixed as in the answer: batch_first=True, take out[:, -1],
# let the state start from zero for every batch rather than keeping the graph of the previous one.
import numpy as np
import torch
from torch import nn

torch.manual_seed(7)
np.random.seed(7)

t = np.arange(0, 1400)
series = np.sin(2 * np.pi * t / 25) + 0.5 * np.sin(2 * np.pi * t / 60 + 1) + 0.1 * np.random.randn(len(t))
cut = 1100
mean, std = series[:cut].mean(), series[:cut].std()
series = ((series - mean) / std).astype(np.float32)
W = 30


def windows(s):
    x = np.stack([s[i : i + W] for i in range(len(s) - W)])
    return torch.from_numpy(x).unsqueeze(-1), torch.from_numpy(s[W:]).unsqueeze(-1)


x_train, y_train = windows(series[:cut])
x_test, y_test = windows(series[cut:])


class LSTM(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.linear(out[:, -1, :])


model = LSTM()
loss_function = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
n = len(x_train)
for epoch in range(20):
    perm = torch.randperm(n)
    tot = 0
    for i in range(0, n, 32):
        idx = perm[i : i + 32]
        optimizer.zero_grad()
        loss = loss_function(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        tot += loss.item() * len(idx)
    print("epoch", epoch, "loss", round(tot / n, 5))

model.eval()
with torch.no_grad():
    rmse = ((model(x_test) - y_test) ** 2).mean().sqrt().item() * std
print(f"RESULT test_rmse {rmse:.4f}")
