"""Segmentation: validation runs in training mode, so dropout and batch statistics stay on (fixed: eval and train)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, _), (x_test, _) = data.digits()
x, x_test = (torch.tensor(a)[:, None] / 255 for a in (x, x_test))
noisy, noisy_test = (a + 0.4 * torch.randn_like(a) for a in (x, x_test))


def double_conv(a, b):
    """Return a convolution, batch normalisation, and dropout."""
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.Dropout(0.3))


model = nn.Sequential(double_conv(1, 16), double_conv(16, 16), nn.Conv2d(16, 1, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for _ in range(5):
    model.train()
    for batch in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(noisy[batch]), (x[batch] > 0.4).float())
        loss.backward()
        optimizer.step()
    if fixed:
        model.eval()
    with torch.no_grad():
        scores = [
            criterion(model(images[None]), (mask[None] > 0.4).float())
            for images, mask in zip(noisy_test[:60], x_test[:60], strict=True)
        ]
print("RESULT loss", float(torch.stack(scores).mean()))
