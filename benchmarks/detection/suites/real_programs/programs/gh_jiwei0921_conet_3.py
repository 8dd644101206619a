"""Depth maps (n, 1, h, w) against targets (n, h, w) broadcast in smooth_l1_loss (fixed: unsqueeze the target)."""

import sys
import warnings

import data
import torch
from torch import nn
from torch.nn import functional

fixed = "--fixed" in sys.argv
warnings.filterwarnings("ignore", "Using a target size")
torch.manual_seed(1)
(x, _), (x_test, _) = data.digits()
x, x_test = (torch.tensor(a)[:, None] / 255 for a in (x, x_test))


def depth(images):
    """Return how bright the surroundings of each pixel are, without the dimension of channels."""
    return functional.avg_pool2d(images, 3, 1, 1)[:, 0]


model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(6):
    for batch in torch.randperm(len(x)).split(32):
        target = depth(x[batch])
        if fixed:
            target = target.unsqueeze(1)
        optimizer.zero_grad()
        loss = functional.smooth_l1_loss(model(x[batch]), target)
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print("RESULT mae", float((model(x_test)[:, 0] - depth(x_test)).abs().mean()))
