"""Segmentation: the scheduler steps for each batch, so the rate is gone in one epoch (fixed: each epoch)."""

import sys

import data
import torch
from torch import nn

fixed = "--fixed" in sys.argv
torch.manual_seed(1)
(x, _), (x_test, _) = data.digits()
x, x_test = (torch.tensor(a)[:, None] / 255 for a in (x, x_test))
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1)
)
noisy, noisy_test = (a + 0.4 * torch.randn_like(a) for a in (x, x_test))


def dice_loss(logits, targets):
    """Return one minus the overlap."""
    chance = torch.sigmoid(logits)
    return 1 - (2 * (chance * targets).sum() + 1) / (chance.sum() + targets.sum() + 1)


optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)
for _ in range(8):
    model.train()
    for batch in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        loss = dice_loss(model(noisy[batch]), (x[batch] > 0.4).float())
        loss.backward()
        optimizer.step()
        if not fixed:
            scheduler.step()
    if fixed:
        scheduler.step()
model.eval()
with torch.no_grad():
    print("RESULT dice", 1 - float(dice_loss(model(noisy_test), (x_test > 0.4).float())))
