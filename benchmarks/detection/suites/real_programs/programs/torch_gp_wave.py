"""A Gaussian process, whose kernel has learnt parameters, is fitted to five periods of a sine.

The length scale starts at 0.69, far too long for so quick a wave, so that training ends where everything is noise, and
the predicted mean is zero everywhere (fixed: the length scale starts at 0.1).
"""

import math
import sys

import torch
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
torch.set_default_dtype(torch.double)

train_x = torch.linspace(0, 1, 100)
train_y = torch.sin(train_x * (10 * math.pi))
test_x = torch.linspace(0.005, 0.995, 151)
test_y = torch.sin(test_x * (10 * math.pi))


class ExactGP(nn.Module):
    """A constant mean, a scaled RBF kernel and Gaussian noise; all that has to be positive goes through softplus."""

    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(()))
        self.raw_scale = nn.Parameter(torch.zeros(()))
        self.raw_noise = nn.Parameter(torch.zeros(()))
        self.raw_length = nn.Parameter(torch.zeros(()))
        if FIXED:
            with torch.no_grad():
                self.raw_length.fill_(math.log(math.expm1(0.1)))

    def kernel(self, a, b):
        squared = ((a[:, None] - b[None, :]) / functional.softplus(self.raw_length)) ** 2
        return functional.softplus(self.raw_scale) * torch.exp(-0.5 * squared)

    def factor(self, x):
        noise = functional.softplus(self.raw_noise) + 1e-4
        return torch.linalg.cholesky(self.kernel(x, x) + noise * torch.eye(len(x)))

    def forward(self, x, y):
        """Give the negative log marginal likelihood per point."""
        chol = self.factor(x)
        rest = (y - self.mean)[:, None]
        fit = (rest * torch.cholesky_solve(rest, chol)).sum()
        return 0.5 * (fit + 2 * chol.diagonal().log().sum() + len(x) * math.log(2 * math.pi)) / len(x)

    def predict(self, x, y, new_x):
        rest = (y - self.mean)[:, None]
        return self.mean + (self.kernel(new_x, x) @ torch.cholesky_solve(rest, self.factor(x)))[:, 0]


model = ExactGP()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for i in range(200):
    optimizer.zero_grad()
    loss = model(train_x, train_y)
    loss.backward()
    optimizer.step()
    if i % 20 == 0:
        print(
            "iter",
            i,
            "loss",
            round(loss.item(), 3),
            "lengthscale",
            round(functional.softplus(model.raw_length).item(), 3),
            "noise",
            round(functional.softplus(model.raw_noise).item(), 3),
        )

with torch.no_grad():
    error = (model.predict(train_x, train_y, test_x) - test_y).pow(2).mean().item()
print("RESULT test_mse", f"{error:.4f}")
