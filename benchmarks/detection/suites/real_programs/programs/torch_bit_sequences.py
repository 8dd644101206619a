"""A denoising network rebuilds long binary sequences by the negative log likelihood of the whole sequence.

The likelihood is a product over 160 positions that is too small for a float, so its logarithm is infinite and
everything becomes NaN (fixed: sum of the logarithms of clamped probabilities).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(8)
rng = np.random.RandomState(8)

SEQUENCE_LENGTH = 160


def heartbeats(n):
    out = np.zeros((n, SEQUENCE_LENGTH), dtype=np.float32)
    for row in out:
        period = rng.randint(4, 9)
        row[rng.randint(period) :: period] = 1
    return torch.tensor(out)


x_train, x_test = heartbeats(1500), heartbeats(300)


def noisy(x):
    flip = (torch.rand_like(x) < 0.1).float()
    return (x - flip).abs()


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(SEQUENCE_LENGTH, 200),
            nn.ReLU(),
            nn.Linear(200, 200),
            nn.ReLU(),
            nn.Linear(200, SEQUENCE_LENGTH),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.net(x)


def negative_log_likelihood(p, x):
    probs = torch.where(x > 0.5, p, 1 - p)
    if FIXED:
        return -torch.log(probs.clamp(min=1e-6)).sum(1).mean()
    return -torch.log(probs.prod(1)).mean()


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

for epoch in range(25):
    order = torch.randperm(len(x_train))
    total = 0.0
    for i in range(0, len(x_train), 50):
        x = x_train[order[i : i + 50]]
        optimizer.zero_grad()
        loss = negative_log_likelihood(model(noisy(x)), x)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", total / 30)

model.eval()
with torch.no_grad():
    p = model(noisy(x_test))
    found = ((p > 0.5) & (x_test > 0.5)).sum().item()
    f1 = 2 * found / ((p > 0.5).sum().item() + (x_test > 0.5).sum().item())
print("RESULT test_f1", f"{f1:.4f}")
