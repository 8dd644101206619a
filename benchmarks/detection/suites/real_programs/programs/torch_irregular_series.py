"""A GRU cell tells two kinds of irregularly sampled series apart; its state follows a learnt differential equation.

The state is detached before each update of the cell, so that the differential equation gets no gradient and the cell
learns nothing across time; many series are taken for the wrong kind (fixed: the state is not detached).
"""

import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
rng = np.random.default_rng(0)
torch.manual_seed(0)

SAMPLES, STATE = 16, 24


def make(n):
    """Slow or somewhat quicker waves with a random phase, sampled at random times."""
    label = rng.integers(0, 2, n)
    gaps = rng.uniform(0.2, 1.2, (n, SAMPLES))
    times = gaps.cumsum(1)
    speed = np.where(label == 1, 1.8, 1.4)[:, None]
    values = np.sin(speed * times + rng.uniform(0, 2 * np.pi, (n, 1))) + rng.normal(0, 0.35, (n, SAMPLES))
    return [torch.tensor(a, dtype=torch.float32) for a in (values, gaps, label)]


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(STATE, 48), nn.Tanh(), nn.Linear(48, STATE))

    def forward(self, _t, h):
        return self.net(h)


def odeint(func, h, gap, steps=2):
    """The midpoint rule from one sample to the next, where each series has a gap of its own."""
    dt = gap / steps
    for k in range(steps):
        middle = h + 0.5 * dt * func(k, h)
        h = h + dt * func(k, middle)
    return h


class ODERNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.ode_func = ODEFunc()
        self.grucell = nn.GRUCell(1, STATE)
        self.head = nn.Sequential(nn.Linear(STATE, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, values, gaps):
        hx = torch.zeros(len(values), STATE)
        for k in range(values.shape[1]):
            hx = odeint(self.ode_func, hx, gaps[:, k : k + 1])
            hx = self.grucell(values[:, k : k + 1], hx if FIXED else hx.detach())
        return self.head(hx)[:, 0]


values, gaps, labels = make(2000)
test_values, test_gaps, test_labels = make(1000)

model = ODERNN()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
for epoch in range(14):
    order = torch.randperm(len(values))
    total = 0.0
    for rows in order.split(64):
        optimizer.zero_grad()
        loss = criterion(model(values[rows], gaps[rows]), labels[rows])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    print("epoch", epoch, "loss", round(total / len(values), 4))

model.eval()
with torch.no_grad():
    accuracy = ((model(test_values, test_gaps) > 0.5).float() == test_labels).float().mean().item()
print("RESULT test_accuracy", f"{accuracy:.4f}")
