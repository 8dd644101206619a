"""A flow with additive couplings and a final scaling models the density of pictures of digits.

The density of the logistic prior is written with log(1 + exp(h)) and log(1 + exp(-h)). The codes grow in training, and
exp overflows for the first one beyond 88, so that the loss and then all weights are NaN (fixed: softplus, which does
not overflow).
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
DIM = 64


class Coupling(nn.Module):
    def __init__(self, odd, hidden=64):
        super().__init__()
        self.odd = odd
        self.net = nn.Sequential(
            nn.Linear(DIM // 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, DIM // 2)
        )

    def forward(self, x):
        a, b = x[:, ::2], x[:, 1::2]
        if self.odd:
            b = b + self.net(a)
        else:
            a = a + self.net(b)
        return torch.stack((a, b), dim=2).flatten(1)


class NICE(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Coupling(i % 2 == 0) for i in range(4)])
        self.log_scale = nn.Parameter(torch.zeros(DIM))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * torch.exp(self.log_scale)


def log_prior(h):
    if FIXED:
        return -(functional.softplus(h) + functional.softplus(-h)).sum(1)
    return -(torch.log(1 + torch.exp(h)) + torch.log(1 + torch.exp(-h))).sum(1)


def nll(model, x):
    return -(log_prior(model(x)) + model.log_scale.sum()).mean()


X = np.round(load_digits().data * 255 / 16).astype(np.float32)
X_train, X_test = train_test_split(torch.tensor(X), test_size=0.2, random_state=0)


def dequantise(x):
    return (x + torch.rand_like(x)) / 256


model = NICE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.99))
for epoch in range(1, 41):
    losses = []
    for idx in torch.randperm(len(X_train)).split(64):
        optimizer.zero_grad()
        loss = nll(model, dequantise(X_train[idx]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 5 == 0:
        print("Epoch", epoch, "training loss mean", np.mean(losses), flush=True)

with torch.no_grad():
    value = nll(model, dequantise(X_test)).item() / DIM
print("RESULT test_nll_per_pixel", f"{value:.4f}")
