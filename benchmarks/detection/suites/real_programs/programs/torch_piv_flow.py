"""A small network in the manner of LiteFlowNet estimates how far the particles in a pair of pictures have moved.

It does so by matching, a subpixel step and a regularisation. The flows of matching and the subpixel step are computed
under ``torch.no_grad()``, so those modules are never trained (fixed: with gradients).
"""

import contextlib
import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.manual_seed(0)
rng = np.random.RandomState(0)
SIZE = 16


def pairs(n):
    grid = np.arange(SIZE)
    flow = rng.uniform(-2, 2, (n, 2))
    first = np.zeros((n, SIZE, SIZE))
    second = np.zeros((n, SIZE, SIZE))
    for _ in range(10):
        px, py = rng.uniform(0, SIZE, (2, n, 1))
        for image, k in ((first, 0), (second, 1)):
            gx = np.exp(-((grid[None] - px - k * flow[:, :1]) ** 2) / 2)
            gy = np.exp(-((grid[None] - py - k * flow[:, 1:]) ** 2) / 2)
            image[:] += gy[:, :, None] * gx[:, None, :]
    images = np.stack([first, second], 1).astype("float32") - 0.4
    return torch.tensor(images), torch.tensor(flow.astype("float32"))


def head(cin, width=24):
    return nn.Sequential(
        nn.Conv2d(cin, width, 3, 2, 1),
        nn.LeakyReLU(0.1),
        nn.Conv2d(width, width, 3, 2, 1),
        nn.LeakyReLU(0.1),
        nn.Flatten(),
        nn.Linear(width * 16, 2),
    )


class FlowNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.netMatching = head(2)
        self.netSubpixel = head(4)
        self.netRegularization = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.1), nn.Linear(32, 2))

    def forward(self, images):
        guard = contextlib.nullcontext() if FIXED else torch.no_grad()
        with guard:
            matching = self.netMatching(images)
            planes = matching[:, :, None, None].expand(-1, -1, SIZE, SIZE)
            flow = matching + self.netSubpixel(torch.cat([images, planes], 1))
        return flow + self.netRegularization(torch.cat([flow, matching], 1))


x_train, f_train = pairs(4000)
x_test, f_test = pairs(500)
net = FlowNet()
optimizer = torch.optim.Adam(net.parameters(), lr=0.002)

for epoch in range(15):
    order = torch.randperm(len(x_train))
    total, steps = 0.0, 0
    for i in range(0, len(order), 64):
        idx = order[i : i + 64]
        loss = torch.norm(net(x_train[idx]) - f_train[idx], dim=1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, steps = total + loss.item(), steps + 1
    print(f"epoch {epoch} endpoint error {total / steps:.4f}")

net.eval()
with torch.no_grad():
    error = torch.norm(net(x_test) - f_test, dim=1).mean().item()
print("RESULT endpoint_error", f"{error:.4f}")
