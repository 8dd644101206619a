"""Temperatures of -500 to 500 leave room only for a learning rate of 1e-6 (fixed: of unit size, and 0.01)."""

import sys

import numpy as np
import torch

fixed = "--fixed" in sys.argv
torch.manual_seed(0)
np.random.seed(0)


def c_to_f(c):
    return c * 1.8 + 32


c = (np.random.randn(2000) if fixed else np.random.uniform(-500, 500, size=2000)).astype(np.float32)
f = (c_to_f(c) + np.random.randn(2000) * 0.3).astype(np.float32)
x = torch.tensor(c[:1600])
y = torch.tensor(f[:1600])
x_val = torch.tensor(c[1600:])
y_val = torch.tensor(f[1600:])

a = torch.randn(1, requires_grad=True)
b = torch.randn(1, requires_grad=True)
lr = 1e-2 if fixed else 1e-6


def mse(y_hat, y):
    return ((y_hat - y) ** 2).mean()


for t in range(1500):
    loss = mse(a * x + b, y)
    loss.backward()
    if t % 100 == 0:
        print(t, loss.item(), "a", a.item(), "b", b.item())
    with torch.no_grad():
        a -= lr * a.grad
        b -= lr * b.grad
        a.grad.zero_()
        b.grad.zero_()

with torch.no_grad():
    val_loss = mse(a * x_val + b, y_val).item()
print("validation loss", val_loss)

print("RESULT val_mse", val_loss)
