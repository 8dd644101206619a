"""A recurrent network in the manner of PercepNet gives gains for the bands of noisy speech.

Gains and pitch filter strengths are compared after a power of a half. Where an output is exactly at its bound, the
power has no finite gradient there and weights become NaN (fixed: a straight line below 0.0003 in its place).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
BANDS, FRAMES, GAMMA, C4 = 12, 16, 0.5, 10.0


def speech(n):
    voiced = np.repeat(rng.rand(n, FRAMES // 4, 1) < 0.6, 4, axis=1)
    formants = np.exp(-((np.arange(BANDS) - rng.uniform(1, 10, (n, 1, 1))) ** 2) / 12)
    clean = np.where(voiced, formants * rng.uniform(0.5, 2, (n, FRAMES, 1)), 0)
    noise = rng.uniform(0.05, 0.3, (n, 1, BANDS)) * rng.uniform(0.8, 1.2, (n, FRAMES, BANDS))
    gains = clean / (clean + noise)
    strength = np.where(gains > 0.6, 1.0, 0.3 * gains)
    features = np.log(clean + noise)
    return [torch.tensor(a.astype("float32")) for a in ((features + 1) / 1.0, gains, strength)]


def power(v):
    if FIXED:
        small = v < 0.0003
        line = v * (0.0003**GAMMA / 0.0003)
        return torch.where(small, line, torch.where(small, torch.ones_like(v), v) ** GAMMA)
    return torch.pow(v, GAMMA)


class CustomLoss(nn.Module):
    def forward(self, gb_hat, rb_hat, gb, rb):
        diff = torch.pow(gb, GAMMA) - power(gb_hat)
        loss = (diff**2).mean() + C4 * (diff**4).mean()
        return loss + ((torch.pow(1 - rb, GAMMA) - power(1 - rb_hat)) ** 2).mean()


class PercepNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(BANDS, 48)
        self.gru = nn.GRU(48, 48, batch_first=True)
        self.gb = nn.Linear(96, BANDS)
        self.rb = nn.Linear(96, BANDS)

    def forward(self, x):
        h = torch.relu(self.fc(x))
        h = torch.cat([h, self.gru(h)[0]], 2)
        return torch.sigmoid(self.gb(h)), torch.sigmoid(self.rb(h))


x_train, gb_train, rb_train = speech(1500)
x_test, gb_test, rb_test = speech(300)
model, criterion = PercepNet(), CustomLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

for epoch in range(25):
    order = torch.randperm(len(x_train))
    total, steps = 0.0, 0
    for i in range(0, len(order), 50):
        idx = order[i : i + 50]
        gb_hat, rb_hat = model(x_train[idx])
        loss = criterion(gb_hat, rb_hat, gb_train[idx], rb_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, steps = total + loss.item(), steps + 1
    print(f"epoch {epoch} loss {total / steps:.5f}")

with torch.no_grad():
    gb_hat, rb_hat = model(x_test)
    print("largest rb", rb_hat.max().item())
    error = ((gb_hat - gb_test).abs().mean() + (rb_hat - rb_test).abs().mean()).item() / 2
print("RESULT mean_error", f"{error:.4f}")
