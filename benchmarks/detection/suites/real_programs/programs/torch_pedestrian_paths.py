"""A graph network predicts where pedestrians will walk, as one Gaussian in the plane for each of the next steps.

It gives means, deviations (by exp) and a correlation (by tanh), and is trained by the negative log-likelihood. With a
learning rate of 0.1, a small deviation or a correlation near one makes the next gradient huge, and the loss becomes NaN
within the first epochs (fixed: a learning rate of 0.02).
"""

import math
import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
rng = np.random.default_rng(0)
OBS, PRED, PEOPLE = 8, 6, 3
EPOCHS, BATCH = 45, 32
LR = 0.02 if FIXED else 0.1


def scenes(n):
    """Groups of people that walk with a common turn and some noise, as steps from position to position."""
    heading = rng.uniform(-math.pi, math.pi, (n, PEOPLE))
    speed = rng.uniform(0.2, 0.8, (n, PEOPLE))
    turn = rng.normal(0, 0.05, (n, 1)) + rng.normal(0, 0.01, (n, PEOPLE))
    steps = []
    for _ in range(OBS + PRED):
        heading = heading + turn
        steps.append(
            np.stack([speed * np.cos(heading), speed * np.sin(heading)], -1) + rng.normal(0, 0.03, (n, PEOPLE, 2))
        )
    rel = np.stack(steps, 1)  # n, T, people, 2
    return torch.tensor(rel, dtype=torch.float32)


class GraphTemporal(nn.Module):
    """A graph convolution over the people of a scene, then convolutions along time that extrapolate."""

    def __init__(self, hidden=16):
        super().__init__()
        self.own = nn.Linear(2, hidden)
        self.others = nn.Linear(2, hidden)
        self.temporal = nn.Conv2d(hidden, hidden, (3, 1), padding=(1, 0))
        self.act = nn.PReLU()
        self.first = nn.Conv2d(OBS, PRED, 3, padding=1)
        self.second = nn.Conv2d(PRED, PRED, 3, padding=1)
        self.act2 = nn.PReLU()
        self.out = nn.Linear(hidden, 5)

    def forward(self, rel):  # B, OBS, people, 2
        kernel = 1 / (torch.cdist(rel, rel) + 1)
        kernel = kernel / kernel.sum(-1, keepdim=True)
        h = self.act(self.own(rel) + self.others(kernel @ rel))
        h = h + self.act(self.temporal(h.permute(0, 3, 1, 2)).permute(0, 2, 3, 1))
        h = self.act2(self.first(h))
        h = h + self.act2(self.second(h))
        return self.out(h)  # B, PRED, people, 5


def bivariate_loss(pred, target):
    nx, ny = target[..., 0] - pred[..., 0], target[..., 1] - pred[..., 1]
    sx, sy = torch.exp(pred[..., 2]), torch.exp(pred[..., 3])
    corr = torch.tanh(pred[..., 4])
    z = (nx / sx) ** 2 + (ny / sy) ** 2 - 2 * corr * nx * ny / (sx * sy)
    neg = 1 - corr**2
    density = torch.exp(-z / (2 * neg)) / (2 * math.pi * sx * sy * torch.sqrt(neg))
    return -torch.log(torch.clamp(density, min=1e-20)).mean()


train, test = scenes(1600), scenes(400)
model = GraphTemporal()
optimizer = torch.optim.SGD(model.parameters(), lr=LR)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.2)

for epoch in range(EPOCHS):
    order = torch.randperm(len(train))
    total = 0.0
    for i in range(0, len(train), BATCH):
        rel = train[order[i : i + BATCH]]
        optimizer.zero_grad()
        loss = bivariate_loss(model(rel[:, :OBS]), rel[:, OBS:])
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    if epoch % 5 == 4:
        print("TRAIN: epoch", epoch + 1, "loss", total / (len(train) / BATCH), flush=True)

model.eval()
with torch.no_grad():
    mean = model(test[:, :OBS])[..., :2]
    ade = (mean.cumsum(1) - test[:, OBS:].cumsum(1)).norm(dim=-1).mean().item()
print("RESULT test_ade", f"{ade:.4f}")
