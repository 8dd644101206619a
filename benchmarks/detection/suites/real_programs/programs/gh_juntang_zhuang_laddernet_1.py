"""Segmentation: the uploaded learning rate lets the loss jump to 1e18 in epoch 4 (fixed: 0.001)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, _), (x_test, _) = data.digits(16)
x, x_test = (torch.tensor(a)[:, None] / 255 for a in (x, x_test))


def masks(images):
    """Return which pixels are vessels."""
    return (images[:, 0] > 0.4).long()


def block(a, b):
    """Return a convolution with batch normalisation."""
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())


model = nn.Sequential(block(1, 8), block(8, 16), block(16, 8), nn.Conv2d(8, 2, 1))
noisy, noisy_test = (a + 0.3 * torch.randn_like(a) for a in (x, x_test))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.001 if fixed else 10.0, momentum=0.9)
for _ in range(5):
    model.train()
    for batch in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(noisy[batch]), masks(x[batch]))
        loss.backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    print("RESULT accuracy", float((model(noisy_test).argmax(1) == masks(x_test)).float().mean()))
