"""Heat maps of court corners by a convolutional net: gradients are never reset (fixed: zero_grad)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(images, _), (test, _) = data.digits()
train, test = (torch.tensor(x)[:, None] / 255 for x in (images, test))


def heat_maps(x):
    """Return the place of the brightest corner of each quadrant as a blurred point."""
    points = torch.nn.functional.max_pool2d(x, 4)
    return (torch.nn.functional.interpolate(points, scale_factor=4) == x).float() * (x > 0.5)


model = nn.Sequential(
    *(layer for a, b in ((1, 16), (16, 16)) for layer in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(b))),
    nn.Conv2d(16, 1, 3, padding=1),
    nn.Sigmoid(),
)
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(5):
    model.train()
    for batch in torch.randperm(len(train)).split(32):
        loss = criterion(model(train[batch]), heat_maps(train[batch]))
        if fixed:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = criterion(model(test), heat_maps(test))
print("RESULT mse", float(error))
