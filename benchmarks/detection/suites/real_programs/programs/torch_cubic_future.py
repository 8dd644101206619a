"""One weight matrix predicts the last 20 values of a cubic from the first 80, by plain gradient descent.

Inputs of up to 900 are not scaled and the squared errors are summed, so a rate of 1e-6 diverges (fixed: 1e-8).
"""

import sys

import numpy as np
import torch

fixed = "--fixed" in sys.argv
np.random.seed(0)

x = np.linspace(-10, 10, 100)
y = x**3 + x**2 + x
loss_fn = torch.nn.MSELoss(reduction="sum")


def get_trgts(i):
    return torch.tensor(y[i:])


def get_weights(i, o):
    return torch.tensor(np.random.normal(0, 3, (o, i))).requires_grad_()


def get_params(i):
    return torch.tensor(y[:i])


weights = get_weights(80, 20)
bias = get_weights(1, 1)
trgts = get_trgts(80)
params = get_params(80)
lr = 1e-8 if fixed else 1e-6


def apply_step(weights, bias, prn):
    preds = weights @ params + bias
    preds = preds.flatten()
    loss = loss_fn(preds, trgts)
    loss.backward()
    with torch.no_grad():
        weights -= weights.grad * lr
        bias -= bias.grad * lr
        weights.grad.zero_()
        bias.grad.zero_()
    if prn:
        print(loss.item())
    return preds


for i in range(100):
    preds = apply_step(weights, bias, i % 5 == 0)
with torch.no_grad():
    rmse = torch.sqrt(torch.mean((preds - trgts) ** 2)).item()
print("RESULT rmse", f"{rmse:.5g}")
